// Owns the judgement of CustomResourceDefinitions as a whole: names, versions, conversion, what may change. Schemas are judged next door.
import { X509Certificate } from 'node:crypto';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
} from '../../api/generated/apiextensions.v1.ts';
import { forbidden, invalid, notSupported, required } from '../../api/field-error.ts';
import type { Frozen } from '../../api/meta.ts';
import { dns1035Label, dnsSubdomain } from '../../api/names.ts';
import type { FieldError } from '../../api/status-error.ts';
import { Problems } from '../../api/validation/problems.ts';
import { validateWebhookClient } from '../../api/validation/webhook-client.ts';
import { same } from '../verbs/equal.ts';
import { approvalAnnotation, approvalOf, isProtectedGroup } from './naming.ts';
import { isKnownFormat } from './formats.ts';
import { isProps, schemasIn } from './structural.ts';
import type { Props } from './structural.ts';
import { coerceDefaults } from './default-errors.ts';
import { validateSchema } from './schema-rules.ts';
import { selectableFieldErrors } from './selectable-rules.ts';

type Definition = Frozen<CustomResourceDefinition>;
type Spec = Frozen<CustomResourceDefinitionSpec>;
type Version = Frozen<CustomResourceDefinitionVersion>;

export function validateDefinition(next: Definition, prev: Definition | undefined): FieldError[] {
  const errors: FieldError[] = [];
  const { metadata, status } = next;
  // Null is a list too.
  const spec = next.spec && { ...next.spec, versions: next.spec.versions ?? [] };
  const wanted = `${spec?.names?.plural ?? ''}.${spec?.group ?? ''}`;
  if (prev === undefined && metadata.name !== '' && metadata.name !== wanted)
    errors.push(invalid('metadata.name', metadata.name, `must be spec.names.plural+"."+spec.group`));
  if (spec === undefined) return [...errors, required('spec')];
  errors.push(...validateSpec(spec, prev));
  if (prev !== undefined) errors.push(...immutable(next, prev));
  errors.push(...storedVersions(status?.storedVersions ?? [], spec.versions));
  errors.push(...approval(next, prev));
  if (spec.preserveUnknownFields === true && prev?.spec.preserveUnknownFields !== true)
    errors.push(
      invalid(
        'spec.preserveUnknownFields',
        true,
        'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
      ),
    );
  return errors;
}

/** In place: what is never kept. */
export function completeDefinition({ spec }: CustomResourceDefinition): void {
  for (const { schema } of spec?.versions ?? [])
    if (schema?.openAPIV3Schema !== undefined) coerceDefaults(schema.openAPIV3Schema);
}

/** What a status may say is not compared with the spec, as upstream has it. */
export function validateDefinitionStatus({ status }: Definition): FieldError[] {
  return nameForms(status?.acceptedNames, 'status.acceptedNames');
}

/** What is most likely a mistake and new: formats that nobody checks, sets of what has parts. */
export function definitionWarnings(next: Definition, prev: Definition | undefined): string[] {
  const before = new Set(prev === undefined ? [] : oddities(prev));
  return oddities(next).filter((text) => !before.has(text));
}

function oddities({ spec }: Definition): string[] {
  const formats: string[] = [];
  const sets = new Set<string>();
  const look = (schema: Props): void => {
    const { format = '', items } = schema;
    if (format !== '' && !isKnownFormat(format)) formats.push(`unrecognized format ${JSON.stringify(format)}`);
    if (
      schema['x-kubernetes-list-type'] === 'set' &&
      isProps(items) &&
      (items.type === 'object' || items.type === 'array')
    )
      sets.add(
        `x-kubernetes-list-type: set for items of type "${items.type}" is not supported by server-side apply or CEL validation rules`,
      );
    for (const inner of schemasIn(schema)) look(inner);
  };
  for (const { schema } of spec.versions ?? []) if (schema?.openAPIV3Schema !== undefined) look(schema.openAPIV3Schema);
  return [...new Set(formats), ...[...sets].sort()];
}

function approval({ metadata, spec }: Definition, prev: Definition | undefined): FieldError[] {
  if (!isProtectedGroup(spec.group ?? '')) return [];
  const field = `metadata.annotations[${approvalAnnotation}]`;
  const found = approvalOf(metadata.annotations);
  if (found === 'approved' || found === 'bypassed') return [];
  // What was so before may stay so.
  if (prev !== undefined && approvalOf(prev.metadata.annotations) === found) return [];
  return found === 'missing'
    ? [
        required(
          field,
          'protected groups must have approval annotation, see https://github.com/kubernetes/enhancements/pull/1111',
        ),
      ]
    : [
        invalid(
          field,
          metadata.annotations?.[approvalAnnotation],
          'must be a URL or a reason that starts with "unapproved"',
        ),
      ];
}

