// Owns the modules of src/wire/generated: types and field tables of the protobuf descriptors that the project speaks.
import { readFact } from './facts.ts';

interface FieldDescriptor {
  readonly name: string;
  readonly jsonName: string;
  readonly number: number;
  readonly label: 'LABEL_OPTIONAL' | 'LABEL_REPEATED' | 'LABEL_REQUIRED';
  readonly type: string;
  readonly typeName?: string;
  readonly oneofIndex?: number;
  readonly proto3Optional?: boolean;
}

interface EnumDescriptor {
  readonly name: string;
  readonly value: readonly { readonly name: string; readonly number: number }[];
}

interface MessageDescriptor {
  readonly name: string;
  readonly field?: readonly FieldDescriptor[];
  readonly nestedType?: readonly MessageDescriptor[];
  readonly enumType?: readonly EnumDescriptor[];
  readonly options?: { readonly mapEntry?: boolean };
}

interface MethodDescriptor {
  readonly name: string;
  readonly inputType: string;
  readonly outputType: string;
  readonly clientStreaming?: boolean;
  readonly serverStreaming?: boolean;
}

interface FileDescriptor {
  readonly package: string;
  readonly messageType?: readonly MessageDescriptor[];
  readonly enumType?: readonly EnumDescriptor[];
  readonly service?: readonly { readonly name: string; readonly method?: readonly MethodDescriptor[] }[];
}

/** The descriptors that something in src/ uses; add a name here to have its types. */
const used = ['cri-runtime-v1', 'etcd-auth', 'etcd-kv', 'etcd-rpc', 'kms-v2'];

interface Known {
  readonly file: string;
  /** The TypeScript name: nested names run together. */
  readonly name: string;
  readonly message?: MessageDescriptor;
  readonly enum?: EnumDescriptor;
}

/** Every module's text by its file name. */
export function generateProtos(root: string): ReadonlyMap<string, string> {
  const files = used.map((file) => ({
    file,
    descriptor: readFact<FileDescriptor>(root, 'protos', `${file}.descriptor.json`),
  }));
  const known = new Map<string, Known>();
  for (const { file, descriptor } of files) collect(file, `.${descriptor.package}`, '', descriptor, known);
  return new Map(files.map(({ file, descriptor }) => [`${file}.ts`, moduleText(file, descriptor, known)]));
}

interface Holder {
  readonly messageType?: readonly MessageDescriptor[];
  readonly nestedType?: readonly MessageDescriptor[];
  readonly enumType?: readonly EnumDescriptor[];
}

function collect(file: string, scope: string, prefix: string, holder: Holder, known: Map<string, Known>): void {
  for (const descriptor of holder.enumType ?? [])
    known.set(`${scope}.${descriptor.name}`, { file, name: prefix + descriptor.name, enum: descriptor });
  for (const descriptor of holder.messageType ?? holder.nestedType ?? []) {
    known.set(`${scope}.${descriptor.name}`, { file, name: prefix + descriptor.name, message: descriptor });
    collect(file, `${scope}.${descriptor.name}`, prefix + descriptor.name, descriptor, known);
  }
}

function moduleText(file: string, descriptor: FileDescriptor, known: ReadonlyMap<string, Known>): string {
  const blocks: string[] = [];
  const foreign = new Map<string, Set<string>>();
  const refer = (typeName: string): Known => {
    const target = known.get(typeName);
    if (target === undefined) throw new Error(`${file}: unknown type ${typeName}`);
    if (target.file !== file) foreign.set(target.file, (foreign.get(target.file) ?? new Set()).add(target.name));
    return target;
  };
  for (const [fullName, item] of known) {
    if (item.file !== file) continue;
    if (item.enum) blocks.push(enumText(item.name, item.enum));
    else if (!item.message!.options?.mapEntry) blocks.push(messageText(fullName.slice(1), item, refer));
  }
  for (const service of descriptor.service ?? []) blocks.push(serviceText(descriptor.package, service, refer));
  const imports = [...foreign].map(
    ([other, names]) => `import { ${[...names].toSorted().join(', ')} } from './${other}.ts';\n`,
  );
  const helpers = [
    blocks.some((block) => block.includes('enumType(')) ? 'enumType, ' : '',
    'message, type Message',
  ].join('');
  const method = descriptor.service ? "import { method } from '../grpc-service.ts';\n" : '';
  return `${header}${method}import { ${helpers} } from '../protobuf.ts';\n${imports.join('')}\n${blocks.join('\n\n')}\n`;
}

