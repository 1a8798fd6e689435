// The main job, whole: `k8ts up` on this host, real kubectl, real containers. Needs Linux, root and the host tools; says so when it skips.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { findHostTools, whyNoRealNode } from '../../src/kubelet/host/tools.ts';
import { eventually, RunningCluster, runProgram } from './running-cluster.ts';
import { kubectlPath } from './tools.ts';

const hello = 'examples/hello.yaml';

function whySkipped(): string | false {
  const why = whyNoRealNode({ platform: process.platform, uid: process.getuid?.() });
  if (why !== undefined) return why;
  if (kubectlPath() === undefined) return 'kubectl is shipped for linux/amd64 only';
  const { missing } = findHostTools(process.env['PATH'] ?? '');
  if (missing.length > 0) return `not installed: ${missing.map(({ name }) => name).join(', ')}`;
  return existsSync('/usr/bin/busybox') ? false : 'not installed: busybox';
}

const skip = whySkipped();
let hostBefore: Awaited<ReturnType<typeof hostState>>;
const cluster = new RunningCluster(['--node', 'real', '--port', '0']);

/** What a cluster must leave as it was: names of network namespaces, links, chains, and mounts below its directory. */
async function hostState() {
  const lines = async (file: string, ...args: string[]) => {
    const { stdout } = await runProgram(file, args);
    return stdout.split('\n').filter((line) => line !== '');
  };
  const rules = process.getuid?.() === 0 ? await lines('iptables-save') : [];
  return {
    chains: rules
      .filter((line) => /^:(KUBE|CNI)-/.test(line))
      .map((line) => line.split(' ')[0] ?? '')
      .toSorted(),
    links: (await lines('ip', '-o', 'link')).map((line) => line.split(': ')[1]?.split('@')[0] ?? '').toSorted(),
  };
}

const ctr = (...args: string[]) =>
  runProgram('ctr', ['-a', join(cluster.dataDir, 'node/containerd/containerd.sock'), '-n', 'k8s.io', ...args]);

function httpGet(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { timeout: 5000, agent: false }, (answer) => {
      let text = '';
      answer.on('data', (data: Buffer) => (text += data.toString()));
      answer.on('end', () =>
        answer.statusCode === 200 ? resolve(text) : reject(new Error(`HTTP ${answer.statusCode}`)),
      );
    }).on('error', reject);
  });
}

async function podNames(selector = 'app=hello'): Promise<string[]> {
  const names = await cluster.kubectl(
    `get pods -l ${selector} --field-selector status.phase=Running -o jsonpath={.items[*].metadata.name}`,
  );
  return names.split(' ').filter((name) => name !== '');
}

before(async () => {
  if (skip !== false) return;
  hostBefore = await hostState();
  await cluster.start();
});

after(async () => {
  if (skip !== false) return;
  await cluster.remove();
  assert.deepEqual(await hostState(), hostBefore, 'the host is as it was');
});

test('the node is Ready', { skip }, async () => {
  await cluster.kubectl('wait --for=condition=Ready node --all --timeout=60s');
  assert.match(await cluster.kubectl('get nodes'), /\bReady\b/);
});

test('hello: applied, rolled out, seen by the container runtime, answering at its ClusterIP, NodePort and name', {
  skip,
}, async () => {
  await cluster.kubectl(`apply -f ${hello}`);
  await cluster.kubectl('rollout status deployment/hello --timeout=60s');
  const names = await podNames();
  assert.equal(names.length, 3);
  const { stdout } = await ctr('containers', 'ls');
  assert.equal(stdout.split('\n').filter((line) => line.includes('k8ts.local/hello:1')).length, 3, stdout);
  const clusterIp = await cluster.kubectl('get service hello -o jsonpath={.spec.clusterIP}');
  const nodeIp = await cluster.kubectl('get nodes -o jsonpath={.items[0].status.addresses[0].address}');
  for (const url of [`http://${clusterIp}/`, `http://${nodeIp}:30080/`, 'http://127.0.0.1:30080/']) {
    const text = await eventually(url, () => httpGet(url));
    assert.match(text, /Hello from k8ts!/, url);
  }
});

