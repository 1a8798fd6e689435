// Owns the ClusterTrustBundle by which workloads verify the API server (signer kubernetes.io/kube-apiserver-serving).
import { createHash } from 'node:crypto';
import { clusterTrustBundles } from '../../api/generated/resources.ts';
import { isAlreadyExists, isNotFound } from '../../api/status-error.ts';
import { type Controller, type ControllerContext, watching } from '../framework/controller.ts';

const signerName = 'kubernetes.io/kube-apiserver-serving';

/** Bundles are named after their content: a new authority is another bundle. */
function bundleName(rootCaPem: string): string {
  const digest = createHash('sha256').update(rootCaPem).digest('hex').slice(0, 20);
  return `${signerName.replace('/', ':')}:${digest}`;
}

export function apiServerBundlePublisher(context: ControllerContext, rootCaPem: string): Controller {
  const cache = context.informers.informer(clusterTrustBundles, { fieldSelector: `spec.signerName=${signerName}` });
  const writer = context.client.resource(clusterTrustBundles);
  const own = { namespace: '', name: bundleName(rootCaPem) };

  async function publish(signal: AbortSignal): Promise<void> {
    const known = cache.get(own);
    if (known?.spec.trustBundle === rootCaPem) return;
    if (known) await writer.update({ ...known, spec: { ...known.spec, trustBundle: rootCaPem } }, { signal });
    else
      await writer
        .create({ metadata: { name: own.name }, spec: { signerName, trustBundle: rootCaPem } }, { signal })
        .catch((error: unknown) => {
          if (!isAlreadyExists(error)) throw error;
        });
  }

  return {
    name: 'kube-apiserver-serving-clustertrustbundle-publisher-controller',
    watches: [watching(cache, () => [own])],
    workers: 1,
    // There may be nothing to be woken by: the first look is at the start.
    run: async (_signal, wake) => wake(own),
    async reconcile(_key, signal) {
      await publish(signal);
      for (const { metadata } of cache.list())
        if (metadata.name !== own.name)
          await writer.delete({ namespace: '', name: metadata.name }, { signal }).catch((error: unknown) => {
            if (!isNotFound(error)) throw error;
          });
      return undefined;
    },
  };
}
