// Records what kube-apiserver has stored in etcd, and how it serves the same objects: the fixture of ours reading and writing its form.
//   node dist/test/interop/upstream-store/record.js https://127.0.0.1:6443 TOKEN http://127.0.0.1:2379 test/interop/upstream-store/stored.json
// Not a test: it needs upstream's kube-apiserver. Some objects of each kind are taken, whatever is there.
import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { openEtcdStore } from '../../../src/store/etcd/etcd.ts';
import { prefixRange } from '../../../src/store/store.ts';

export interface StoredObject {
  readonly key: string;
  /** Base64 of what lies in etcd. */
  readonly value: string;
  /** Where the object is served; absent for what is no object of the API. */
  readonly path?: string;
  readonly object?: object;
}

interface Kind {
  readonly name: string;
  readonly namespaced: boolean;
  readonly kind: string;
}

const perPrefix = 4;

async function main(): Promise<void> {
  const [server = '', token = '', endpoint = '', file = ''] = process.argv.slice(2);
  const get = (path: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` };
      request(`${server}${path}`, { headers, rejectUnauthorized: false }, (response) => {
        let text = '';
        response.on('data', (chunk) => (text += String(chunk)));
        response.on('end', () => resolve(response.statusCode === 200 ? JSON.parse(text) : undefined));
      })
        .on('error', reject)
        .end();
    });
  const alive = setInterval(() => undefined, 1000);
  const store = await openEtcdStore(
    { endpoints: [endpoint] },
    { clock: systemClock, log: silentLogger, random: systemRandom },
  );
  // By the kind's plural and the object's place: what is served where.
  const served = new Map<string, { readonly path: string; readonly object: object }>();
  const versions = ['/api/v1'];
  const { groups } = (await get('/apis')) as { groups: { preferredVersion: { groupVersion: string } }[] };
  for (const { preferredVersion } of groups) versions.push(`/apis/${preferredVersion.groupVersion}`);
  for (const version of versions) {
    const list = (await get(version)) as { resources: Kind[] } | undefined;
    for (const { name, namespaced, kind } of list?.resources ?? []) {
      if (name.includes('/')) continue;
      const all = (await get(`${version}/${name}`)) as
        | { apiVersion: string; items?: { metadata: { namespace?: string; name: string; uid: string } }[] }
        | undefined;
      for (const item of all?.items ?? []) {
        const { namespace, name: own, uid } = item.metadata;
        const path = namespaced ? `${version}/namespaces/${namespace}/${name}/${own}` : `${version}/${name}/${own}`;
        served.set(`${kind} ${uid}`, { path, object: (await get(path)) as object });
      }
    }
  }
  const count = new Map<string, number>();
  const items: StoredObject[] = [];
  for (const { key, value } of (await store.range(prefixRange(''))).items) {
    const [, , first = '', second = ''] = key.split('/');
    const prefix = first.includes('.') ? `${first}/${second}` : first;
    count.set(prefix, (count.get(prefix) ?? 0) + 1);
    if (count.get(prefix)! > perPrefix && prefix !== 'namespaces' && !key.includes('/default/')) continue;
    const text = Buffer.from(value).toString('latin1');
    const found = [...served].find(([name]) => text.includes(name.split(' ')[1]!));
    items.push({
      key,
      value: Buffer.from(value).toString('base64'),
      ...(found !== undefined && { path: found[1].path, object: found[1].object }),
    });
  }
  const { gitVersion } = (await get('/version')) as { gitVersion: string };
  const lines = items.map((item) => JSON.stringify(item)).join(',\n');
  writeFileSync(file, `{"version": "${gitVersion}", "items": [\n${lines}\n]}\n`);
  process.stdout.write(`${items.length} of ${[...count.values()].reduce((a, b) => a + b, 0)} keys\n`);
  await store.close();
  clearInterval(alive);
}

await main();
