// Owns the one door to what only servers with custom kinds need: loaded when the first of them comes.
export { servedKind } from './served-kinds.ts';
export { compileRules } from './compile-rules.ts';
export { conversionWebhook } from './conversion-webhook.ts';
