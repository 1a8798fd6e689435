// What kubectl apply takes away: pruning by label with an allowlist, and ApplySets (KEP-3659), on built-in and custom kinds.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { KubectlCluster } from './kubectl-cluster.ts';
import { kubectlPath } from './tools.ts';

const skip = kubectlPath() === undefined ? 'kubectl is shipped for linux/amd64 only' : false;

const configMap = (name: string, value = 'x', label = 'team: a'): string => `apiVersion: v1
kind: ConfigMap
metadata:
  name: ${name}
  labels: { ${label} }
data: { value: ${value} }
`;
const secret = (name: string): string => `apiVersion: v1
kind: Secret
metadata:
  name: ${name}
  labels: { team: a }
`;
const widget = (name: string): string => `apiVersion: example.com/v1
kind: Widget
metadata:
  name: ${name}
  labels: { team: a }
spec: { size: 1 }
`;
const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { plural: widgets, kind: Widget }
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: { spec: { type: object, properties: { size: { type: integer } } } }
`;
const all = (...documents: string[]): string => documents.join('---\n');

describe('kubectl apply takes away what is no longer said', { skip }, () => {
  const harness = new KubectlCluster();
  before(async () => {
    await harness.start({ node: 'none' });
    await harness.run(`apply -f ${harness.file('definition.yaml', definition)}`);
    await harness.run('wait --for=condition=Established crd/widgets.example.com --timeout=30s');
  });
  after(() => harness.stop());

  const apply = (flags: string, text: string, env: Record<string, string> = {}): Promise<string> =>
    harness.run(`apply ${flags} -f ${harness.file('objects.yaml', text)}`, { env });
  const names = async (kind: string, namespace: string): Promise<string> =>
    (await harness.run(`get ${kind} -n ${namespace} -l team=a -o name`)).trim().split('\n').sort().join(' ');

  it('by label, among the kinds of the allowlist', async () => {
    await harness.run('create namespace labels');
    await harness.run(`create configmap kept -n labels`);
    await harness.run(`label configmap kept team=a -n labels`);
    const flags =
      '-n labels --prune -l team=a --prune-allowlist=core/v1/ConfigMap --prune-allowlist=example.com/v1/Widget';
    await apply(flags, all(configMap('one'), configMap('two'), secret('s'), widget('w')));
    const said = await apply(flags, all(configMap('one', 'changed')));
    assert.match(said, /configmap\/one configured/);
    assert.match(said, /configmap\/two pruned/);
    assert.match(said, /widget\.example\.com\/w pruned/);
    // What apply did not make stays, and so do kinds that are not on the list.
    assert.equal(await names('configmap', 'labels'), 'configmap/kept configmap/one');
    assert.equal(await names('secret', 'labels'), 'secret/s');
    assert.equal(await names('widgets', 'labels'), '');
  });

  it('as a dry run tells, without doing it', async () => {
    const flags = '-n labels --prune -l team=a --prune-allowlist=core/v1/ConfigMap';
    assert.match(
      await apply(`${flags} --dry-run=server`, configMap('three')),
      /configmap\/one pruned \(server dry run\)/,
    );
    assert.equal(await names('configmap', 'labels'), 'configmap/kept configmap/one');
  });

  for (const [what, parent, show] of [
    ['a Secret', 'set', 'secret/set'],
    ['a ConfigMap', 'configmaps/set', 'configmap/set'],
  ] as const)
    it(`of an ApplySet whose parent is ${what}`, async () => {
      const namespace = `sets-${show.split('/')[0]}`;
      const env = { KUBECTL_APPLYSET: 'true' };
      await harness.run(`create namespace ${namespace}`);
      const flags = `-n ${namespace} --prune --applyset=${parent}`;
      await apply(flags, all(configMap('one'), secret('s'), widget('w')), env);
      const annotation = await harness.run(
        `get ${show} -n ${namespace} -o jsonpath={.metadata.annotations.applyset\\.kubernetes\\.io/contains-group-kinds}`,
      );
      assert.equal(annotation, 'ConfigMap,Secret,Widget.example.com');
      const id = await harness.run(
        `get ${show} -n ${namespace} -o jsonpath={.metadata.labels.applyset\\.kubernetes\\.io/id}`,
      );
      assert.match(id, /^applyset-.+-v1$/);
      const members = await harness.run(
        `get configmap,secret,widgets -n ${namespace} -l applyset.kubernetes.io/part-of=${id} -o name`,
      );
      assert.equal(members.trim().split('\n').length, 3);
      const said = await apply(flags, configMap('two'), env);
      for (const gone of ['configmap/one', 'secret/s', 'widget.example.com/w'])
        assert.ok(said.includes(`${gone} pruned`), said);
      assert.equal(await names('configmap,secret,widgets', namespace), 'configmap/two');
    });

  it('of an ApplySet with a custom parent, and not of another’s', async () => {
    const env = { KUBECTL_APPLYSET: 'true' };
    await harness.run('create namespace sets-custom');
    await harness.run('label crd widgets.example.com applyset.kubernetes.io/is-parent-type=true');
    // Parents of custom kinds are made by their users, with the identity that the KEP derives from their names.
    const hash = createHash('sha256').update('parent.sets-custom.Widget.example.com').digest('base64url');
    const parent = widget('parent').replace(
      'labels: { team: a }',
      `labels: { applyset.kubernetes.io/id: applyset-${hash}-v1 }\n  annotations: { applyset.kubernetes.io/tooling: kubectl/v1.35, applyset.kubernetes.io/contains-group-kinds: '' }`,
    );
    await harness.run(`apply -n sets-custom --server-side -f ${harness.file('parent.yaml', parent)}`);
    const flags = '-n sets-custom --prune --applyset=widgets.example.com/parent --server-side';
    await apply(flags, all(configMap('one'), configMap('two')), env);
    await apply(flags, configMap('two'), env);
    assert.equal(await names('configmap', 'sets-custom'), 'configmap/two');
    const other = '-n sets-custom --prune --applyset=other';
    await apply(other, configMap('three'), env);
    await apply(other, configMap('four'), env);
    assert.equal(await names('configmap', 'sets-custom'), 'configmap/four configmap/two');
  });
});
