// Owns the port on which a component without an API tells how it is: health, metrics, version, for whom the API server lets in.
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { taskGroup } from '../../base/task-group.ts';
import type { FlagTable, Values } from '../../cli/flags.ts';
import { delegatedAccess } from '../../metrics-server/access.ts';
import { Authorities, clientCertificates } from '../../server/authn/client-certificate.ts';
import { everywhere, healthPaths } from '../../server/health.ts';
import { httpTransport } from '../../server/http/transport.ts';
import { exactPaths, json, pathsStage, plainText } from '../../server/paths.ts';
import { pipeline } from '../../server/pipeline.ts';
import { authenticateStage } from '../../server/stages/authenticate.ts';
import { authorizeStage, exceptAt, isAmong } from '../../server/stages/authorize.ts';
import { type HttpListener, httpListener } from '../../wire/http-listener.ts';
import type { ComponentDeps } from '../components/component.ts';
import { UserError } from '../user-error.ts';
import { version } from '../version.ts';
import { textOf } from './alone.ts';
import { ownServingCertificate } from './serving-files.ts';

const published = 'it is taken from what the API server publishes in extension-apiserver-authentication';
const asked = 'the user of --kubeconfig asks';

export const pagesFlags = {
  'authentication-kubeconfig': { type: 'text', help: 'who asks whose a token is', ignored: asked },
  'authentication-skip-lookup': {
    type: 'switch',
    help: 'do not look up whom to trust',
    ignored: 'it is looked up in the background and never waited for',
  },
  'authentication-tolerate-lookup-failure': {
    type: 'switch',
    help: 'start without knowing whom to trust',
    ignored: 'it is looked up in the background and never waited for',
  },
  'authorization-always-allow-paths': {
    type: 'list',
    help: 'what anybody may read',
    default: '/healthz,/readyz,/livez',
  },
  'authorization-kubeconfig': { type: 'text', help: 'who asks what somebody may do', ignored: asked },
  'bind-address': { type: 'text', help: 'address of health and metrics', default: '0.0.0.0' },
  'cert-dir': { type: 'text', help: 'where the serving certificate is kept when none is given; else in memory' },
  'client-ca-file': { type: 'text', help: 'authorities of client certificates, beside those of the API server' },
  'requestheader-allowed-names': { type: 'list', help: 'common names of front proxies', ignored: published },
  'requestheader-client-ca-file': { type: 'text', help: 'authority of front proxies', ignored: published },
  'requestheader-extra-headers-prefix': { type: 'list', help: 'headers with extra fields', ignored: published },
  'requestheader-group-headers': { type: 'list', help: 'headers with groups', ignored: published },
  'requestheader-uid-headers': { type: 'list', help: 'headers with the uid', ignored: published },
  'requestheader-username-headers': { type: 'list', help: 'headers with the user', ignored: published },
  'secure-port': {
    type: 'number',
    help: "port of health and metrics; 0 for none (default: the component's usual one)",
  },
  'tls-cert-file': { type: 'text', help: 'serving certificate' },
  'tls-private-key-file': { type: 'text', help: 'its key' },
} as const satisfies FlagTable;

export type PagesFlags = Values<typeof pagesFlags>;

/**
 * Runs until the signal aborts. `usualPort` is tried when no port was asked for; when it is taken that is said, and there are no
 * pages.
 */
export async function runComponentPages(
  flags: PagesFlags,
  usualPort: number,
  deps: ComponentDeps,
  signal: AbortSignal,
): Promise<void> {
  const port = flags['secure-port'] ?? usualPort;
  if (port === 0) return;
  const access = delegatedAccess({
    client: deps.client,
    clock: systemClock,
    certificateClock: systemClock,
    log: deps.logger,
  });
  const clientCa = textOf(flags['client-ca-file']);
  const isOpen = isAmong(new Set(flags['authorization-always-allow-paths']));
  const line = pipeline(
    [
      authenticateStage({
        authenticators: [
          ...(clientCa === undefined ? [] : [clientCertificates(new Authorities(clientCa), systemClock)]),
          ...access.authenticators,
        ],
        anonymous: { allowedAt: isOpen },
      }),
      exceptAt(isOpen, authorizeStage(access.authorizers)),
      pathsStage([
        healthPaths([everywhere('ping', () => undefined)]),
        exactPaths({ '/metrics': () => plainText(deps.metrics.text()), '/version': () => json(version) }),
      ]),
    ],
    deps.logger,
  );
  const transport = httpTransport(line, systemClock, systemRandom);
  const listener = await listen(flags, port, (exchange) => transport.serve(exchange), deps);
  if (listener === undefined) return;
  const tasks = taskGroup(signal);
  tasks.run('trust', async (inner) => {
    await access.load(inner);
    await access.run(inner);
  });
  try {
    await tasks.done;
  } finally {
    transport.turnAway();
    await transport.endLong(0);
    await listener.close();
  }
}

/** Runs the component beside its pages. Rejects with what ended either of them. */
export async function withPages(
  component: (signal: AbortSignal) => Promise<void>,
  pages: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const group = taskGroup(signal);
  group.run('pages', pages);
  group.run('component', component);
  try {
    await group.done;
  } catch (error) {
    throw error instanceof Error && error.cause instanceof Error ? error.cause : error;
  }
}

async function listen(
  flags: PagesFlags,
  port: number,
  onExchange: Parameters<typeof httpListener>[0]['onExchange'],
  { logger }: ComponentDeps,
): Promise<HttpListener | undefined> {
  const { certificate, key } = await ownServingCertificate(flags);
  try {
    return await httpListener({ host: flags['bind-address']!, port, certificate, key, clock: systemClock, onExchange });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    if (flags['secure-port'] !== undefined)
      throw new UserError(`port ${port} is taken`, 'choose another --secure-port, or 0 for none');
    logger.warn('the usual port for health and metrics is taken: there are none', { port });
    return undefined;
  }
}
