// Generated from facts/ by tools/generate; run `npm run generate`.

export type Format = string;

export type Quantity = string;
