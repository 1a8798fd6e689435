// What people do with kubectl and helm all day, against simulated nodes: every command works as it does on any cluster. One suite for
// all their versions.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { eventually, type Output, RunningCluster, runProgram } from './running-cluster.ts';
import type { Clients } from './tools.ts';

/** Each command with what its output must show; they build on each other. */
const commands: readonly (readonly [string, RegExp])[] = [
  ['version', /Server Version: v1\.37/],
  ['cluster-info', /control plane.* is running at https:/],
  ['api-versions', /^apps\/v1$/m],
  ['api-resources --verbs=list -o name', /^deployments\.apps$/m],
  ['get nodes -o wide', /node-0 +Ready/],
  ['describe node node-0', /Allocatable:/],
  ['create namespace team', /created/],
  ['create deployment web --image=nginx --replicas=2 -n team', /created/],
  ['rollout status deployment/web -n team --timeout=60s', /successfully rolled out/],
  ['get all -n team', /replicaset\.apps\/web-/],
  ['get pods -n team --sort-by=.metadata.name -L app --show-labels', /pod-template-hash/],
  ['describe deployment web -n team', /NewReplicaSet/],
  ['describe pod -l app=web -n team', /Scheduled/],
  ['expose deployment web --port=80 -n team', /exposed/],
  ['describe service web -n team', /Endpoints: +\d/],
  ['label deployment web tier=front -n team', /labeled/],
  ['annotate deployment web note=x -n team', /annotated/],
  ['set image deployment/web nginx=nginx:2 -n team', /image updated/],
  ['rollout status deployment/web -n team --timeout=60s', /successfully rolled out/],
  ['rollout history deployment/web -n team', /^2 /m],
  ['rollout undo deployment/web -n team', /rolled back/],
  ['rollout restart deployment/web -n team', /restarted/],
  ['rollout status deployment/web -n team --timeout=60s', /successfully rolled out/],
  ['scale deployment/web --replicas=4 -n team', /scaled/],
  ['wait --for=jsonpath={.status.readyReplicas}=4 deployment/web -n team --timeout=60s', /condition met/],
  ['autoscale deployment/web --min=1 --max=5 --cpu=50% -n team', /autoscaled/],
  ['patch deployment web -n team --type=json -p [{"op":"replace","path":"/spec/replicas","value":3}]', /patched/],
  ['patch deployment web -n team --type=merge -p {"spec":{"replicas":2}}', /patched/],
  ['patch deployment web -n team -p {"spec":{"replicas":3}}', /patched/],
  ['get deployment web -n team -o jsonpath={.spec.replicas}', /^3$/],
  ['get deployment web -n team -o go-template={{.metadata.name}}', /^web$/],
  ['get deployment web -n team -o custom-columns=N:.metadata.name,R:.spec.replicas', /web +3/],
  ['get events -n team', /ScalingReplicaSet/],
  ['events -n team --for deployment/web', /ScalingReplicaSet/],
  ['create configmap settings --from-literal=a=b -n team', /created/],
  ['create secret generic hidden --from-literal=p=s -n team', /created/],
  ['create job once --image=busybox -n team', /created/],
  ['wait --for=condition=Complete job/once -n team --timeout=60s', /condition met/],
  ['create cronjob often --image=busybox --schedule=*/5_*_*_*_* -n team', /created/],
  ['create serviceaccount robot -n team', /created/],
  ['create token robot -n team', /^ey/],
  ['create role reader --verb=get,list --resource=pods -n team', /created/],
  ['create rolebinding reader --role=reader --serviceaccount=team:robot -n team', /created/],
  ['auth can-i list pods -n team --as=system:serviceaccount:team:robot', /yes/],
  ['auth whoami', /kubernetes-admin/],
  ['create quota limit --hard=pods=20 -n team', /created/],
  ['create poddisruptionbudget keep --selector=app=web --min-available=1 -n team', /created/],
  ['create ingress front --rule=example.com/*=web:80 -n team', /created/],
  ['explain deployment.spec.strategy', /rollingUpdate/],
  ['explain pods --recursive', /containerPort/],
  ['taint node node-1 a=b:NoSchedule', /tainted/],
  ['cordon node-2', /cordoned/],
  ['uncordon node-2', /uncordoned/],
  ['drain node-2 --ignore-daemonsets --force --timeout=60s', /drained/],
  ['get --raw /readyz?verbose', /readyz check passed/],
  ['get --raw /metrics', /apiserver_request_total/],
  ['delete deployment web -n team', /deleted/],
  ['delete namespace team --timeout=60s', /deleted/],
];

