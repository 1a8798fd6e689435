// Runs one of bench/ by name: `npm run bench -- cluster`.
import { readdirSync } from 'node:fs';

const names = readdirSync('dist/bench')
  .filter((file) => file.endsWith('.js'))
  .map((file) => file.slice(0, -3));
const [name = ''] = process.argv.slice(2);
if (names.includes(name)) {
  process.argv.splice(1, 2, `bench/${name}`);
  await import(`../bench/${name}.js`);
} else process.stdout.write(`npm run bench -- NAME, of: ${names.join(', ')}\n`);
