// Owns the specs that the server's own flow control objects must have: nobody may change them.
import { readFact } from '../../facts.ts';

interface Named {
  readonly metadata: { readonly name: string };
  readonly spec: unknown;
}

const mandatoryNames: Readonly<Record<string, readonly string[]>> = {
  flowschemas: ['exempt', 'catch-all'],
  prioritylevelconfigurations: ['exempt', 'catch-all'],
};

const read = new Map<string, ReadonlyMap<string, unknown>>();

/** By name. Read once, when first asked for. */
export function mandatorySpecs(plural: 'flowschemas' | 'prioritylevelconfigurations'): ReadonlyMap<string, unknown> {
  let specs = read.get(plural);
  if (specs === undefined) {
    const { items } = readFact(`bootstrap/${plural}.json`) as { items: readonly Named[] };
    const own = items.filter(({ metadata }) => mandatoryNames[plural]!.includes(metadata.name));
    read.set(plural, (specs = new Map(own.map(({ metadata, spec }) => [metadata.name, spec]))));
  }
  return specs;
}