function immutable(next: Definition, prev: Definition): FieldError[] {
  const errors: FieldError[] = [];
  const fixed = (field: string, after: unknown, before: unknown): void => {
    if (!same(after, before)) errors.push(invalid(field, after, 'field is immutable'));
  };
  if ((prev.status?.conditions ?? []).some(({ type, status }) => type === 'Established' && status === 'True')) {
    fixed('spec.scope', next.spec.scope, prev.spec.scope);
    fixed('spec.names.kind', next.spec.names.kind, prev.spec.names.kind);
  }
  fixed('spec.group', next.spec.group, prev.spec.group);
  fixed('spec.names.plural', next.spec.names.plural, prev.spec.names.plural);
  return errors;
}

function storedVersions(stored: readonly string[], versions: readonly Version[]): FieldError[] {
  const field = 'status.storedVersions';
  if (stored.length === 0) return [invalid(field, stored, 'must have at least one stored version')];
  const errors: FieldError[] = [];
  // Each name is good for one version only, as upstream counts.
  const left = new Map(stored.map((name, at) => [name, at]));
  for (const { name, storage } of versions)
    if (!left.delete(name) && storage) errors.push(invalid(field, stored, `must have the storage version ${name}`));
  for (const [name, at] of left) errors.push(invalid(`${field}[${at}]`, name, 'must appear in spec.versions'));
  return errors;
}

function validateSpec(spec: Spec, prev: Definition | undefined): FieldError[] {
  const errors: FieldError[] = [];
  const group = spec.group ?? '';
  if (group === '') errors.push(required('spec.group'));
  else {
    const wrong = dnsSubdomain(group);
    if (wrong.length > 0) errors.push(invalid('spec.group', group, wrong.join(',')));
    else if (!group.includes('.'))
      errors.push(invalid('spec.group', group, 'should be a domain with at least one dot'));
  }
  const scope = spec.scope ?? '';
  if (scope === '') errors.push(required('spec.scope'));
  else if (scope !== 'Cluster' && scope !== 'Namespaced')
    errors.push(notSupported('spec.scope', scope, ['Cluster', 'Namespaced']));
  const { versions: all } = spec;
  all.forEach(({ schema }, at) => {
    if (schema?.openAPIV3Schema === undefined)
      errors.push(required(`spec.versions[${at}].schema.openAPIV3Schema`, 'schemas are required'));
  });
  const shared = sharedBy(all);
  errors.push(
    ...versions(spec, prev?.spec, shared),
    ...names(spec),
    ...sharedErrors(spec, prev?.spec, shared),
    ...conversion(spec, prev !== undefined && judgesBundle(prev)),
  );
  return errors;
}

function names({ names: given }: Spec): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of ['plural', 'singular', 'kind', 'listKind'] as const)
    if (!given?.[field]) errors.push(required(`spec.names.${field}`));
  return [...errors, ...nameForms(given, 'spec.names')];
}

/** The forms of names that are there; also of a status. */
function nameForms(given: Partial<Spec['names']> | undefined, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const label = (field: string, value: string, shown = value): void => {
    const wrong = dns1035Label(value);
    if (wrong.length > 0) errors.push(invalid(`${path}.${field}`, shown, wrong.join(',')));
  };
  const { plural, singular, kind, listKind, shortNames, categories } = given ?? {};
  if (plural) label('plural', plural);
  if (singular) label('singular', singular);
  if (kind) label('kind', kind.toLowerCase(), kind);
  if (listKind) label('listKind', listKind.toLowerCase(), listKind);
  shortNames?.forEach((name, at) => label(`shortNames[${at}]`, name));
  if (kind && kind === listKind)
    errors.push(invalid(`${path}.listKind`, listKind, 'kind and listKind may not be the same'));
  categories?.forEach((name, at) => label(`categories[${at}]`, name));
  return errors;
}

/** What all versions say alike is told of at the top, since upstream keeps it there. */
interface Shared {
  readonly schema: boolean;
  readonly subresources: boolean;
  readonly additionalPrinterColumns: boolean;
  readonly selectableFields: boolean;
}

