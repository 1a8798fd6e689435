// Runs the rules of the source over src/.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkRooms, type SourceFile } from './rooms.ts';

function filesOf(directory: string): SourceFile[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|js|mjs)$/.test(name))
    .map((name) => ({
      path: `${directory}/${name.replaceAll('\\', '/')}`,
      text: readFileSync(join(directory, name), 'utf8'),
    }));
}

const problems = checkRooms(filesOf('src'), ['bench', 'bin', 'examples', 'test', 'tools'].flatMap(filesOf));
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;
