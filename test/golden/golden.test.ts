// Proves that the API server answers what was recorded, an area a subtest. What does not yet is named in known-failures.json, which must be true:
// a scenario that fails and is not named there, or is named there and passes, is an error.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { logger } from '../../src/base/log.ts';
import { parseFlags } from '../../src/cli/flags.ts';
import { apiServerFlags, runApiServer } from '../../src/main/alone/api-server.ts';
import { readScenario, replayScenario, type Target } from './replay.ts';
import { freePort } from '../../src/testing/free-port.ts';

const here = new URL('../../../test/golden/', import.meta.url).pathname;
const areas = ['semantics', 'objects-core', 'objects-groups', 'access', 'extension'] as const;
/** Scenarios wait for timeouts of watches most of their time. */
const atOnce = 8;

const tokens = `admintoken,admin,admin-uid,"system:masters"
alicetoken,alice,alice-uid,"devs"
bobtoken,bob,bob-uid,"ops"
nodetoken,system:node:node-a,node-uid,"system:nodes"
`;

/** By area: names of scenarios, each with why it fails. */
type Known = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Runs `use` against a server of its own, as the recordings were made. */
async function withServer(flags: readonly string[], use: (target: Target) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'k8ts-golden-'));
  const stop = new AbortController();
  let running: Promise<void> | undefined;
  try {
    writeFileSync(join(directory, 'tokens.csv'), tokens);
    const port = await freePort();
    const values = parseFlags(apiServerFlags, [
      `--secure-port=${port}`,
      '--bind-address=127.0.0.1',
      `--cert-dir=${directory}`,
      '--authorization-mode=Node,RBAC',
      '--service-cluster-ip-range=10.96.0.0/16',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--token-auth-file=${join(directory, 'tokens.csv')}`,
      ...flags,
    ]);
    await new Promise<void>((ready, failed) => {
      running = runApiServer(values, { logger: logger('error', 2), signal: stop.signal, ready: () => ready() });
      running.catch(failed);
    });
    await use({ server: `https://127.0.0.1:${port}`, token: 'admintoken' });
  } finally {
    stop.abort();
    await running;
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The differences of each scenario that has any, as text. */
async function replayAll(
  target: Target,
  area: string,
  names: readonly string[],
  known: Readonly<Record<string, string>>,
): Promise<Map<string, string>> {
  const failed = new Map<string, string>();
  const play = async (name: string, at: number): Promise<void> => {
    const scenario = readScenario(join(here, 'recorded', area, `${name}.json`));
    // Of what is known to fail, one difference is enough.
    const atMost = known[name] === undefined ? 20 : 1;
    const different = await replayScenario(
      target,
      scenario,
      `${at.toString(36).padStart(3, 'r')}${area.slice(0, 2)}`,
      atMost,
    );
    if (different.length === 0) return;
    const lines = different.flatMap(({ step, lines: texts }) => [`step ${step + 1}:`, ...texts.slice(0, 12)]);
    failed.set(name, lines.join('\n    '));
  };
  const [alone, others] = [names.filter(isAlone), names.filter((name) => !isAlone(name))];
  let next = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let at = next++; at < others.length; at = next++) await play(others[at]!, at);
    }),
  );
  for (const [at, name] of alone.entries()) await play(name, others.length + at);
  // Some wait for what a busy server does a little later: what failed beside others is played once more by itself.
  const again = [...failed.keys()].filter((name) => known[name] === undefined);
  for (const [at, name] of again.entries()) {
    failed.delete(name);
    await play(name, names.length + at);
  }
  return failed;
}

const aloneNames = readFileSync(join(here, 'alone.txt'), 'utf8')
  .split('\n')
  .map((line) => line.split(':')[0]!.trim());

function isAlone(name: string): boolean {
  return aloneNames.some((pattern) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  );
}

/** Flags that a scenario needs beside the usual ones. */
function extraFlags(name: string): readonly string[] {
  return name.startsWith('access-nr-') ? ['--enable-admission-plugins=NodeRestriction'] : [];
}

describe('recordings', { concurrency: true }, () => {
  for (const area of areas)
    test(area, async (t) => {
      const known = (JSON.parse(readFileSync(join(here, 'known-failures.json'), 'utf8')) as Known)[area] ?? {};
      const names = readdirSync(join(here, 'recorded', area)).map((file) => file.replace('.json', ''));
      const byFlags = grouped(names, (name) => extraFlags(name).join(' '));
      const failed = new Map<string, string>();
      for (const [flags, some] of byFlags)
        await withServer(flags === '' ? [] : flags.split(' '), async (target) => {
          for (const [name, lines] of await replayAll(target, area, some, known)) failed.set(name, lines);
        });
      for (const name of Object.keys(known)) assert.ok(names.includes(name), `${name} is no recording of ${area}`);
      const news = [...failed].filter(([name]) => known[name] === undefined);
      assert.equal(news.length, 0, news.map(([name, lines]) => `${name}\n    ${lines}`).join('\n'));
      const passing = Object.keys(known).filter((name) => !failed.has(name));
      // No failure: a few depend on how busy the machine is. The list is to shrink by them.
      if (passing.length > 0) t.diagnostic(`pass now, take them out of known-failures.json: ${passing.join(' ')}`);
    });
});

function grouped(names: readonly string[], key: (name: string) => string): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const name of names) groups.set(key(name), [...(groups.get(key(name)) ?? []), name]);
  return groups;
}