function sharedBy(all: readonly Version[]): Shared {
  const alike = (field: keyof Version): boolean =>
    all.every((version) => same(version[field] ?? null, all[0]![field] ?? null));
  return {
    schema: alike('schema'),
    subresources: alike('subresources'),
    additionalPrinterColumns: alike('additionalPrinterColumns'),
    selectableFields: alike('selectableFields'),
  };
}

function versions({ versions: all }: Spec, prev: Spec | undefined, shared: Shared): FieldError[] {
  const errors: FieldError[] = [];
  all.forEach((version, at) => {
    const path = `spec.versions[${at}]`;
    const wrong = dns1035Label(version.name ?? '');
    if (wrong.length > 0) errors.push(invalid(`${path}.name`, version.name, wrong.join(',')));
    errors.push(...deprecation(version, path));
    const hasStatus = version.subresources?.status !== undefined;
    if (!shared.schema) errors.push(...schemaErrors(version, prev, `${path}.schema.openAPIV3Schema`, hasStatus));
    if (!shared.subresources) errors.push(...subresources(version, `${path}.subresources`));
    if (!shared.additionalPrinterColumns) errors.push(...columns(version, `${path}.additionalPrinterColumns`));
    if (!shared.selectableFields) errors.push(...selectableFieldErrors(version, `${path}.selectableFields`));
  });
  if (new Set(all.map(({ name }) => name)).size < all.length)
    errors.push(invalid('spec.versions', '', 'must contain unique version names'));
  if (all.filter(({ storage }) => storage).length !== 1)
    errors.push(invalid('spec.versions', '', 'must have exactly one version marked as storage version'));
  // Upstream's internal form has the first version once more.
  const [first] = all;
  const wrong = first?.name ? dns1035Label(first.name) : [];
  if (wrong.length > 0) errors.push(invalid('spec.version', first!.name, wrong.join(',')));
  return errors;
}

function schemaErrors(version: Version, prev: Spec | undefined, path: string, hasStatus: boolean): FieldError[] {
  const schema = version.schema?.openAPIV3Schema;
  if (schema === undefined) return [];
  const before = prev?.versions?.find(({ name }) => name === version.name)?.schema?.openAPIV3Schema;
  return validateSchema(schema, before, path, hasStatus);
}

/** What all versions say alike. */
function sharedErrors({ versions: all }: Spec, prev: Spec | undefined, shared: Shared): FieldError[] {
  const [first] = all;
  if (first === undefined) return [];
  const hasStatus = all.some((version) => version.subresources?.status !== undefined);
  return [
    ...(shared.schema ? schemaErrors(first, prev, 'spec.validation.openAPIV3Schema', hasStatus) : []),
    ...(shared.subresources ? subresources(first, 'spec.subresources') : []),
    ...(shared.additionalPrinterColumns ? columns(first, 'spec.additionalPrinterColumns') : []),
    ...(shared.selectableFields ? selectableFieldErrors(first, 'spec.selectableFields') : []),
  ];
}

function deprecation({ deprecated, deprecationWarning: text }: Version, path: string): FieldError[] {
  const field = `${path}.deprecationWarning`;
  if (text === undefined) return [];
  if (deprecated !== true) return [invalid(field, text, 'can only be set for deprecated versions')];
  const errors: FieldError[] = [];
  if (Buffer.byteLength(text) > 256) errors.push(invalid(field, text, 'must be <= 256 characters long'));
  if (text === '') errors.push(invalid(field, text, 'must not be an empty string'));
  if (/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(text))
    errors.push(invalid(field, text, 'must only contain printable UTF-8 characters'));
  return errors;
}

function subresources({ subresources: given }: Version, path: string): FieldError[] {
  const scale = given?.scale;
  if (scale === undefined) return [];
  const errors: FieldError[] = [];
  const check = (field: string, value: string | undefined, roots: readonly string[], optional = false): void => {
    const at = `${path}.scale.${field}`;
    if (value === undefined || value === '') {
      if (!optional) errors.push(required(at));
      return;
    }
    if (!isSimplePath(value)) errors.push(invalid(at, value, 'should be a json path without array notation'));
    else if (!roots.some((root) => value.startsWith(root)))
      errors.push(invalid(at, value, `should be a json path under ${roots.join(' or ')}`));
  };
  check('specReplicasPath', scale.specReplicasPath, ['.spec.']);
  check('statusReplicasPath', scale.statusReplicasPath, ['.status.']);
  check('labelSelectorPath', scale.labelSelectorPath, ['.spec.', '.status.'], true);
  return errors;
}

