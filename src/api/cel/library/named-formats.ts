// Owns Kubernetes' format library of CEL: named formats that validate a text and say what is wrong (documentation "Kubernetes format library").
import { parseInstant } from '../../time.ts';
import { dns1035Label, dnsLabel, dnsSubdomain, labelValue, qualifiedName } from '../../names.ts';
import { regexFactor, sizeOf, traversalFactor } from '../costs.ts';
import { define, type Library, member, overload } from '../functions.ts';
import { list, opaque, optional, string } from '../types.ts';
import { ArrayList, CelOpaque, CelOptional, type CelValue } from '../values.ts';

const format = opaque('kubernetes.NamedFormat');

type Judge = (text: string) => readonly string[];

class CelFormat extends CelOpaque {
  readonly typeName = 'kubernetes.NamedFormat';
  readonly name: string;
  readonly judge: Judge;
  /** Characters of the pattern that upstream judges by. */
  readonly pattern: number;
  constructor(name: string, judge: Judge, size: number) {
    super();
    this.name = name;
    this.judge = judge;
    this.pattern = size;
  }
  override equals(other: CelOpaque): boolean {
    return other instanceof CelFormat && other.name === this.name;
  }
}

const pattern =
  (form: RegExp, what: string): Judge =>
  (text) =>
    form.test(text) ? [] : [what];

/** With a prefix the name may end in a dash: more will be put behind it. */
const prefix =
  (judge: Judge): Judge =>
  (text) =>
    judge(text.endsWith('-') ? `${text.slice(0, -1)}a` : text);

function isUri(text: string): readonly string[] {
  return URL.canParse(text) || text.startsWith('/') ? [] : ['invalid URI'];
}

const judges: Readonly<Record<string, Judge>> = {
  dns1123Label: dnsLabel,
  dns1123Subdomain: dnsSubdomain,
  dns1035Label: dns1035Label,
  qualifiedName,
  dns1123LabelPrefix: prefix(dnsLabel),
  dns1123SubdomainPrefix: prefix(dnsSubdomain),
  dns1035LabelPrefix: prefix(dns1035Label),
  labelValue,
  uri: isUri,
  uuid: pattern(
    /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i,
    'does not match the UUID format',
  ),
  byte: pattern(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/, 'invalid base64'),
  date: (text) =>
    /^\d{4}-\d\d-\d\d$/.test(text) && parseInstant(`${text}T00:00:00Z`) !== undefined ? [] : ['invalid date'],
  datetime: (text) => (parseInstant(text) === undefined ? ['invalid datetime'] : []),
};

const patternSizes: Readonly<Record<string, number>> = {
  dns1123Label: 30,
  dns1123Subdomain: 60,
  dns1035Label: 30,
  qualifiedName: 60,
  dns1123LabelPrefix: 30,
  dns1123SubdomainPrefix: 60,
  dns1035LabelPrefix: 30,
  labelValue: 40,
  uri: 1104,
  uuid: 72,
  byte: 84,
  date: 72,
  datetime: 72,
};

const formats = new Map(
  Object.entries(judges).map(([name, judge]) => [name, new CelFormat(name, judge, patternSizes[name] ?? 0)]),
);

export const namedFormats: Library = {
  name: 'kubernetes.format',
  functions: [
    ...Array.from(formats, ([name, value]) =>
      define(
        `format.${name}`,
        overload([], format, () => value),
      ),
    ),
    define(
      'format.named',
      overload([string], optional(format), ([name]) => {
        const found = formats.get(name as string);
        return found === undefined ? CelOptional.none : new CelOptional(found);
      }),
    ),
    define(
      'validate',
      member(
        format,
        [string],
        optional(list(string)),
        ([value, text]: readonly CelValue[]) => {
          const problems = (value as CelFormat).judge(text as string);
          return problems.length === 0 ? CelOptional.none : new CelOptional(new ArrayList(problems));
        },
        {
          cost: ([value, text]) =>
            Math.ceil((1 + sizeOf(text!)) * traversalFactor) * Math.ceil((value as CelFormat).pattern * regexFactor),
        },
      ),
    ),
  ],
};
