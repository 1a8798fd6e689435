// Owns how a place in a custom object is written, as upstream does it. No other text.

/** A key of a map, where upstream tells those from the names of fields. */
export interface MapKey {
  readonly key: string;
}

export type Part = string | number | MapKey;

/** `spec`, `list`, 0, `name`. */
export type Place = readonly Part[];

/** What stands under `name` of an object whose schema is known: a field, or a key of a map. */
export function partOf(properties: ReadonlyMap<string, unknown>, name: string): Part {
  return properties.has(name) ? name : { key: name };
}

/** "spec.list[0].name"; keys of maps, where they are told, in brackets. */
export function dotted(place: Place): string {
  let text = '';
  for (const part of place) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (typeof part === 'object') text += `[${part.key}]`;
    else text += text === '' ? part : `.${part}`;
  }
  return text;
}
