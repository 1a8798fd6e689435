// The operator as a program: `node main.js`, with the cluster of KUBECONFIG.
import { homedir } from 'node:os';
import { join } from 'node:path';
import { client, loadKubeconfig, runOperator, systemClock, transportFromKubeconfig } from 'k8ts';
import { websiteController } from './operator.ts';

const namespace = process.env['OPERATOR_NAMESPACE'] ?? 'default';
const kubeconfig = process.env['KUBECONFIG'] ?? join(homedir(), '.kube/config');

const abort = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => abort.abort());

const transport = await transportFromKubeconfig(await loadKubeconfig(kubeconfig.split(':')), {
  clock: systemClock,
  userAgent: 'website-operator',
});
try {
  await runOperator(
    { name: 'website-operator', client: client(transport), lease: { namespace, name: 'website-operator' } },
    (context) => [websiteController(context, { namespace, name: 'website-hosts' })],
    abort.signal,
  );
} finally {
  transport.close();
}
