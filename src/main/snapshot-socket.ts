// Owns snapshots of a running cluster: a socket in its directory, which only the owner of the directory may use, gives the snapshot's bytes.
import { createServer, connect } from 'node:net';
import type { Socket } from 'node:net';
import { rmSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../base/log.ts';
import { snapshotChunks, snapshotStatus } from '../store/snapshot.ts';
import type { SnapshotStatus } from '../store/snapshot.ts';
import type { Store } from '../store/store.ts';
import { UserError } from './user-error.ts';

/** Linux' limit of a socket's path, with its end. */
const maxPathBytes = 107;
const maxRequestBytes = 64;
const maxClients = 8;
const silentMs = 30_000;
const ok = 'ok\n';

export const snapshotSocket = (dataDir: string): string => join(dataDir, 'snapshot.sock');

/**
 * Serves until the signal aborts. A client sends a revision in decimal (0: now) and a line's end; it gets "ok" and the snapshot,
 * or one line that says what is wrong.
 */
export async function serveSnapshots(path: string, store: Store, log: Logger, signal: AbortSignal): Promise<void> {
  if (Buffer.byteLength(path) > maxPathBytes) {
    log.warn('no snapshots while running: the path of the directory is too long for a socket', { path });
    return;
  }
  // Whoever was here before has ended: the directory has one owner.
  rmSync(path, { force: true });
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    clients.add(client);
    client.once('close', () => clients.delete(client));
    client.on('error', (error) => log.debug('snapshot client', { error }));
    client.setTimeout(silentMs, () => client.destroy());
    void answer(client, store).catch((error: unknown) => {
      if (client.destroyed) return;
      client.end(`${error instanceof Error ? error.message : String(error)}\n`);
    });
  });
  server.maxConnections = maxClients;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.once('close', resolve);
    const end = (): void => {
      server.close();
      for (const client of clients) client.destroy();
    };
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', end, { once: true });
    server.listen(path);
  });
}

async function answer(client: Socket, store: Store): Promise<void> {
  const line = await firstLine(client);
  const revision = Number(line);
  if (!/^\d+$/.test(line) || !Number.isSafeInteger(revision)) throw new Error(`${line} is no revision`);
  const chunks = snapshotChunks(store, revision);
  // The first chunk shows whether the revision is there.
  let next = await chunks.next();
  client.write(ok);
  try {
    for (; !next.done; next = await chunks.next()) if (!client.write(next.value)) await drained(client);
    client.end();
  } catch {
    // Half a snapshot is none: the file's checksum is missing, and the client tells so.
    client.destroy();
  }
}

function drained(client: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (): void => {
      client.off('drain', done).off('close', gone);
      resolve();
    };
    const gone = (): void => {
      client.off('drain', done);
      reject(new Error('the client is gone'));
    };
    if (client.destroyed) return gone();
    client.once('drain', done).once('close', gone);
  });
}

function firstLine(client: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    client.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const end = text.indexOf('\n');
      if (end >= 0) resolve(text.slice(0, end));
      else if (text.length > maxRequestBytes) reject(new Error('no revision'));
    });
    client.once('close', () => reject(new Error('the client is gone')));
  });
}

/** Saves the store of the cluster that runs from `dataDir`. The file appears only when it is whole. */
export async function saveFromRunning(dataDir: string, path: string, revision: number): Promise<SnapshotStatus> {
  const draft = `${path}.partial`;
  const file = await open(draft, 'w', 0o600);
  try {
    const client = connect(snapshotSocket(dataDir));
    client.write(`${revision}\n`);
    let head = '';
    for await (const chunk of client as AsyncIterable<Buffer>) {
      if (head === ok) {
        await file.writeFile(chunk);
        continue;
      }
      head += chunk.subarray(0, ok.length - head.length).toString('latin1');
      if (!ok.startsWith(head)) throw new UserError(refusal(head, chunk), 'give a revision that is still kept');
      if (head === ok) await file.writeFile(chunk.subarray(ok.length));
    }
    await file.sync();
    const status = await snapshotStatus(draft);
    await rename(draft, path);
    return status;
  } catch (error) {
    await rm(draft, { force: true });
    const { code } = error as { code?: unknown };
    if (code === 'ENOENT' || code === 'ECONNREFUSED')
      throw new UserError(
        `the cluster in ${dataDir} runs, but gives no snapshots`,
        'stop it with `k8ts down` and save then, or use a --data-dir with a shorter path',
      );
    throw error;
  } finally {
    await file.close();
  }
}

function refusal(head: string, chunk: Buffer): string {
  const text = chunk.toString('utf8').trim();
  return text.startsWith(head.slice(0, 1)) ? text : head + text;
}
