// The sync loop on a virtual clock, with the tools played by the test.
import assert from 'node:assert/strict';
import test from 'node:test';
import { silentLogger } from '../base/log.ts';
import { metricsRegistry } from '../base/metrics.ts';
import { seededRandom } from '../base/random.ts';
import { taskGroup } from '../base/task-group.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { services } from '../api/generated/resources.ts';
import { informerFactory } from '../client/informer-factory.ts';
import { client } from '../client/rest.ts';
import { memoryApi } from '../testing/memory-api.ts';
import { kubeProxy } from './kube-proxy.ts';

test('changes that come together are one write; a failure makes it unhealthy and is tried again, later each time', async () => {
  const clock = new VirtualClock();
  const random = seededRandom(1);
  const kube = client(memoryApi({ clock, random }));
  const informers = informerFactory(kube, { clock, random, logger: silentLogger });
  const inputs: string[] = [];
  let broken = false;
  const proxy = kubeProxy(
    // In a namespace by prefix, so that nothing of the host is touched.
    { nodeName: 'me', mode: 'nftables', commandPrefix: ['in'], syncPeriodMs: 3_600_000 },
    {
      informers,
      clock,
      logger: silentLogger,
      metrics: metricsRegistry(),
      run: (_command, _args, { input = '' } = {}) => {
        inputs.push(input);
        return Promise.resolve({ code: broken ? 1 : 0, stdout: '', stderr: 'broken' });
      },
    },
  );
  const group = taskGroup();
  group.run('informers', (signal) => informers.run(signal));
  group.run('proxy', (signal) => proxy.run(signal));
  const settle = async (ms: number) => {
    for (const step of [0, ms, 0, 0]) await clock.advance(step);
  };
  const add = (name: string, clusterIP: string) =>
    kube
      .resource(services)
      .create({ metadata: { name, namespace: 'ns' }, spec: { clusterIP, ports: [{ port: 80 }] } } as never);
  try {
    await settle(1000);
    assert.equal(proxy.healthy, true);
    assert.equal(inputs.length, 1);
    await Promise.all([add('a', '10.96.0.1'), add('b', '10.96.0.2'), add('c', '10.96.0.3')]);
    await settle(1000);
    assert.equal(inputs.length, 2);
    assert.match(inputs[1]!, /10\.96\.0\.1 .*10\.96\.0\.2 .*10\.96\.0\.3 /);
    broken = true;
    await add('d', '10.96.0.4');
    await settle(100);
    assert.equal(proxy.healthy, false);
    assert.equal(inputs.length, 3);
    await settle(1000);
    assert.equal(inputs.length, 4);
    await settle(1000);
    assert.equal(inputs.length, 4);
    broken = false;
    await settle(1100);
    assert.equal(inputs.length, 5);
    assert.equal(proxy.healthy, true);
    // What the kernel holds is unknown after a failure: everything is written.
    assert.match(inputs[4]!, /^add table ip kube-proxy\ndelete table/);
    assert.match(inputs[4]!, /10\.96\.0\.4/);
  } finally {
    await group.stop();
  }
});
