// Owns who a kubelet is to the API server: its kubeconfig, the certificate it asks for at its first start (TLS bootstrap), and rotation.
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { dump } from 'js-yaml';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { resolveContext, transportFromKubeconfig } from '../../client/credentials.ts';
import type { HttpTransport } from '../../client/http-transport.ts';
import { KubeconfigError, kubeconfigOf, loadKubeconfig } from '../../client/kubeconfig.ts';
import { client } from '../../client/rest.ts';
import { keepCertificate, type NodeCertificate, requestCertificate } from '../../kubelet/node/certificates.ts';
import { replaceFile } from '../data-directory.ts';
import { UserError } from '../user-error.ts';
import type { AloneDeps } from './alone.ts';

export interface IdentityFlags {
  readonly kubeconfig: string | undefined;
  readonly bootstrapKubeconfig: string | undefined;
  readonly certDir: string;
  readonly rotate: boolean;
  readonly nodeName: string;
}

const deps = { clock: systemClock, random: systemRandom };

/** Certificate and key in one file, as kubeadm's kubeconfigs name it. */
const currentFile = (certDir: string) => resolve(join(certDir, 'kubelet-client-current.pem'));

/** With a usable kubeconfig there is nothing to ask for; else asks with the bootstrap identity, and writes what was got. */
export async function bootstrap(flags: IdentityFlags, { logger, signal, ready }: AloneDeps): Promise<void> {
  const { kubeconfig, bootstrapKubeconfig, certDir, nodeName } = flags;
  if (bootstrapKubeconfig === undefined || (await isUsable(kubeconfig))) return;
  if (kubeconfig === undefined)
    throw new UserError('--bootstrap-kubeconfig needs --kubeconfig', 'name the file that the kubelet shall write');
  ready(`asking for a certificate for node ${nodeName}`);
  const config = await told(() => loadKubeconfig([bootstrapKubeconfig]));
  const transport = await told(() => transportFromKubeconfig(config, { clock: systemClock, userAgent: 'kubelet' }));
  try {
    const wanted = { purpose: 'client' } as const;
    const got = await requestCertificate(nodeName, wanted, { ...deps, client: client(transport), logger }, signal);
    keep(certDir, got);
  } finally {
    transport.close();
  }
  const { cluster } = resolveContext(config);
  const file = currentFile(certDir);
  const entry = { name: 'default', cluster, user: { 'client-certificate': file, 'client-key': file } };
  replaceFile(kubeconfig, dump(kubeconfigOf(entry)));
}

/** False for a kubeconfig that is not there, and for one whose certificate is over: the node may ask again. */
async function isUsable(path: string | undefined): Promise<boolean> {
  if (path === undefined || !existsSync(path)) return false;
  const { user } = await told(async () => resolveContext(await loadKubeconfig([path])));
  const file = user['client-certificate'];
  if (file === undefined) return true;
  return existsSync(file) && Date.parse(new X509Certificate(readFileSync(file)).validTo) > systemClock.now();
}

function keep(certDir: string, { certificate, key }: NodeCertificate): void {
  mkdirSync(certDir, { recursive: true, mode: 0o755 });
  replaceFile(currentFile(certDir), `${certificate.trimEnd()}\n${key.trimEnd()}\n`);
}

/** A transport that goes over to each new certificate; old connections end, and their watches begin anew on the new one. */
export function rotatingTransport(first: HttpTransport): HttpTransport & { replace(next: HttpTransport): void } {
  let current = first;
  return {
    call: (request) => current.call(request),
    watch: (request) => current.watch(request),
    close: () => current.close(),
    replace(next) {
      const old = current;
      current = next;
      // Writes under way get their answer.
      systemClock.after(5000, () => old.close());
    },
  };
}

/** Renews the client certificate of the kubeconfig in time, until the signal aborts. Without such a file there is nothing to renew. */
export async function rotate(
  flags: IdentityFlags,
  transport: ReturnType<typeof rotatingTransport>,
  { logger, signal }: AloneDeps,
): Promise<void> {
  const file = currentFile(flags.certDir);
  if (!flags.rotate || flags.kubeconfig === undefined || !existsSync(file)) return;
  const text = readFileSync(file, 'utf8');
  const present = { certificate: text, key: text };
  const renewed = async (next: NodeCertificate): Promise<void> => {
    keep(flags.certDir, next);
    const config = await loadKubeconfig([flags.kubeconfig!]);
    transport.replace(await transportFromKubeconfig(config, { clock: systemClock, userAgent: 'kubelet' }));
    logger.info('the node has a new client certificate', { file });
  };
  await keepCertificate(
    flags.nodeName,
    { purpose: 'client' },
    present,
    { ...deps, client: client(transport), logger },
    (next) => void renewed(next).catch((error: unknown) => logger.error('a new certificate cannot be used', { error })),
    signal,
  );
}

async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof KubeconfigError) throw new UserError(error.message, 'correct the kubeconfig');
    throw error;
  }
}