const isSimplePath = (path: string): boolean => path.startsWith('.');

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string'];
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

function columns({ additionalPrinterColumns: given = [] }: Version, path: string): FieldError[] {
  const errors: FieldError[] = [];
  given.forEach(({ name, type, format = '', jsonPath: text }, at) => {
    const field = `${path}[${at}]`;
    if (!name) errors.push(required(`${field}.name`));
    if (!type) errors.push(required(`${field}.type`, `must be one of ${columnTypes.join(',')}`));
    else if (!columnTypes.includes(type))
      errors.push(invalid(`${field}.type`, type, `must be one of ${columnTypes.join(',')}`));
    if (format !== '' && !columnFormats.includes(format))
      errors.push(invalid(`${field}.format`, format, `must be one of ${columnFormats.join(',')}`));
    errors.push(...pathErrors(text, `${field}.JSONPath`));
  });
  return errors;
}

/** More is not asked of it: what cannot be read shows nothing. */
function pathErrors(text: string | undefined, field: string): FieldError[] {
  if (!text) return [required(field)];
  return text.startsWith('.') ? [] : [invalid(field, text, 'must be a simple json path starting with .')];
}

function conversion({ conversion: given }: Spec, bundleIsJudged: boolean): FieldError[] {
  if (given === undefined) return [];
  const errors: FieldError[] = [];
  const path = 'spec.conversion';
  const { strategy = '', webhook } = given;
  if (strategy === '') errors.push(required(`${path}.strategy`));
  else if (strategy !== 'None' && strategy !== 'Webhook')
    errors.push(notSupported(`${path}.strategy`, strategy, ['None', 'Webhook']));
  const reviews = webhook?.conversionReviewVersions ?? [];
  if (strategy !== 'Webhook') {
    const detail = 'should not be set when strategy is not set to Webhook';
    if (webhook?.clientConfig !== undefined) errors.push(forbidden(`${path}.webhookClientConfig`, detail));
    if (reviews.length > 0) errors.push(forbidden(`${path}.conversionReviewVersions`, detail));
    return errors;
  }
  const at = `${path}.webhookClientConfig`;
  const config = webhook?.clientConfig;
  if (config === undefined) errors.push(required(at, 'required when strategy is set to Webhook'));
  else {
    const problems = new Problems();
    const { url, service } = config;
    validateWebhookClient(problems, at, {
      ...(url !== undefined && { url }),
      ...(service && { service: { ...service, port: service.port ?? 443 } }),
    });
    errors.push(...problems.list);
  }
  const { caBundle } = config ?? {};
  if (caBundle && bundleIsJudged && !hasCertificate(caBundle))
    errors.push(invalid(`${at}.caBundle`, caBundle, 'unable to load root certificates'));
  errors.push(...reviewErrors(reviews, `${path}.conversionReviewVersions`));
  return errors;
}

/** Until a definition is established its bundle may still be filled in by others; one that was wrong may stay wrong. */
function judgesBundle({ spec, status }: Definition): boolean {
  const isEstablished = status?.conditions?.some((one) => one.type === 'Established' && one.status === 'True') === true;
  const before = spec.conversion?.webhook?.clientConfig?.caBundle;
  return isEstablished && (!before || hasCertificate(before));
}

const certificates = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function hasCertificate(caBundle: string): boolean {
  const text = Buffer.from(caBundle, 'base64').toString('latin1');
  return (text.match(certificates) ?? []).some((pem) => {
    try {
      return new X509Certificate(pem).serialNumber !== '';
    } catch {
      return false;
    }
  });
}

function reviewErrors(reviews: readonly string[], field: string): FieldError[] {
  if (reviews.length === 0) return [required(field)];
  const errors: FieldError[] = [];
  reviews.forEach((name, index) => {
    if (reviews.indexOf(name) < index) errors.push(invalid(`${field}[${index}]`, name, 'duplicate version'));
    else for (const text of dns1035Label(name)) errors.push(invalid(`${field}[${index}]`, name, text));
  });
  if (!reviews.some((name) => name === 'v1' || name === 'v1beta1'))
    errors.push(invalid(field, reviews, 'must include at least one of v1, v1beta1'));
  return errors;
}
