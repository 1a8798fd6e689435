// Makes a fresh clone ready: dependencies and build; with --test also the host packages that the tests use.
// Plain JavaScript, because it runs before anything is installed or built.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Debian's packages for the tests with real peers, by a file that shows that each is there. */
const testPackages = {
  containerd: '/usr/bin/containerd',
  runc: '/usr/sbin/runc',
  'containernetworking-plugins': '/usr/lib/cni/bridge',
  iptables: '/usr/sbin/iptables',
  nftables: '/usr/sbin/nft',
  conntrack: '/usr/sbin/conntrack',
  ipset: '/usr/sbin/ipset',
  iproute2: '/usr/sbin/ip',
  'busybox-static': '/usr/bin/busybox',
  'etcd-server': '/usr/bin/etcd',
  'etcd-client': '/usr/bin/etcdctl',
  'docker-registry': '/usr/bin/docker-registry',
};

function run(command, args, options = {}) {
  execFileSync(command, args, { cwd: root, stdio: 'inherit', ...options });
}

function newest(directory) {
  if (!existsSync(directory)) return 0;
  return Math.max(0, ...readdirSync(directory, { recursive: true }).map((name) => statSync(join(directory, String(name))).mtimeMs));
}

function installDependencies() {
  const installed = join(root, 'node_modules/.package-lock.json');
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs) return;
  if (existsSync(join(root, 'node_modules/typescript')) && !existsSync(installed)) return;
  process.stderr.write('k8ts: installing dependencies (npm ci)\n');
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
}

function build() {
  const built = join(root, 'dist/tsconfig.tsbuildinfo');
  const sources = Math.max(...['src', 'tools', 'test', 'bench'].map((part) => newest(join(root, part))));
  if (existsSync(built) && statSync(built).mtimeMs >= sources) return;
  process.stderr.write('k8ts: building\n');
  run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.json']);
  run(process.execPath, [join(root, 'tools/bundle.mjs')]);
}

/** Without root or apt the tests that need a package say so and are skipped. */
function installTestPackages() {
  const missing = Object.keys(testPackages).filter((name) => !existsSync(testPackages[name]));
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    process.stderr.write(`k8ts: not installed, so their tests are skipped: ${missing.join(', ')}\n`);
    return;
  }
  process.stderr.write(`k8ts: installing for the tests: ${missing.join(', ')}\n`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  run('apt-get', ['update', '-qq'], { env });
  run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing], { env, stdio: ['ignore', 'ignore', 'inherit'] });
}

installDependencies();
build();
if (process.argv.includes('--test')) installTestPackages();