test('from inside a pod, the service answers under its name', { skip }, async () => {
  const image = await importBusybox();
  await cluster.kubectl(`run shell --image=${image} --image-pull-policy=Never --restart=Always -- sleep 100000`);
  await cluster.kubectl('wait --for=condition=Ready pod/shell --timeout=60s');
  const text = await eventually('the name', () =>
    cluster.kubectl('exec shell -- wget -qO- http://hello.default.svc.cluster.local'),
  );
  assert.match(text, /Hello from k8ts!/);
});

/** A busybox image made from the host's static binary, for a pod with a shell, wget and tar. */
async function importBusybox(): Promise<string> {
  const { busyboxImage, busyboxImageName, architectureOf } = await import('../../src/kubelet/images/built-in.ts');
  const { buildImage } = await import('../../src/kubelet/images/image.ts');
  const { stdout } = await runProgram('/usr/bin/busybox', ['--list']);
  const { archive } = await buildImage(
    busyboxImage(architectureOf(process.arch)!, readFileSync('/usr/bin/busybox'), stdout.trim().split('\n')),
  );
  const file = join(cluster.directory, 'busybox.tar');
  writeFileSync(file, archive);
  const { code, stderr } = await ctr('images', 'import', file);
  assert.equal(code, 0, stderr);
  return busyboxImageName;
}

test('logs, exec, attach, cp and port-forward', { skip }, async (t) => {
  await t.test('logs', async () => {
    const result = await cluster.tryKubectl([
      'run',
      'talker',
      '--image=k8ts.local/busybox:1',
      '--image-pull-policy=Never',
      '--restart=Never',
      '--',
      'sh',
      '-c',
      'echo one; echo two; echo three',
    ]);
    assert.equal(result.code, 0, result.stderr);
    await cluster.kubectl('wait --for=jsonpath={.status.phase}=Succeeded pod/talker --timeout=60s');
    assert.equal(await cluster.kubectl('logs talker'), 'one\ntwo\nthree\n');
    assert.equal(await cluster.kubectl('logs talker --tail=1'), 'three\n');
    assert.match(await cluster.kubectl('logs talker --timestamps --tail=1'), /^\d{4}-\d\d-\d\dT\S+ three\n$/);
  });
  await t.test('logs -f ends when the container does', async () => {
    const args = [
      'run',
      'counter',
      '--image=k8ts.local/busybox:1',
      '--image-pull-policy=Never',
      '--restart=Never',
      '--',
      'sh',
      '-c',
      'for i in 1 2 3; do echo $i; sleep 0.3; done',
    ];
    assert.equal((await cluster.tryKubectl(args)).code, 0);
    await cluster
      .kubectl('wait --for=jsonpath={.status.phase}=Running pod/counter --timeout=60s')
      .catch(() => undefined);
    assert.equal(await cluster.kubectl('logs -f counter'), '1\n2\n3\n');
  });
  await t.test('exec with input, output, error and exit code', async () => {
    const piped = await cluster.tryKubectl(['exec', '-i', 'shell', '--', 'sh', '-c', 'cat; echo err >&2; exit 7'], {
      input: 'from stdin',
    });
    assert.deepEqual([piped.code, piped.stdout], [7, 'from stdin']);
    assert.match(piped.stderr, /^err\n/);
  });
  await t.test('exec over SPDY, as older clients do', async () => {
    const result = await cluster.tryKubectl(['exec', '-i', 'shell', '--', 'cat'], {
      input: 'by SPDY',
      env: { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false' },
    });
    assert.deepEqual([result.code, result.stdout], [0, 'by SPDY'], result.stderr);
  });
  await t.test('cp there and back', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'k8ts-cp-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const text = 'x'.repeat(300_000);
    writeFileSync(join(folder, 'out'), text);
    await cluster.kubectl(`cp ${folder}/out shell:/tmp/copied`);
    await cluster.kubectl(`cp shell:/tmp/copied ${folder}/back`);
    assert.equal(readFileSync(join(folder, 'back'), 'utf8'), text);
  });
  await t.test('attach gets the output of a running container', async () => {
    const args = [
      'run',
      'echoer',
      '--image=k8ts.local/busybox:1',
      '--image-pull-policy=Never',
      '--stdin',
      '--restart=Never',
      '--',
      'sh',
      '-c',
      'read line; echo got $line',
    ];
    assert.equal((await cluster.tryKubectl(args, { timeoutMs: 5000 })).code !== undefined, true);
    const state = await cluster.kubectl('get pod echoer -o jsonpath={.status.phase}');
    if (state !== 'Succeeded') {
      await cluster.kubectl('wait --for=jsonpath={.status.phase}=Running pod/echoer --timeout=30s');
      const attached = await cluster.tryKubectl(['attach', '-i', 'echoer'], { input: 'word\n', timeoutMs: 20_000 });
      assert.match(attached.stdout, /got word/, attached.stderr);
    }
  });
  await t.test('port-forward', async () => {
    const child = cluster.spawnKubectl('port-forward service/hello 0:80');
    t.after(() => child.kill());
    const port = await new Promise<string>((resolve, reject) => {
      let text = '';
      child.stdout?.on('data', (data: Buffer) => {
        text += data.toString();
        const found = /127\.0\.0\.1:(\d+)/.exec(text)?.[1];
        if (found !== undefined) resolve(found);
      });
      child.stderr?.on('data', (data: Buffer) => (text += data.toString()));
      child.once('exit', () => reject(new Error(text)));
    });
    for (let i = 0; i < 5; i++) assert.match(await httpGet(`http://127.0.0.1:${port}/`), /Hello from k8ts!/);
    child.kill();
  });
});

