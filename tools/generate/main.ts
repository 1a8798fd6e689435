// Writes the generated modules from facts/; with --check only says whether what is committed is fresh.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { discoveredGroups, type Facts, type OpenApiSchema, readFact } from './facts.ts';
import { generateProtos } from './protos.ts';
import { generateResources } from './resources.ts';
import { generateSchemaTable } from './schema-table.ts';
import { generateTypes } from './types.ts';

const root = process.cwd();

const facts = readFact<Facts>(root, 'types.json');

/** Each generated folder holds these files and no other. */
const folders: Readonly<Record<string, ReadonlyMap<string, string>>> = {
  'src/api/generated': new Map([
    ...generateTypes(facts),
    ['resources.ts', generateResources(facts, discoveredGroups(root))],
    ['schema-table.ts', generateSchemaTable(facts, readFact<Record<string, OpenApiSchema>>(root, 'schemas.json'))],
  ]),
  'src/wire/generated': generateProtos(root),
};

for (const [folder, files] of Object.entries(folders)) {
  const target = join(root, folder);
  mkdirSync(target, { recursive: true });
  const present = new Set(readdirSync(target));
  const extra = [...present].filter((name) => !files.has(name));
  if (process.argv.includes('--check')) {
    const stale = [...files].filter(
      ([name, text]) => !present.has(name) || readFileSync(join(target, name), 'utf8') !== text,
    );
    if (stale.length + extra.length > 0) {
      process.stderr.write(
        `${folder} is not fresh: ${[...stale.map(([name]) => name), ...extra].join(', ')}; run \`npm run generate\`\n`,
      );
      process.exitCode = 1;
    }
  } else {
    for (const name of extra) rmSync(join(target, name));
    for (const [name, text] of files) writeFileSync(join(target, name), text);
  }
}
