// Generated from facts/ by tools/generate; run `npm run generate`.

export type IntOrString = number | string;

export type Type = number;
