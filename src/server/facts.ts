// Owns finding the recorded facts (discovery, bootstrap objects) beside the program, whether it runs from dist/ or from source.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

let root: string | undefined;

function factsRoot(): string {
  if (root !== undefined) return root;
  let directory = dirname(fileURLToPath(import.meta.url));
  for (let up = 0; up < 6; up++) {
    const candidate = join(directory, 'facts');
    if (existsSync(join(candidate, 'discovery'))) return (root = candidate);
    directory = dirname(directory);
  }
  throw new Error('the facts/ directory of the package is missing');
}

/** The parsed file `name` ("discovery/aggregated-api.json"). */
export function readFact(name: string): unknown {
  return JSON.parse(readFileSync(join(factsRoot(), name), 'utf8'));
}

export function readFactText(name: string): string {
  return readFileSync(join(factsRoot(), name), 'utf8');
}

/** The files of a directory of facts. */
export function factNames(directory: string): string[] {
  return readdirSync(join(factsRoot(), directory));
}
