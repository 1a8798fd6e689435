#!/usr/bin/env node
// Runs the bundle, unless the modules were compiled again since it was made (or it was not): then those.
import { statSync } from 'node:fs';

const madeAt = (path) => statSync(new URL(`../dist/${path}`, import.meta.url), { throwIfNoEntry: false })?.mtimeMs ?? 0;
const bundled = madeAt('bundle/main/k8ts.js');
const isFresh = bundled > 0 && bundled >= madeAt('tsconfig.tsbuildinfo');
await import(isFresh ? '../dist/bundle/main/k8ts.js' : '../dist/src/main/k8ts.js');
