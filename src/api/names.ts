// Owns the forms of names, labels and other small texts: each validator returns what is wrong, in the words clients know.

/** Returns what is wrong with `value`; empty when nothing is. */
export type TextValidator = (value: string) => string[];

const label1123 = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain1123 = `${label1123}(\\.${label1123})*`;
const label1035 = '[a-z]([-a-z0-9]*[a-z0-9])?';
const qualifiedPart = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelValue = `(${qualifiedPart})?`;
const configKey = '[-._a-zA-Z0-9]+';
const percent = '[0-9]+%';

const whole = (pattern: string): RegExp => new RegExp(`^${pattern}$`);
const label1123Pattern = whole(label1123);
const subdomain1123Pattern = whole(subdomain1123);
const label1035Pattern = whole(label1035);
const qualifiedPartPattern = whole(qualifiedPart);
const labelValuePattern = whole(labelValue);
const configKeyPattern = whole(configKey);
const percentPattern = whole(percent);

const maxLabelLength = 63;
const maxSubdomainLength = 253;

function tooLongText(max: number): string {
  return `must be no more than ${max} bytes`;
}

const emptyText = 'must be non-empty';

/** "… (e.g. 'a',  or 'b', regex used for validation is 'x')" */
function patternText(message: string, pattern: string, ...examples: string[]): string {
  if (examples.length === 0) return `${message} (regex used for validation is '${pattern}')`;
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  return `${message} (e.g. ${shown}regex used for validation is '${pattern}')`;
}