const chart: Readonly<Record<string, string>> = {
  'Chart.yaml': 'apiVersion: v2\nname: demo\nversion: 0.1.0\n',
  'values.yaml': 'replicas: 1\n',
  'templates/deployment.yaml': `apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}, labels: {app: demo}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: demo}}
  template:
    metadata: {labels: {app: demo}}
    spec: {containers: [{name: c, image: nginx}]}
`,
  'templates/service.yaml': `apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}}
spec: {selector: {app: demo}, ports: [{port: 80}]}
`,
  'templates/hook.yaml': `apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-before
  annotations: {"helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-delete-policy": before-hook-creation}
spec:
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}
`,
};

/** What kubectl before 1.34 calls otherwise. */
export const wordsBefore34: Readonly<Record<string, string>> = {
  'autoscale deployment/web --min=1 --max=5 --cpu=50% -n team':
    'autoscale deployment/web --min=1 --max=5 --cpu-percent=50 -n team',
};

/** Older versions write colours into pipes, too. */
const colour = new RegExp(`${String.fromCodePoint(27)}\\[[\\d;]*m`, 'g');

export interface KubectlSuiteOptions {
  /** Commands in other words than the newest version's, by those. */
  readonly instead?: Readonly<Record<string, string>>;
}

/** `clients` undefined: they are not shipped for this platform. */
export function kubectlSuite(version: string, clients: Clients | undefined, options: KubectlSuiteOptions = {}): void {
  const skip = clients === undefined ? 'kubectl and helm are shipped for linux/amd64 only' : false;
  describe(`kubectl ${version}`, { skip }, () => {
    if (clients === undefined) return;
    const cluster = new RunningCluster(['--node', 'simulated', '--nodes', '3', '--port', '0'], clients.kubectl);
    before(() => cluster.start());
    after(() => cluster.remove());

    test('kubectl, one command after the other', async (t) => {
      for (const [newest, says] of commands) {
        const command = options.instead?.[newest] ?? newest;
        await t.test(command, async () => {
          const args = command
            .split(' ')
            .map((word) => (word.startsWith('--schedule=') ? word.replaceAll('_', ' ') : word));
          const run = async (): Promise<string> => {
            const { code, stdout, stderr } = await cluster.tryKubectl(args);
            assert.equal(code, 0, stderr || stdout);
            return stdout.replaceAll(colour, '');
          };
          // Controllers need a moment until there is something to see.
          if (!/^(get|describe|events) /.test(command)) assert.match(await run(), says);
          else await eventually(command, async () => says.test(await run()), 15_000);
        });
      }
    });

    test('auth can-i fails with no, and says so', async () => {
      const { code, stdout } = await cluster.tryKubectl([
        'auth',
        'can-i',
        'delete',
        'nodes',
        '--as=system:serviceaccount:default:default',
      ]);
      assert.deepEqual([code, stdout.trim()], [1, 'no']);
      assert.match(await cluster.kubectl('auth can-i --list'), /\*\.\*/);
    });

    test('apply: create, diff, change, prune of a field, server side with a conflict', async () => {
      const manifest = (data: object) =>
        JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied' }, data });
      assert.match(await cluster.kubectl('apply -f -', { input: manifest({ a: '1', b: '2' }) }), /created/);
      assert.match(await cluster.kubectl('apply -f -', { input: manifest({ a: '1', b: '2' }) }), /unchanged/);
      const difference = await cluster.tryKubectl(['diff', '-f', '-'], { input: manifest({ a: '3' }) });
      assert.equal(difference.code, 1, difference.stderr);
      assert.match(difference.stdout, /\+ +a: "3"/);
      assert.match(await cluster.kubectl('apply -f -', { input: manifest({ a: '3' }) }), /configured/);
      assert.equal(await cluster.kubectl('get configmap applied -o jsonpath={.data}'), '{"a":"3"}');
      const conflict = await cluster.tryKubectl(['apply', '--server-side', '--field-manager=other', '-f', '-'], {
        input: manifest({ a: '4' }),
      });
      assert.match(conflict.stderr, /conflict with "kubectl-client-side-apply"/);
      assert.match(
        await cluster.kubectl('apply --server-side --force-conflicts --field-manager=other -f -', {
          input: manifest({ a: '4' }),
        }),
        /serverside-applied/,
      );
    });

    test('edit', async () => {
      const editor = join(cluster.directory, 'editor');
      writeFileSync(editor, '#!/bin/sh\nsed -i "s/^  x: .*/  x: edited/" "$1"\n');
      chmodSync(editor, 0o755);
      await cluster.kubectl('create configmap edited --from-literal=x=y');
      const { code, stderr } = await cluster.tryKubectl(['edit', 'configmap', 'edited'], {
        env: { KUBE_EDITOR: editor },
      });
      assert.equal(code, 0, stderr);
      assert.equal(await cluster.kubectl('get configmap edited -o jsonpath={.data.x}'), 'edited');
    });

    test('get --watch shows changes', async (t) => {
      const child = cluster.spawnKubectl('get configmaps --watch -o name');
      t.after(() => child.kill());
      let text = '';
      child.stdout?.on('data', (data: Buffer) => (text += data.toString()));
      await eventually('the first list', async () => text.includes('kube-root-ca.crt'));
      await cluster.kubectl('create configmap watched');
      await eventually('the change', async () => text.includes('configmap/watched'));
    });

    test('helm: install with a hook, upgrade, rollback, uninstall', async () => {
      const folder = join(cluster.directory, 'demo');
      mkdirSync(join(folder, 'templates'), { recursive: true });
      for (const [name, text] of Object.entries(chart)) writeFileSync(join(folder, name), text);
      const helm = async (...args: string[]): Promise<Output> => {
        const result = await runProgram(clients.helm, args, {
          env: { KUBECONFIG: cluster.kubeconfig, HOME: cluster.directory },
        });
        assert.equal(result.code, 0, `helm ${args.join(' ')}: ${result.stderr}`);
        return result;
      };
      const replicas = () => cluster.kubectl('get deployment shop -o jsonpath={.spec.replicas}');
      await helm('install', 'shop', folder, '--wait', '--timeout', '60s');
      assert.equal(await cluster.kubectl('get job shop-before -o jsonpath={.status.succeeded}'), '1');
      await helm('upgrade', 'shop', folder, '--set', 'replicas=3', '--wait', '--timeout', '60s');
      assert.equal(await replicas(), '3');
      await helm('rollback', 'shop', '1', '--wait', '--timeout', '60s');
      assert.equal(await replicas(), '1');
      assert.match((await helm('history', 'shop')).stdout, /Rollback to 1/);
      await helm('uninstall', 'shop', '--wait', '--timeout', '60s');
      assert.equal(await cluster.kubectl('get deployments -o name'), '');
    });

    test('status, logs and a second terminal', async () => {
      const status = await cluster.k8ts('status', '--data-dir', cluster.dataDir, '-o', 'json');
      const found = JSON.parse(status.stdout) as { ready: boolean; nodes: { total: number } };
      assert.deepEqual([status.code, found.ready, found.nodes.total], [0, true, 3]);
      assert.match((await cluster.k8ts('logs', '--data-dir', cluster.dataDir)).stdout, /kube-apiserver/);
      assert.match(
        (await cluster.k8ts('logs', 'kube-apiserver', '--tail', '5', '--data-dir', cluster.dataDir)).stdout,
        /"level"/,
      );
    });
  });
}
