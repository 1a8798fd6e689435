// Owns field selectors ("metadata.name=a,status.phase!=Running"): parsing, matching, canonical text.

export interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

export type FieldSelector = readonly FieldRequirement[];

export class FieldSelectorError extends Error {
  override readonly name = 'FieldSelectorError';
}

/** Throws FieldSelectorError. An empty text selects everything, and so does "=". */
export function parseFieldSelector(text: string): FieldSelector {
  return splitTerms(text)
    .filter((term) => term !== '')
    .map(parseTerm)
    .filter(({ field, value }) => field !== '' || value !== '');
}

/** Splits at commas that no backslash escapes. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === ',') {
      terms.push(text.slice(start, at));
      start = at + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

function parseTerm(term: string): FieldRequirement {
  const match = /^((?:[^=!\\]|\\.|!(?!=))*)(!=|==|=)(.*)$/s.exec(term);
  if (match === null) throw new FieldSelectorError(`invalid selector: '${term}'; can't understand '${term}'`);
  return { field: match[1]!, operator: match[2] === '!=' ? '!=' : '=', value: unescape(match[3]!) };
}

function unescape(value: string): string {
  let result = '';
  for (let at = 0; at < value.length; at++) {
    const char = value[at]!;
    if (char === '\\') {
      const next = value[++at];
      if (next === undefined) throw new FieldSelectorError(`invalid field selector value: ${value}: escape at the end`);
      if (next !== '\\' && next !== ',' && next !== '=')
        throw new FieldSelectorError(`invalid field selector: invalid escape sequence: \\${next}`);
      result += next;
    } else if (char === '=') throw new FieldSelectorError(`invalid selector: unescaped '=' in ${value}`);
    else result += char;
  }
  return result;
}

/** `read` gives the value of a field, empty when unset. */
export function matchesFields(selector: FieldSelector, read: (field: string) => string): boolean {
  return selector.every(({ field, operator, value }) => (read(field) === value) === (operator === '='));
}

export function fieldSelectorText(selector: FieldSelector): string {
  return selector
    .map(({ field, operator, value }) => `${field}${operator}${value.replace(/[\\,=]/g, '\\$&')}`)
    .join(',');
}

/** The value that the selector demands of `field` by equality; undefined when it demands none. */
export function requiredValue(selector: FieldSelector, field: string): string | undefined {
  return selector.find((requirement) => requirement.field === field && requirement.operator === '=')?.value;
}