/** Length in bytes of UTF-8. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

export function isDNS1123Label(value: string): string[] {
  const wrong: string[] = [];
  if (byteLength(value) > maxLabelLength) wrong.push(tooLongText(maxLabelLength));
  if (!label1123Pattern.test(value)) wrong.push(label1123Text(value));
  return wrong;
}

function label1123Text(value: string): string {
  return subdomain1123Pattern.test(value)
    ? 'must not contain dots'
    : patternText(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
        label1123,
        'my-name',
        '123-abc',
      );
}

export function isDNS1123Subdomain(value: string): string[] {
  const wrong: string[] = [];
  if (byteLength(value) > maxSubdomainLength) wrong.push(tooLongText(maxSubdomainLength));
  if (!subdomain1123Pattern.test(value))
    wrong.push(
      patternText(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
        subdomain1123,
        'example.com',
      ),
    );
  return wrong;
}

export function isDNS1035Label(value: string): string[] {
  const wrong: string[] = [];
  if (byteLength(value) > maxLabelLength) wrong.push(tooLongText(maxLabelLength));
  if (!label1035Pattern.test(value))
    wrong.push(
      patternText(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
        label1035,
        'my-name',
        'abc-123',
      ),
    );
  return wrong;
}

export function isWildcardDNS1123Subdomain(value: string): string[] {
  const wrong: string[] = [];
  if (byteLength(value) > maxSubdomainLength) wrong.push(tooLongText(maxSubdomainLength));
  if (!value.startsWith('*.') || !subdomain1123Pattern.test(value.slice(2)))
    wrong.push(
      patternText(
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
        `\\*\\.${subdomain1123}`,
        '*.example.com',
      ),
    );
  return wrong;
}

/** Label keys, annotation keys, resource names: [prefix/]name. */
export function isQualifiedName(value: string): string[] {
  const parts = value.split('/');
  if (parts.length > 2)
    return [
      `${qualifiedText("a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character")} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  const wrong: string[] = [];
  const name = parts.at(-1)!;
  if (parts.length === 2) {
    const prefix = parts[0]!;
    if (prefix === '') wrong.push(`prefix part ${emptyText}`);
    else wrong.push(...isDNS1123Subdomain(prefix).map((text) => `prefix part ${text}`));
  }
  if (name === '') wrong.push(`name part ${emptyText}`);
  else if (byteLength(name) > maxLabelLength) wrong.push(`name part ${tooLongText(maxLabelLength)}`);
  if (!qualifiedPartPattern.test(name))
    wrong.push(
      `name part ${qualifiedText("must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character")}`,
    );
  return wrong;
}

function qualifiedText(message: string): string {
  return patternText(message, qualifiedPart, 'MyName', 'my.name', '123-abc');
}

export function isLabelValue(value: string): string[] {
  const wrong: string[] = [];
  if (byteLength(value) > maxLabelLength) wrong.push(tooLongText(maxLabelLength));
  if (!labelValuePattern.test(value))
    wrong.push(
      patternText(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        labelValue,
        'MyValue',
        'my_value',
        '12345',
      ),
    );
  return wrong;
}

/** Since 1.34 environment variables may have any printable ASCII characters but '='. */
export function isEnvVarName(value: string): string[] {
  if (value === '') return ['environment variable name must be non-empty'];
  return /^[ -<>-~]+$/.test(value)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
}

/** Keys of ConfigMaps and Secrets. */
export function isConfigMapKey(value: string): string[] {
  const wrong: string[] = [];
  if (byteLength(value) > maxSubdomainLength) wrong.push(tooLongText(maxSubdomainLength));
  if (!configKeyPattern.test(value))
    wrong.push(
      patternText(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        configKey,
        'key.name',
        'KEY_NAME',
        'key-name',
      ),
    );
  if (value === '.') wrong.push("must not be '.'");
  else if (value === '..') wrong.push("must not be '..'");
  else if (value.startsWith('..')) wrong.push("must not start with '..'");
  return wrong;
}

/** IANA service names: container and service port names. */
export function isPortName(value: string): string[] {
  const wrong: string[] = [];
  if (value.length > 15) wrong.push(tooLongText(15));
  if (!/^[-a-z0-9]+$/.test(value)) wrong.push('must contain only alphanumeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(value)) wrong.push('must contain at least one letter (a-z)');
  if (value.includes('--')) wrong.push('must not contain consecutive hyphens');
  if (value.startsWith('-') || value.endsWith('-')) wrong.push('must not begin or end with a hyphen');
  return wrong;
}

export function isPercent(value: string): string[] {
  return percentPattern.test(value)
    ? []
    : [patternText("a valid percent string must be a numeric string followed by an ending '%'", percent, '1%', '93%')];
}

/** Names that only have to survive in a URL path (RBAC roles, …). `isPrefix`: the name is still to be completed. */
export function isPathSegmentName(value: string, isPrefix = false): string[] {
  if (!isPrefix && (value === '.' || value === '..')) return [`may not be '${value}'`];
  return ['/', '%'].filter((char) => value.includes(char)).map((char) => `may not contain '${char}'`);
}

/** Finalizers, CSI driver and signer domains: at least three segments. */
export function isFullyQualifiedName(value: string): string[] {
  if (value === '') return [emptyText];
  const wrong = isDNS1123Subdomain(value);
  if (wrong.length > 0) return wrong;
  return value.split('.').length < 3 ? ['should be a domain with at least three segments separated by dots'] : [];
}

/** "acme.io/foo": a domain, a slash and a path without odd characters. */
export function isDomainPrefixedPath(value: string): string[] {
  if (value === '') return [emptyText];
  const slash = value.indexOf('/');
  if (slash <= 0 || slash === value.length - 1) return ['must be a domain-prefixed path (such as "acme.io/foo")'];
  const wrong = isDNS1123Subdomain(value.slice(0, slash));
  if (wrong.length > 0) return wrong;
  const path = value.slice(slash + 1);
  return /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(path)
    ? []
    : [patternText('Invalid path', "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+")];
}

/** The form of names of a kind: `isPrefix` when it is a generateName, which is cut before its last dash. */
export type NameValidator = (name: string, isPrefix: boolean) => string[];

const masked =
  (validate: TextValidator): NameValidator =>
  (name, isPrefix) =>
    validate(isPrefix && name.length > 1 && name.endsWith('-') ? `${name.slice(0, -1)}a` : name);

export const nameIsDNSSubdomain: NameValidator = masked(isDNS1123Subdomain);
export const nameIsPathSegment: NameValidator = isPathSegmentName;
