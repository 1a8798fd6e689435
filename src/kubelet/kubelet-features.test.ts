// Tests over a real containerd what only real containers show: files, probes, hooks, logs, streams, limits.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { extract } from 'tar-stream';
import WebSocket from 'ws';
import { configMaps, pods, secrets } from '../api/generated/resources.ts';
import type { Pod } from '../api/generated/core.v1.ts';
import { type Frozen, thaw } from '../api/meta.ts';
import { statusError } from '../api/status-error.ts';
import { selfSigned } from '../testing/self-signed.ts';
import { cgroups } from './host/cgroups.ts';
import { containerdPid, shimPids } from './host/containerd.ts';
import { containerdPaths } from './host/containerd-config.ts';
import { architectureOf, helloImage, helloImageName } from './images/built-in.ts';
import { buildImage, type ImageSpec } from './images/image.ts';
import { realRuntime, whyNoRealRuntime } from './host/real-runtime.suite.ts';
import { sh, SuiteNode, type SuiteRuntime } from './kubelet.suite.ts';

const skip = whyNoRealRuntime();
const token = 'let-me-in';

describe('kubelet features over containerd', { skip: skip ?? false }, () => {
  if (skip !== undefined) return;
  let runtime: SuiteRuntime;
  let node: SuiteNode;
  const manifests = mkdtempSync(join(tmpdir(), 'manifests-'));
  const alive = setInterval(() => undefined, 1000);

  before(async () => {
    runtime = await realRuntime('ktest1', '10.238.0.0/24');
    const { key, certificate } = selfSigned(generateKeyPairSync('ec', { namedCurve: 'P-256' }));
    node = await SuiteNode.open(runtime, {
      staticPodFolder: manifests,
      server: {
        address: '127.0.0.1',
        port: 0,
        key,
        certificate,
        authorize: async ({ bearerToken }) => {
          if (bearerToken !== token) throw statusError('Unauthorized', 'Unauthorized');
        },
      },
    });
  });
  after(async () => {
    await node?.close();
    await runtime?.stop();
    rmSync(manifests, { recursive: true, force: true });
    clearInterval(alive);
  });

  function get(path: string, authorization = `Bearer ${token}`): Promise<{ code: number; body: string }> {
    return new Promise((resolve, reject) => {
      const request = httpsRequest(
        {
          host: '127.0.0.1',
          port: node.port,
          path,
          headers: { authorization },
          rejectUnauthorized: false,
          agent: false,
        },
        (response) => {
          let body = '';
          response.setEncoding('utf8').on('data', (text: string) => (body += text));
          response.on('end', () => resolve({ code: response.statusCode ?? 0, body }));
        },
      );
      request.on('error', reject);
      request.end();
    });
  }

  const logs = async (pod: string, query = ''): Promise<string> =>
    (await get(`/containerLogs/default/${pod}/c${query}`)).body;

  /** Runs a command over the kubelet's exec endpoint, as a WebSocket client; answers stdout. */
  function exec(pod: string, command: readonly string[]): Promise<string> {
    const query = new URLSearchParams([
      ...command.map((word): [string, string] => ['command', word]),
      ['output', '1'],
      ['error', '1'],
    ]);
    const socket = new WebSocket(`wss://127.0.0.1:${node.port}/exec/default/${pod}/c?${query}`, ['v4.channel.k8s.io'], {
      headers: { authorization: `Bearer ${token}` },
      rejectUnauthorized: false,
    });
    return new Promise((resolve, reject) => {
      let out = '';
      socket.on('message', (data: Buffer) => {
        if (data[0] === 1) out += data.subarray(1).toString();
      });
      socket.on('error', reject);
      socket.on('close', () => resolve(out));
    });
  }

  test('environment, volumes, hosts and resolv.conf are as asked', async () => {
    const host = mkdtempSync(join(tmpdir(), 'hostpath-'));
    writeFileSync(join(host, 'f'), 'from the host');
    const metadata = { name: 'settings', namespace: 'default' };
    await node.api.resource(configMaps).create({ metadata, data: { color: 'blue', 'a.txt': 'text' } } as never);
    await node.api.resource(secrets).create({
      metadata,
      data: { password: Buffer.from('hunter2').toString('base64') },
    } as never);
    const script = [
      'echo $COLOR $NAME $PASSWORD $CPU $GREETING',
      'cat /config/a.txt; echo; cat /host/f; echo; cat /one; echo',
      'stat -c %a /secret/..data/password; ls -l /config | grep -c "..data"',
      'grep -c "$HOSTNAME" /etc/hosts; cat /etc/resolv.conf',
      'echo kept > /shared/x; stat -f -c %T /memory',
      'id -u; touch /readonly-root 2>&1',
    ].join('; ');
    await node.create('files', {
      restartPolicy: 'Never',
      hostname: 'filesystem',
      volumes: [
        { name: 'config', configMap: { name: 'settings' } },
        { name: 'secret', secret: { secretName: 'settings', defaultMode: 0o400 } },
        { name: 'host', hostPath: { path: host, type: 'Directory' } },
        { name: 'shared', emptyDir: {} },
        { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
      ],
      containers: [
        {
          ...sh(script),
          securityContext: { readOnlyRootFilesystem: true },
          resources: { limits: { cpu: '500m', memory: '64Mi' } },
          env: [
            { name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'color' } } },
            { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
            { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'settings', key: 'password' } } },
            { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } },
            { name: 'GREETING', value: 'hello-$(COLOR)-$$(COLOR)' },
          ],
          volumeMounts: [
            { name: 'config', mountPath: '/config' },
            { name: 'config', mountPath: '/one', subPath: 'color' },
            { name: 'secret', mountPath: '/secret' },
            { name: 'host', mountPath: '/host' },
            { name: 'shared', mountPath: '/shared' },
            { name: 'memory', mountPath: '/memory' },
          ],
        },
      ],
    });
    await node.untilPod('files', 'ended', ({ status }) => /Succeeded|Failed/.test(status?.phase ?? ''));
    const lines = (await logs('files')).split('\n');
    assert.equal(lines[0], 'blue files hunter2 500 hello-blue-$(COLOR)');
    assert.deepEqual(lines.slice(1, 4), ['text', 'from the host', 'blue']);
    assert.equal(lines[4], '400');
    assert.ok(Number(lines[5]) >= 2);
    assert.equal(lines[6], '1');
    const text = lines.join('\n');
    assert.match(text, /search default\.svc\.cluster\.local svc\.cluster\.local cluster\.local/);
    assert.match(text, /nameserver 10\.96\.0\.10/);
    assert.match(text, /tmpfs/);
    assert.match(text, /Read-only file system/);
    await node.delete('files');
    rmSync(host, { recursive: true });
    assert.equal(
      existsSync(join(node.folder, 'kubelet/pods')) && readFileSync('/proc/mounts', 'utf8').includes(node.folder),
      false,
    );
  });

  test('probes make ready, restart, and keep from ready', async () => {
    await node.create('probed', {
      containers: [
        {
          name: 'c',
          image: helloImageName,
          readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
          livenessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
          startupProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
        },
      ],
    });
    await node.create('sick', {
      terminationGracePeriodSeconds: 1,
      containers: [
        { ...sh('sleep 3600'), livenessProbe: { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 } },
      ],
    });
    await node.create('unready', {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          ...sh('sleep 3600'),
          readinessProbe: { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 },
        },
      ],
    });
    await node.untilPod('probed', 'is ready', ({ status }) => status?.containerStatuses?.[0]?.ready === true);
    await node.untilPod(
      'sick',
      'was restarted',
      ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0,
    );
    const { status } = (await node.pod('unready'))!;
    assert.equal(status.phase, 'Running');
    assert.equal(status.containerStatuses?.[0]?.ready, false);
    const reasons = (await node.events('sick')).map(({ reason, message }) => `${reason}: ${message}`);
    assert.ok(
      reasons.some((each) => each.startsWith('Unhealthy: Liveness probe failed')),
      reasons.join('\n'),
    );
    assert.ok(reasons.includes('Killing: Container c failed liveness probe, will be restarted'));
    for (const name of ['probed', 'sick', 'unready']) await node.delete(name);
  });

  test('hooks run, a grace period ends in a kill, and last words are kept', async () => {
    const host = mkdtempSync(join(tmpdir(), 'hooks-'));
    await node.create('hooked', {
      volumes: [{ name: 'host', hostPath: { path: host } }],
      containers: [
        {
          ...sh('sleep 3600'),
          volumeMounts: [{ name: 'host', mountPath: '/host' }],
          lifecycle: {
            postStart: { exec: { command: ['touch', '/host/started'] } },
            preStop: { exec: { command: ['touch', '/host/stopping'] } },
          },
        },
      ],
    });
    await node.until('the hook ran', () => existsSync(join(host, 'started')));
    const startedMs = performance.now();
    await node.delete('hooked', 2);
    assert.ok(existsSync(join(host, 'stopping')));
    // sleep as init ignores SIGTERM, so only the kill ends it.
    assert.ok(performance.now() - startedMs >= 1500);
    await node.create('last', { restartPolicy: 'Never', containers: [sh('echo bye > /dev/termination-log; exit 2')] });
    await node.untilPhase('last', 'Failed');
    assert.equal((await node.pod('last'))!.status.containerStatuses?.[0]?.state?.terminated?.message, 'bye\n');
    await node.delete('last');
    rmSync(host, { recursive: true });
  });

  test('logs: tail, limits, timestamps, previous, follow; strangers get nothing', async () => {
    await node.create('talker', {
      containers: [sh('for i in 1 2 3 4 5; do echo line $i; done; sleep 1; echo late; exit 1')],
    });
    await node.until('five lines are there', async () => (await logs('talker')).includes('line 5'));
    assert.equal(await logs('talker', '?tailLines=2'), 'line 4\nline 5\n');
    assert.equal(await logs('talker', '?limitBytes=8'), 'line 1\nl');
    assert.match(await logs('talker', '?timestamps=true&tailLines=1'), /^\d{4}-\d\d-\d\dT\S+Z line 5\n$/);
    assert.match(await logs('talker', '?follow=true&tailLines=1'), /^line 5\nlate\n$/);
    await node.untilPod(
      'talker',
      'was restarted',
      ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0,
    );
    assert.match(await logs('talker', '?previous=true'), /^line 1\n[\s\S]*late\n$/);
    assert.equal((await get('/containerLogs/default/talker/nobody')).code, 404);
    assert.equal((await get('/containerLogs/default/talker/c?tailLines=-1')).code, 400);
    assert.equal((await get('/containerLogs/default/talker/c', 'Bearer wrong')).code, 401);
    assert.equal((await get('/healthz')).body, 'ok');
    await node.delete('talker');
  });

  test('exec, figures and cgroup limits', async () => {
    await node.create('target', {
      shareProcessNamespace: true,
      containers: [
        { ...sh('trap "exit 0" TERM; sleep 3600 & wait'), resources: { limits: { cpu: '100m', memory: '32Mi' } } },
      ],
    });
    await node.untilPhase('target', 'Running');
    assert.equal(await exec('target', ['sh', '-c', 'echo in $((6*7))']), 'in 42\n');
    // Much output right before the end arrives whole.
    assert.equal((await exec('target', ['sh', '-c', 'head -c 3000000 /dev/zero | tr "\\0" x'])).length, 3_000_000);
    // With a shared namespace the first process is the sandbox's.
    assert.match(await exec('target', ['cat', '/proc/1/cmdline']), /pause/);
    const summary = JSON.parse((await get('/stats/summary')).body) as {
      pods: { podRef: { name: string }; containers: { name: string; memory: { workingSetBytes: number } }[] }[];
    };
    const pod = summary.pods.find(({ podRef }) => podRef.name === 'target')!;
    assert.ok(pod.containers[0]!.memory.workingSetBytes > 0);
    assert.match(
      (await get('/metrics/resource')).body,
      /container_memory_working_set_bytes\{container="c",namespace="default",pod="target"\} \d+/,
    );
    const { containers } = await node.cri.runtime.listContainers({ filter: { state: { state: 'CONTAINER_RUNNING' } } });
    const { info } = await node.cri.runtime.containerStatus({ containerId: containers[0]!.id, verbose: true });
    const { pid } = JSON.parse(info['info']!) as { pid: number };
    assert.match(readFileSync(`/proc/${pid}/cgroup`, 'utf8'), /\/k8ts-test-ktest1\/(burstable\/)?pod[0-9a-f-]+\//);
    await node.delete('target');
  });

  test('a manifest on disk runs, is mirrored, and ends with its file', async () => {
    const file = join(manifests, 'still.yaml');
    const spec = { containers: [{ image: runtime.image, ...sh('trap "exit 0" TERM; sleep 3600 & wait') }] };
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'still' }, spec }));
    await node.untilPhase('still-n1', 'Running');
    const mirror = (await node.pod('still-n1'))!;
    assert.equal(mirror.metadata.annotations?.['kubernetes.io/config.source'], 'file');
    assert.ok(mirror.metadata.annotations?.['kubernetes.io/config.mirror']);
    await node.api.resource(pods).delete({ namespace: 'default', name: 'still-n1' }, { gracePeriodSeconds: 0 });
    await node.untilPod(
      'still-n1',
      'is mirrored again',
      ({ metadata, status }) => metadata.uid !== mirror.metadata.uid && status?.phase === 'Running',
    );
    const again = (await node.pod('still-n1'))!;
    assert.equal(again.status.containerStatuses?.[0]?.containerID, mirror.status.containerStatuses?.[0]?.containerID);
    rmSync(file);
    await node.until('the mirror is gone', async () => (await node.pod('still-n1')) === undefined);
    await node.until('the container is gone', async () => {
      const { items } = await node.cri.runtime.listPodSandbox({});
      return items.every(({ labels }) => labels['io.kubernetes.pod.name'] !== 'still-n1');
    });
  });

  test('changed resources reach a running container', async () => {
    await node.create('grown', {
      containers: [
        { ...sh('trap "exit 0" TERM; sleep 3600 & wait'), resources: { limits: { memory: '32Mi', cpu: '100m' } } },
      ],
    });
    await node.untilPhase('grown', 'Running');
    const id = (await node.pod('grown'))!.status.containerStatuses![0]!.containerID!.replace('containerd://', '');
    const limit = async (): Promise<string> => {
      const { info } = await node.cri.runtime.containerStatus({ containerId: id, verbose: true });
      const { pid } = JSON.parse(info['info']!) as { pid: number };
      const groups = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
      const v1 = /^\d+:memory:(.*)$/m.exec(groups)?.[1];
      const v2 = /^0::(.*)$/m.exec(groups)?.[1];
      return readFileSync(
        v1 ? `/sys/fs/cgroup/memory${v1}/memory.limit_in_bytes` : `/sys/fs/cgroup${v2}/memory.max`,
        'utf8',
      ).trim();
    };
    assert.equal(await limit(), String(32 * 2 ** 20));
    const pod = thaw<Pod>((await node.pod('grown'))!);
    pod.spec.containers[0]!.resources = { limits: { memory: '48Mi', cpu: '100m' } };
    await node.api.resource(pods).update(pod);
    await node.until('the limit is larger', async () => (await limit()) === String(48 * 2 ** 20));
    assert.equal((await node.pod('grown'))!.status.containerStatuses![0]!.restartCount, 0);
    await node.delete('grown');
  });

  test('what this node cannot give is refused in plain words', async () => {
    await node.create('userns', { hostUsers: false, containers: [sh('sleep 1')] });
    await node.until('it is said', async () =>
      (await node.events('userns')).some(({ message }) =>
        message?.includes('user namespaces (hostUsers: false) are not supported'),
      ),
    );
    await node.create('nfs', {
      volumes: [{ name: 'v', nfs: { server: 's', path: '/' } }],
      containers: [sh('sleep 1')],
    });
    await node.until('it is said', async () =>
      (await node.events('nfs')).some(({ message }) => message?.includes('volume type nfs is not supported')),
    );
    await node.delete('userns');
    await node.delete('nfs');
  });

  test('what is left of a killed containerd can be found and ended', async () => {
    const stray = await realRuntime('ktest2', '10.237.0.0/24');
    const other = await SuiteNode.open(stray);
    await other.create('orphan', { containers: [sh('sleep 3600')] });
    await other.untilPhase('orphan', 'Running');
    await other.stop();
    const paths = containerdPaths(dirname(stray.endpoint.replace('unix:', '')));
    process.kill(containerdPid(paths)!, 'SIGKILL');
    const processes = (): string[] => readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    const left = shimPids(paths, processes());
    // The sandbox's and the container's first processes, and the shim of both.
    assert.equal(left.length, 3);
    for (const pid of left) process.kill(pid, 'SIGKILL');
    await node.until('all have ended', () =>
      left.every(
        (pid) => !existsSync(`/proc/${pid}`) || readFileSync(`/proc/${pid}/status`, 'utf8').includes('State:\tZ'),
      ),
    );
    cgroups(stray.cgroupRoot).remove(stray.cgroupRoot);
    other.cri.close();
    rmSync(other.folder, { recursive: true, force: true });
    await stray.stop();
    const results = '/var/lib/cni/results';
    assert.deepEqual(
      readdirSync(results).filter((name) => name.startsWith('ktest2-')),
      [],
    );
  });

  test('an ephemeral container joins a running pod', async () => {
    await node.create('debugged', { containers: [sh('trap "exit 0" TERM; sleep 3600 & wait')] });
    await node.untilPhase('debugged', 'Running');
    const pod = thaw<Pod>((await node.pod('debugged'))!);
    const command = ['sh', '-c', 'tr "\\0" " " < /proc/1/cmdline; echo; sleep 3600'];
    pod.spec.ephemeralContainers = [{ name: 'debug', image: runtime.image, command, targetContainerName: 'c' }];
    await node.api.resource(pods).update(pod);
    await node.untilPod('debugged', 'has it running', ({ status }) =>
      Boolean(status?.ephemeralContainerStatuses?.[0]?.state?.running),
    );
    await node.until('it sees the other', async () =>
      (await get('/containerLogs/default/debugged/debug')).body.includes('trap'),
    );
    await node.delete('debugged');
  });

  test('an image is pulled from a registry with the credentials of a pull secret', async () => {
    const registry = await testRegistry(helloImage(architectureOf(process.arch)!), 'me', 's3cret');
    const image = `127.0.0.1:${registry.port}/team/hello:1`;
    const auth = (password: string) => Buffer.from(`me:${password}`).toString('base64');
    const secret = (name: string, password: string) =>
      node.api.resource(secrets).create({
        metadata: { name, namespace: 'default' },
        type: 'kubernetes.io/dockerconfigjson',
        data: {
          '.dockerconfigjson': Buffer.from(
            JSON.stringify({ auths: { [`127.0.0.1:${registry.port}`]: { auth: auth(password) } } }),
          ).toString('base64'),
        },
      } as never);
    await secret('right', 's3cret');
    await secret('wrong', 'guess');
    const containers = [{ name: 'c', image }];
    await node.create('refused', { imagePullSecrets: [{ name: 'wrong' }], containers });
    const reasonOf = (pod: Frozen<Pod>) => pod.status?.containerStatuses?.[0]?.state?.waiting?.reason;
    await node.untilPod('refused', 'is refused', (pod) => reasonOf(pod) === 'ErrImagePull');
    await node.untilPod('refused', 'is held back', (pod) => reasonOf(pod) === 'ImagePullBackOff');
    await node.create('pulled', { imagePullSecrets: [{ name: 'right' }], containers });
    await node.untilPhase('pulled', 'Running');
    const said = (await node.events('pulled')).map(({ reason }) => reason);
    assert.deepEqual(said, ['Pulling', 'Pulled', 'Created', 'Started']);
    await node.delete('refused');
    await node.delete('pulled');
    await registry.close();
  });
});

