// Generated from facts/ by tools/generate; run `npm run generate`.

export type RawExtension = Readonly<Record<string, unknown>>;

export interface TypeMeta {
  apiVersion?: string;
  kind?: string;
}

export interface Unknown {
  apiVersion?: string;
  kind?: string;
}