const header = '// Generated from facts/protos by tools/generate; run `npm run generate`.\n';

function enumText(name: string, descriptor: EnumDescriptor): string {
  const union = descriptor.value.map((value) => `'${value.name}'`).join(' | ');
  const numbers = descriptor.value.map((value) => `${value.name}: ${value.number}`).join(', ');
  return `export type ${name} = ${union};\nexport const ${name} = enumType({ ${numbers} });`;
}

function messageText(fullName: string, item: Known, refer: (typeName: string) => Known): string {
  const fields = (item.message!.field ?? []).map((field) => fieldTexts(field, refer));
  const declared = fields.map((field) => `  ${field.declaration}`).join('\n');
  const rows = fields.map((field) => `  ${field.row},`).join('\n');
  return (
    `export interface ${item.name} {\n${declared}\n}\n` +
    `export const ${item.name}: Message<${item.name}> = message('${fullName}', () => [\n${rows}\n]);`
  );
}

function fieldTexts(field: FieldDescriptor, refer: (typeName: string) => Known): { declaration: string; row: string } {
  const repeated = field.label === 'LABEL_REPEATED';
  const target = field.typeName === undefined ? undefined : refer(field.typeName);
  if (repeated && target?.message?.options?.mapEntry) {
    const [key, value] = target.message.field!;
    const inner = value!.typeName === undefined ? undefined : refer(value!.typeName);
    return {
      declaration: `${field.jsonName}: Record<string, ${inner?.name ?? scalarText(value!.type)}>;`,
      row: `[${field.number}, '${field.jsonName}', ${inner?.name ?? scalarName(value!.type)}, 'map', ${scalarName(key!.type)}]`,
    };
  }
  const type = target?.name ?? scalarText(field.type);
  const optional = target?.message !== undefined || field.oneofIndex !== undefined || field.proto3Optional === true;
  const kind = repeated ? 'rep' : optional ? 'opt' : 'one';
  return {
    declaration: `${field.jsonName}${kind === 'opt' ? '?' : ''}: ${type}${repeated ? '[]' : ''};`,
    row: `[${field.number}, '${field.jsonName}', ${target?.name ?? scalarName(field.type)}, '${kind}']`,
  };
}

function scalarName(type: string): string {
  return `'${type.replace('TYPE_', '').toLowerCase()}'`;
}

function scalarText(type: string): string {
  if (type === 'TYPE_STRING') return 'string';
  if (type === 'TYPE_BYTES') return 'Uint8Array';
  if (type === 'TYPE_BOOL') return 'boolean';
  return type.endsWith('64') ? 'bigint' : 'number';
}

function serviceText(
  packageName: string,
  service: { readonly name: string; readonly method?: readonly MethodDescriptor[] },
  refer: (typeName: string) => Known,
): string {
  const methods = (service.method ?? []).map((each) => {
    const name = each.name.charAt(0).toLowerCase() + each.name.slice(1);
    const path = `/${packageName}.${service.name}/${each.name}`;
    const request = refer(each.inputType).name;
    const response = refer(each.outputType).name;
    return `  ${name}: method('${path}', ${request}, ${response}, ${each.clientStreaming === true}, ${each.serverStreaming === true}),`;
  });
  return `export const ${service.name} = {\n${methods.join('\n')}\n};`;
}
