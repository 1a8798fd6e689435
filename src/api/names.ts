// Owns the forms of names, labels, keys and other small texts: each check returns what is wrong, in the words clients know.

/** Returns what is wrong with `value`; empty when nothing is. */
export type TextValidator = (value: string) => readonly string[];

/** The form of names of a kind: `isPrefix` when it is a generateName, which is still to be completed. */
export type NameValidator = (name: string, isPrefix?: boolean) => readonly string[];

const none: readonly string[] = [];

const label1123 = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain1123 = `${label1123}(\\.${label1123})*`;
const label1035 = '[a-z]([-a-z0-9]*[a-z0-9])?';
const subdomainPart = '[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?';
const subdomainWithUnderscore = `${subdomainPart}(\\.${subdomainPart})*`;
const qualifiedPart = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelForm = `(${qualifiedPart})?`;
const configKey = '[-._a-zA-Z0-9]+';

const whole = (pattern: string): RegExp => new RegExp(`^${pattern}$`);
const subdomain1123Pattern = whole(subdomain1123);
const qualifiedPartPattern = whole(qualifiedPart);

const maxLabelLength = 63;
const maxSubdomainLength = 253;

const tooLongText = (max: number): string => `must be no more than ${max} bytes`;
const emptyText = 'must be non-empty';

/** "… (e.g. 'a',  or 'b', regex used for validation is 'x')" */
function patternText(message: string, pattern: string, ...examples: string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  return `${message} (e.g. ${shown}regex used for validation is '${pattern}')`;
}

/** Length in bytes of UTF-8. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/** A text of a form, at most `max` bytes long; `says`: what is wrong with one that has it not. */
function formed(pattern: string, max: number, says: (value: string) => string): TextValidator {
  const form = whole(pattern);
  return (value) => {
    const isLong = byteLength(value) > max;
    const isFormed = form.test(value);
    if (!isLong && isFormed) return none;
    return [...(isLong ? [tooLongText(max)] : []), ...(isFormed ? [] : [says(value)])];
  };
}

export const dnsLabel = formed(label1123, maxLabelLength, (value) =>
  subdomain1123Pattern.test(value)
    ? 'must not contain dots'
    : patternText(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
        label1123,
        'my-name',
        '123-abc',
      ),
);

export const dnsSubdomain = formed(subdomain1123, maxSubdomainLength, () =>
  patternText(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
    subdomain1123,
    'example.com',
  ),
);

export const dnsSubdomainWithUnderscore = formed(
  subdomainWithUnderscore,
  maxSubdomainLength,
  () => "must be lower case alphanumeric characters, '_', '-' or '.', starting and ending with an alphanumeric or '_'",
);

export const dns1035Label = formed(label1035, maxLabelLength, () =>
  patternText(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
    label1035,
    'my-name',
    'abc-123',
  ),
);

export const labelValue = formed(labelForm, maxLabelLength, () =>
  patternText(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    labelForm,
    'MyValue',
    'my_value',
    '12345',
  ),
);

export function wildcardDnsSubdomain(value: string): readonly string[] {
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
export function qualifiedName(value: string): readonly string[] {
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
    else wrong.push(...dnsSubdomain(prefix).map((text) => `prefix part ${text}`));
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

/** Since 1.34 environment variables may have any printable ASCII characters but '='. */
export function envName(value: string): readonly string[] {
  if (value === '') return ['environment variable name must be non-empty'];
  return /^[ -<>-~]+$/.test(value)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
}

const configKeyForm = formed(configKey, maxSubdomainLength, () =>
  patternText(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    configKey,
    'key.name',
    'KEY_NAME',
    'key-name',
  ),
);

/** Keys of ConfigMaps and Secrets. */
export function dataKey(value: string): readonly string[] {
  const wrong = [...configKeyForm(value)];
  if (value === '.') wrong.push("must not be '.'");
  else if (value === '..') wrong.push("must not be '..'");
  else if (value.startsWith('..')) wrong.push("must not start with '..'");
  return wrong;
}

/** IANA service names: container and service port names. */
export function portName(value: string): readonly string[] {
  const wrong: string[] = [];
  if (value.length > 15) wrong.push(tooLongText(15));
  if (!/^[-a-z0-9]+$/.test(value)) wrong.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(value)) wrong.push('must contain at least one letter (a-z)');
  if (value.includes('--')) wrong.push('must not contain consecutive hyphens');
  if (value.startsWith('-') || value.endsWith('-')) wrong.push('must not begin or end with a hyphen');
  return wrong;
}

/** Names that only have to survive in a URL path (RBAC roles, …). `isPrefix`: the name is still to be completed. */
export function pathSegmentName(value: string, isPrefix = false): readonly string[] {
  if (!isPrefix && (value === '.' || value === '..')) return [`may not be '${value}'`];
  return ['/', '%'].filter((char) => value.includes(char)).map((char) => `may not contain '${char}'`);
}

/** Finalizers, CSI driver and signer domains: at least three segments. */
export function fullyQualifiedName(value: string): readonly string[] {
  if (value === '') return [emptyText];
  const wrong = dnsSubdomain(value);
  if (wrong.length > 0) return wrong;
  return value.split('.').length < 3 ? ['should be a domain with at least three segments separated by dots'] : [];
}

export const httpHeaderName: TextValidator = (value) =>
  /^[-A-Za-z0-9]+$/.test(value) ? none : ["a valid HTTP header must consist of alphanumeric characters or '-'"];

/** What is to be completed may end with a dash. Upstream masks the character before it as well, whatever it is. */
const completed =
  (validate: TextValidator): NameValidator =>
  (name, isPrefix = false) =>
    validate(isPrefix ? name.replace(/.-$/s, 'a') : name);

export const subdomainName = completed(dnsSubdomain);
export const labelName = completed(dnsLabel);
