// Owns where our own command is, for those that start it again. As deep in dist/src as in dist/bundle, like version.ts.
import { fileURLToPath } from 'node:url';

/** The absolute path of bin/k8ts.js. */
export const ownCommand = fileURLToPath(new URL('../../../bin/k8ts.js', import.meta.url));
