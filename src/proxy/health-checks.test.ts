import assert from 'node:assert/strict';
import test from 'node:test';
import { silentLogger } from '../base/log.ts';
import { HealthChecks } from './health-checks.ts';
import { freePort } from '../testing/free-port.ts';

test('a node port tells whether the service has pods here', async () => {
  let healthy = true;
  const checks = new HealthChecks({ logger: silentLogger, host: '127.0.0.1', healthy: () => healthy });
  const port = await freePort();
  const ask = async () => {
    for (let attempt = 0; ; attempt++) {
      try {
        const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } });
        return { code: response.status, body: (await response.json()) as Record<string, unknown> };
      } catch (error) {
        if (attempt > 50) throw error;
      }
    }
  };
  try {
    checks.set([{ namespace: 'ns', name: 'svc', port, localReady: 2 }]);
    const first = await ask();
    assert.equal(first.code, 200);
    assert.deepEqual(first.body, {
      service: { namespace: 'ns', name: 'svc' },
      localEndpoints: 2,
      serviceProxyHealthy: true,
    });
    checks.set([{ namespace: 'ns', name: 'svc', port, localReady: 0 }]);
    assert.equal((await ask()).code, 503);
    checks.set([{ namespace: 'ns', name: 'svc', port, localReady: 1 }]);
    healthy = false;
    assert.equal((await ask()).code, 503);
    checks.set([]);
    await assert.rejects(fetch(`http://127.0.0.1:${port}/`));
  } finally {
    await checks.close();
  }
});
