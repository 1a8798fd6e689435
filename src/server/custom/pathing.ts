// Owns how a place in a custom object is written: the two ways in which upstream does it. No other text.

/** `spec`, `list`, 0, `name`. */
export type Place = readonly (string | number)[];

/** "spec.list[0].name": validation of values and unknown fields. */
export function dotted(place: Place): string {
  let text = '';
  for (const part of place) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += text === '' ? part : `.${part}`;
  }
  return text;
}