test('a killed container is restarted, a deleted pod replaced', { skip }, async () => {
  const [victim, other] = await podNames();
  const id = await cluster.kubectl(`get pod ${victim} -o jsonpath={.status.containerStatuses[0].containerID}`);
  await ctr('tasks', 'kill', '-s', 'SIGKILL', id.replace('containerd://', ''));
  await eventually(
    'a restart',
    async () =>
      (await cluster.kubectl(`get pod ${victim} -o jsonpath={.status.containerStatuses[0].restartCount}`)) === '1',
  );
  await cluster.kubectl(`wait --for=condition=Ready pod/${victim} --timeout=60s`);
  await cluster.kubectl(`delete pod ${other}`);
  await eventually('a replacement', async () => {
    const names = await podNames();
    return names.length === 3 && !names.includes(other!);
  });
});

test('scale, rolling update without a failed request, undo', { skip }, async () => {
  await cluster.kubectl('scale deployment/hello --replicas=2');
  await eventually('two pods', async () => (await podNames()).length === 2);
  await cluster.kubectl('scale deployment/hello --replicas=3');
  await cluster.kubectl('rollout status deployment/hello --timeout=60s');
  let answered = 0;
  const failures: string[] = [];
  let going = true;
  const load = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (going) {
        try {
          await httpGet('http://127.0.0.1:30080/');
          answered++;
        } catch (error) {
          failures.push((error as Error).message);
        }
      }
    }),
  );
  try {
    await cluster.kubectl('set env deployment/hello VERSION=2');
    await cluster.kubectl('rollout status deployment/hello --timeout=120s');
    await cluster.kubectl('rollout undo deployment/hello');
    await cluster.kubectl('rollout status deployment/hello --timeout=120s');
  } finally {
    going = false;
    await load;
  }
  assert.deepEqual(failures, [], `${answered} answered`);
  assert.ok(answered > 50);
  assert.equal(await cluster.kubectl('get deployment hello -o jsonpath={.spec.template.spec.containers[0].env}'), '');
});

test('a failing probe restarts its container and keeps the pod out of the service', { skip }, async () => {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'sick', labels: { app: 'sick' } },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'c',
          image: 'k8ts.local/busybox:1',
          imagePullPolicy: 'Never',
          command: ['sleep', '100000'],
          livenessProbe: { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 },
          readinessProbe: { httpGet: { path: '/', port: 1 }, periodSeconds: 1 },
        },
      ],
    },
  };
  await cluster.kubectl('create -f -', { input: JSON.stringify(pod) });
  await eventually(
    'a restart',
    async () =>
      Number(await cluster.kubectl('get pod sick -o jsonpath={.status.containerStatuses[0].restartCount}')) >= 1,
  );
  assert.equal(await cluster.kubectl('get pod sick -o jsonpath={.status.containerStatuses[0].ready}'), 'false');
  const events = await eventually('events', async () => {
    const text = await cluster.kubectl(
      'get events --field-selector involvedObject.name=sick -o jsonpath={.items[*].reason}',
    );
    return text.includes('Unhealthy') && text.includes('Killing') ? text : undefined;
  });
  assert.match(events, /Unhealthy/);
  await cluster.kubectl('delete pod sick');
});

