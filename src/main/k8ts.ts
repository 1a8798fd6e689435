// The command `k8ts`: reads argv and the environment, loads the command's module only when it is asked for.
import { setFlagsFromString } from 'node:v8';
import { Command, InvalidArgumentError, Option } from 'commander';
import { UserError } from './user-error.ts';
import { version } from './version.ts';

/** Components that start alone, with upstream's flag names. */
const components: Readonly<Record<string, string>> = {
  'kube-apiserver': 'the API server, on an embedded store or etcd',
  'kube-controller-manager': 'the controllers',
  'kube-scheduler': 'the scheduler',
  kubelet: 'the node agent, over CRI',
  'kube-proxy': "Services on a node's iptables",
  dns: 'the cluster DNS server',
  'metrics-server': 'metrics.k8s.io over the usage that kubelets tell',
  etcd: 'the embedded store, served as etcd',
};

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('must be a whole number');
  return Number(text);
}

function program(): Command {
  const k8ts = new Command('k8ts')
    .description('Kubernetes in TypeScript: a cluster in one process, or component by component')
    .version(version.gitVersion, '-V, --version')
    .enablePositionalOptions();
  const here = (command: Command) =>
    command
      .option('--name <name>', 'the cluster (default: k8ts)')
      .option('--data-dir <path>', "the cluster's directory (default: by its name)");

  here(k8ts.command('up').description('start a cluster, or continue it from its directory; Ctrl-C stops it'))
    .option('--node <kind>', 'real (containers on this host), simulated, or none (default: real as root on Linux)')
    .option('--nodes <count>', 'how many simulated nodes (default: 1)', wholeNumber)
    .option('--port <port>', 'of the API server (default: 6443 if free)', wholeNumber)
    .option(
      '--api-workers <count>',
      'processes that serve its port together, for several cores (default: 1)',
      wholeNumber,
    )
    .option('--config <file>', 'YAML of kind Cluster; flags win over it')
    .option('--kubeconfig <file>', "where to add the cluster's context (default: $KUBECONFIG or ~/.kube/config)")
    .option('--no-metrics-server', 'leave metrics.k8s.io to somebody else')
    .option('--no-install', 'do not install missing host packages')
    .addOption(
      new Option('--log-level <level>', "of the components' logs")
        .choices(['debug', 'info', 'warn', 'error'])
        .default('info'),
    )
    .action(async (options: Record<string, unknown>) => (await import('./commands/up.ts')).up(options));
  here(k8ts.command('down').description('stop a running cluster; its directory stays')).action(
    async (options: Record<string, string>) => (await import('./commands/down.ts')).down(options),
  );
  here(
    k8ts
      .command('reset')
      .description('stop a cluster and remove all of it: objects, containers, network, kubeconfig context'),
  )
    .option('--kubeconfig <file>', 'where its context is (default: where `up` put it)')
    .action(async (options: Record<string, string>) => (await import('./commands/reset.ts')).reset(options));
  here(k8ts.command('status').description('what runs, and how it is'))
    .option('-o, --output <format>', 'json, or text')
    .action(async (options: Record<string, string>) => (await import('./commands/status.ts')).status(options));
  here(
    k8ts
      .command('logs')
      .description("a component's log")
      .argument('[component]', 'such as kubelet; without it the list'),
  )
    .option('-f, --follow', 'go on as lines come')
    .option('--tail <lines>', 'only the last lines', wholeNumber)
    .action(async (component: string | undefined, options: Record<string, unknown>) =>
      (await import('./commands/logs.ts')).logs(component, options),
    );
  const snapshot = k8ts.command('snapshot').description('back up and restore the store');
  const ofStore = (command: Command) =>
    command
      .argument('<file>')
      .option('--endpoints <urls>', 'a running etcd, or k8ts etcd')
      .option('--cacert <file>', 'its authority')
      .option('--cert <file>', 'client certificate')
      .option('--key <file>', 'its key')
      .option('--name <name>', 'a cluster of k8ts up (the default)')
      .option('--data-dir <path>', 'directory of a cluster')
      .option('--store-dir <path>', 'directory of an embedded store that is not running')
      .option('-o, --output <format>', 'json, or text');
  ofStore(snapshot.command('save').description('save the store, also while it is written to'))
    .option('--revision <revision>', 'as it was then (default: now)', wholeNumber)
    .action(async (file: string, options: object) => (await import('./commands/snapshot.ts')).save(file, options));
  ofStore(snapshot.command('restore').description('make an empty store hold what was saved')).action(
    async (file: string, options: object) => (await import('./commands/snapshot.ts')).restore(file, options),
  );
  ofStore(snapshot.command('status').description('check a file as a whole, and tell what is in it')).action(
    async (file: string, options: object) => (await import('./commands/snapshot.ts')).status(file, options),
  );
  snapshot
    .command('fork')
    .description('make another cluster that begins as this one, also while it runs; k8ts up --data-dir starts it')
    .argument('<new directory>')
    .option('--name <name>', 'the cluster to begin from')
    .option('--data-dir <path>', 'its directory')
    .option('--revision <revision>', 'as it was then (default: now)', wholeNumber)
    .option('-o, --output <format>', 'json, or text')
    .action(async (to: string, options: object) => (await import('./commands/snapshot.ts')).fork(to, options));
  k8ts
    .command('envtest')
    .description("lay down kube-apiserver, etcd and kubectl for controller-runtime's envtest (KUBEBUILDER_ASSETS)")
    .argument('<directory>')
    .option('-p, --print <what>', 'overview, path, or env (a line for the shell)')
    .action(async (to: string, options: object) => (await import('./commands/envtest.ts')).envtest(to, options));
  k8ts.command('api-worker', { hidden: true }).action(async () => (await import('./api-worker.ts')).apiWorker());
  for (const [name, description] of Object.entries(components)) {
    k8ts
      .command(name)
      .description(description)
      .helpOption(false)
      .allowUnknownOption()
      .argument('[flags...]', "upstream's flags; --help lists them")
      .passThroughOptions()
      .action(async (flags: string[]) => (await import('./commands/component.ts')).component(name, flags));
  }
  pointToHelp(k8ts, 'k8ts');
  return k8ts;
}

/** What is wrong with a command's arguments is explained by that command's help. */
function pointToHelp(command: Command, name: string): void {
  command.showHelpAfterError(`(see ${name} --help)`);
  for (const inner of command.commands) pointToHelp(inner, `${name} ${inner.name()}`);
}

/** By how much of itself the heap may grow before garbage is looked for. V8 would let it treble: faster nowhere, larger everywhere. */
const heapGrowthPercent = 80;

async function main(): Promise<void> {
  setFlagsFromString(`--heap-growing-percent=${heapGrowthPercent}`);
  // The clock's timers do not hold a process; a command that only waits must still come to its end.
  const alive = setInterval(() => undefined, 60_000);
  // A reader that has gone (`k8ts up | head`) must not end a cluster in disorder.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  try {
    await program().parseAsync(process.argv);
  } catch (error) {
    process.exitCode = 1;
    if (error instanceof UserError) process.stderr.write(`k8ts: ${error.message}\n      ${error.advice}\n`);
    else
      process.stderr.write(
        `k8ts: this should not have happened: ${error instanceof Error ? error.stack : String(error)}\n`,
      );
  } finally {
    clearInterval(alive);
  }
}

await main();
