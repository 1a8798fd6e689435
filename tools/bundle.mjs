// Makes dist/bundle from dist/src: the command in few files, which start in half the time of its modules. Plain JavaScript, as setup.mjs runs it.
// What is loaded only when it is asked for (commands, components) stays a file of its own. bin/k8ts.js says when the bundle is used.
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
// As deep as dist/src/main: what is found beside the program (package.json, facts) is found from here, too.
const outdir = join(root, 'dist/bundle', process.argv[2] ?? 'main');

rmSync(outdir, { recursive: true, force: true });
await build({
  entryPoints: [join(root, 'dist/src/main/k8ts.js')],
  outdir,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  legalComments: 'linked',
  logLevel: 'warning',
  // CommonJS and loaded when asked for: in a bundle its names would be found below `default` only.
  external: ['@grpc/grpc-js'],
  // CommonJS packages among the dependencies ask for node's own modules by require.
  banner: {
    js: "import { createRequire as requireOfBundle } from 'node:module'; const require = requireOfBundle(import.meta.url);",
  },
});