test('a Job completes', { skip }, async () => {
  await cluster
    .kubectl('create job sum --image=k8ts.local/busybox:1 -- true')
    .catch((error: unknown) => assert.fail(String(error)));
  await cluster.kubectl('wait --for=condition=Complete job/sum --timeout=60s');
});

test('after kill -9 nothing acknowledged is lost and containers are taken over, not restarted', { skip }, async () => {
  // Pods of earlier tests may still be on their way out: whoever is killed in the midst of that leaves the rest of it.
  await eventually('nothing is being deleted', async () => {
    const leaving = await cluster.kubectl('get pods -A -o jsonpath={.items[*].metadata.deletionTimestamp}');
    return leaving === '';
  });
  const before = await cluster.kubectl(
    'get pods -l app=hello -o jsonpath={.items[*].status.containerStatuses[0].containerID}',
  );
  await cluster.kubectl('create configmap kept --from-literal=a=b');
  await cluster.end('SIGKILL');
  await httpGet('http://127.0.0.1:30080/');
  await cluster.start();
  assert.equal(await cluster.kubectl('get configmap kept -o jsonpath={.data.a}'), 'b');
  await cluster.kubectl('wait --for=condition=Ready node --all --timeout=60s');
  await cluster.kubectl('rollout status deployment/hello --timeout=60s');
  const now = await cluster.kubectl(
    'get pods -l app=hello -o jsonpath={.items[*].status.containerStatuses[0].containerID}',
  );
  assert.deepEqual(now.split(' ').toSorted(), before.split(' ').toSorted());
  assert.match(await cluster.kubectl('exec shell -- wget -qO- http://hello'), /Hello from k8ts!/);
});

test('after Ctrl-C nothing runs; started again it continues with objects and addresses', { skip }, async () => {
  const serviceBefore = await cluster.kubectl('get service hello -o jsonpath={.spec.clusterIP}');
  assert.equal(await cluster.end('SIGINT'), 0, cluster.output);
  const { stdout } = await runProgram('pgrep', ['-f', cluster.dataDir]);
  assert.equal(stdout, '', 'no process is left');
  await cluster.start();
  assert.equal(await cluster.kubectl('get service hello -o jsonpath={.spec.clusterIP}'), serviceBefore);
  await cluster.kubectl('rollout status deployment/hello --timeout=90s');
  assert.match(await eventually('the service', () => httpGet('http://127.0.0.1:30080/')), /Hello from k8ts!/);
});

test('drain evicts, uncordon takes back', { skip }, async () => {
  const node = await cluster.kubectl('get nodes -o jsonpath={.items[0].metadata.name}');
  await cluster.kubectl(`drain ${node} --ignore-daemonsets --delete-emptydir-data --force --timeout=90s`);
  assert.match(await cluster.kubectl('get nodes'), /SchedulingDisabled/);
  await cluster.kubectl(`uncordon ${node}`);
  await cluster.kubectl('rollout status deployment/hello --timeout=90s');
});

test('delete -f leaves nothing of it', { skip }, async () => {
  await cluster.kubectl(`delete -f ${hello} --wait=true --timeout=90s`);
  await eventually('no pods', async () => (await cluster.kubectl('get pods -l app=hello -o name')) === '');
  await eventually('no containers', async () => !(await ctr('containers', 'ls')).stdout.includes('k8ts.local/hello:1'));
  await eventually('no rules', async () => !(await runProgram('iptables-save', [])).stdout.includes('default/hello'));
});

for (const [what, input, says] of [
  ['not YAML', 'a: [', /error/],
  ['an unknown kind', 'apiVersion: v1\nkind: Nothing\nmetadata: {name: x}', /no matches for kind/],
  [
    'an invalid field',
    'apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: []}',
    /spec\.containers: Required value/,
  ],
  ['an unknown field', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndatum: {}', /unknown field "datum"/],
] as const) {
  test(`a manifest that is ${what} gets a clear error`, { skip }, async () => {
    const result = await cluster.tryKubectl(['apply', '-f', '-'], { input });
    assert.equal(result.code, 1);
    assert.match(result.stderr, says);
  });
}
