// Writes src/api/generated from facts/; with --check only says whether what is committed is fresh.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { discoveredGroups, type Facts, type OpenApiSchema, readFact } from './facts.ts';
import { generateResources } from './resources.ts';
import { generateSchemaTable } from './schema-table.ts';
import { generateTypes } from './types.ts';

const root = process.cwd();
const target = join(root, 'src/api/generated');

const facts = readFact<Facts>(root, 'types.json');
const files = new Map<string, string>([
  ...generateTypes(facts),
  ['resources.ts', generateResources(facts, discoveredGroups(root))],
  ['schema-table.ts', generateSchemaTable(facts, readFact<Record<string, OpenApiSchema>>(root, 'schemas.json'))],
]);

if (process.argv.includes('--check')) {
  const present = new Set(readdirSync(target));
  const stale = [...files].filter(
    ([name, text]) => !present.has(name) || readFileSync(join(target, name), 'utf8') !== text,
  );
  const extra = [...present].filter((name) => !files.has(name));
  if (stale.length + extra.length > 0) {
    process.stderr.write(
      `not fresh: ${[...stale.map(([name]) => name), ...extra].join(', ')}; run \`npm run generate\`\n`,
    );
    process.exitCode = 1;
  }
} else {
  mkdirSync(target, { recursive: true });
  for (const name of readdirSync(target)) if (!files.has(name)) rmSync(join(target, name));
  for (const [name, text] of files) writeFileSync(join(target, name), text);
}