/** A registry of one image, which asks for a name and a password. */
async function testRegistry(
  spec: ImageSpec,
  name: string,
  password: string,
): Promise<{ port: number; close(): Promise<void> }> {
  const files = new Map<string, Buffer>();
  const archive = extract();
  archive.on('entry', (header, entry, next) => {
    const chunks: Buffer[] = [];
    entry.on('data', (chunk) => chunks.push(chunk as Buffer));
    entry.on('end', () => {
      files.set(header.name, Buffer.concat(chunks));
      next();
    });
  });
  archive.end(Buffer.from((await buildImage(spec)).archive));
  await once(archive, 'finish');
  const index = JSON.parse(files.get('index.json')!.toString()) as {
    manifests: { digest: string; mediaType: string }[];
  };
  const [manifest] = index.manifests;
  const wanted = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
  const server = createServer((request, response) => {
    if (request.headers.authorization !== wanted) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="test"' }).end();
      return;
    }
    const isManifest = /\/manifests\/(.*)$/.exec(request.url ?? '')?.[1];
    const digest = isManifest === undefined ? /\/blobs\/(.*)$/.exec(request.url ?? '')?.[1] : manifest!.digest;
    const content = files.get(`blobs/${(digest ?? '').replace(':', '/')}`);
    if (content === undefined) response.writeHead(request.url === '/v2/' ? 200 : 404).end();
    else
      response
        .writeHead(200, {
          'content-type': isManifest === undefined ? 'application/octet-stream' : manifest!.mediaType,
          'content-length': content.length,
          'docker-content-digest': digest!,
        })
        .end(request.method === 'HEAD' ? undefined : content);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
