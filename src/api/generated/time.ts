// Generated from facts/ by tools/generate; run `npm run generate`.

export type Duration = number;

export interface Time {

}
