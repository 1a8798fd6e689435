// Runs the room and source rules over src/.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkRooms } from './rooms.ts';

const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ path: `src/${name.replaceAll('\\', '/')}`, text: readFileSync(join('src', name), 'utf8') }));

const problems = checkRooms(files);
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;
