// Runs the kubelet's scenarios over a runtime in memory, and what only such a one can be made to do: fail.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fakeRuntime, type FakeRuntime } from './fake-runtime.suite.ts';
import { kubeletSuite, sh, SuiteNode } from './kubelet.suite.ts';

kubeletSuite('kubelet over a fake runtime', fakeRuntime, undefined);

describe('a runtime that fails', () => {
  let runtime: FakeRuntime;
  let node: SuiteNode;
  const alive = setInterval(() => undefined, 1000);
  before(async () => {
    runtime = await fakeRuntime();
    node = await SuiteNode.open(runtime);
  });
  after(async () => {
    await node.close();
    await runtime.stop();
    clearInterval(alive);
  });

  test('a sandbox that cannot be made is tried again', async () => {
    runtime.failNext('runPodSandbox', new Error('no network'));
    await node.create('p', { containers: [sh('sleep')] });
    await node.untilPhase('p', 'Running');
    const said = (await node.events('p')).find(({ reason }) => reason === 'FailedCreatePodSandBox');
    assert.equal(said?.message, 'Failed to create pod sandbox: RunPodSandbox: no network');
    await node.delete('p');
  });

  test('a container that cannot be stopped is tried again', async () => {
    await node.create('p', { containers: [sh('sleep')] });
    await node.untilPhase('p', 'Running');
    runtime.failNext('stopContainer', new Error('busy'));
    await node.delete('p');
  });

  test('a container that cannot be made waits with its reason', async () => {
    runtime.failNext('createContainer', new Error('bad mount'));
    await node.create('p', { containers: [sh('sleep')] });
    await node.untilPod(
      'p',
      'waits',
      ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerError',
    );
    await node.untilPhase('p', 'Running');
    await node.delete('p');
  });

  test('a crash is noticed and the restart counted', async () => {
    await node.create('p', { containers: [sh('sleep')] });
    await node.untilPhase('p', 'Running');
    runtime.crash('p', 9);
    await node.untilPod('p', 'was restarted', ({ status }) => {
      const [container] = status?.containerStatuses ?? [];
      return container?.restartCount === 1 && container.state?.running !== undefined;
    });
    const { status } = (await node.pod('p'))!;
    assert.equal(status.containerStatuses?.[0]?.lastState?.terminated?.exitCode, 9);
    await node.delete('p');
  });

  test('deletion goes in order: container, sandbox, then the API object', async () => {
    await node.create('p', { containers: [sh('sleep')] });
    await node.untilPhase('p', 'Running');
    runtime.calls.length = 0;
    await node.delete('p');
    await node.until('the sandbox is removed', () => runtime.calls.includes('removePodSandbox'));
    assert.deepEqual(runtime.calls, ['stopContainer', 'stopPodSandbox', 'removeContainer', 'removePodSandbox']);
  });
});
