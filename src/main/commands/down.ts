// `k8ts down`: stops a running cluster; what it holds stays in its directory.
import { readRecord } from '../data-directory.ts';
import { commandFor, dataDirectoryOf, thisEnvironment } from '../places.ts';
import { stopRunning } from '../stop-process.ts';
import { removeNode } from '../teardown.ts';
import { UserError } from '../user-error.ts';

export interface DownOptions {
  readonly name?: string;
  readonly dataDir?: string;
}

export async function down(options: DownOptions): Promise<void> {
  const environment = thisEnvironment();
  const path = dataDirectoryOf(options, environment);
  const record = readRecord(path);
  if (record === undefined) throw new UserError(`there is no cluster in ${path}`, 'name it with --name or --data-dir');
  const stopped = await stopRunning(path);
  // A process that was killed leaves its containers; down means that nothing goes on running.
  const left = await removeNode(path, 'stop');
  process.stdout.write(
    stopped || left
      ? `stopped; ${path} keeps its objects: \`${commandFor('up', options, environment)}\` continues it\n`
      : 'was not running\n',
  );
}
