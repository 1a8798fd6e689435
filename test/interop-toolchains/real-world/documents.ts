// Owns finding definitions and objects of their kinds in a module's YAML. Judges nothing.
import { loadAll } from 'js-yaml';
import { zipEntries } from '../../../src/main/zip-entry.ts';

export interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: { readonly plural: string; readonly kind: string };
    readonly versions: readonly {
      readonly name: string;
      readonly served: boolean;
      readonly schema?: { readonly openAPIV3Schema?: Readonly<Record<string, unknown>> };
    }[];
  };
}

export interface Sample {
  readonly file: string;
  readonly object: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly namespace?: string };
  } & Readonly<Record<string, unknown>>;
}

export interface Found {
  /** One a name: that of the first file in the order of `definitions`. */
  readonly definitions: readonly Definition[];
  readonly samples: readonly Sample[];
}

interface Document {
  readonly file: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** `definitions`, `samples`: which files of the module hold them. */
export function findIn(
  archive: Buffer,
  { definitions, samples }: { readonly definitions: RegExp; readonly samples?: RegExp },
): Found {
  const found = new Map<string, Definition>();
  const others: Document[] = [];
  for (const entry of zipEntries(archive)) {
    const file = entry.name.slice(entry.name.indexOf('/', entry.name.indexOf('@')) + 1);
    if (!/\.ya?ml$/.test(file) || (!definitions.test(file) && samples?.test(file) !== true)) continue;
    for (const document of documentsOf(file, entry.read().toString('utf8'))) {
      const { value } = document;
      if (value['kind'] !== 'CustomResourceDefinition') others.push(document);
      else if (definitions.test(file) && isWhole(value)) {
        const definition = value as unknown as Definition;
        if (!found.has(definition.metadata.name)) found.set(definition.metadata.name, definition);
      }
    }
  }
  const kinds = new Set(
    [...found.values()].flatMap(({ spec }) =>
      spec.versions.filter(({ served }) => served).map(({ name }) => `${spec.group}/${name} ${spec.names.kind}`),
    ),
  );
  const isSample = ({ file, value }: Document): boolean => {
    const { name } = (value['metadata'] ?? {}) as { name?: unknown };
    return (
      samples?.test(file) === true && kinds.has(`${value['apiVersion']} ${value['kind']}`) && typeof name === 'string'
    );
  };
  return {
    definitions: [...found.values()],
    samples: others.filter(isSample).map(({ file, value }) => ({ file, object: value as Sample['object'] })),
  };
}

/** Patches of definitions have their kind, too. */
function isWhole(value: Document['value']): boolean {
  const { group, versions, names } = (value['spec'] ?? {}) as Partial<Definition['spec']>;
  return value['apiVersion'] === 'apiextensions.k8s.io/v1' && !!group && Array.isArray(versions) && !!names?.plural;
}

/** Templates are no YAML yet: passed over. */
function documentsOf(file: string, text: string): Document[] {
  if (text.includes('{{')) return [];
  try {
    return loadAll(text)
      .filter((value): value is Record<string, unknown> => typeof value === 'object' && value !== null)
      .map((value) => ({ file, value }));
  } catch (error) {
    if (error instanceof Error && error.name === 'YAMLException') return [];
    throw error;
  }
}
