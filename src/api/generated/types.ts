// Generated from facts/ by tools/generate; run `npm run generate`.

export type NodeName = string;

export type UID = string;
