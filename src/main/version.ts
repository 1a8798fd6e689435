// Owns what we call ourselves: the Kubernetes version that we answer as, and our own.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const ownVersion = (require('../../../package.json') as { version: string }).version;

/** The shape of /version (documentation of `kubectl version`). */
export const version = {
  major: '1',
  minor: '37',
  emulationMajor: '1',
  emulationMinor: '37',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '36',
  gitVersion: `v1.37.2+k8ts.${ownVersion}`,
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '2026-11-30T00:00:00Z',
  goVersion: `node ${process.version}`,
  compiler: 'tsc',
  platform: `${process.platform === 'win32' ? 'windows' : process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
} as const;
