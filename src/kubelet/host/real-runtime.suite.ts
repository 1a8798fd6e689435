// Owns a containerd of the tests' own: started when this host can, cleaned away wholly after. For tests of several rooms.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { connectCri } from '../cri.ts';
import {
  architectureOf,
  busyboxImage,
  busyboxImageName,
  helloImage,
  pauseImage,
  pauseImageName,
} from '../images/built-in.ts';
import type { SuiteRuntime } from '../kubelet.suite.ts';
import { systemMounter } from '../volumes/mounts.ts';
import { removeCniLeftovers } from './cni-leftovers.ts';
import { cniCleanup } from './cni.ts';
import { ensureContainerd, shimPids, stopContainerd } from './containerd.ts';
import { containerdPaths } from './containerd-config.ts';
import { readCapSysResource } from './kernel.ts';
import { loadImages } from './load-images.ts';
import { findHostTools, whyNoRealNode } from './tools.ts';

const path = process.env['PATH'] ?? '';
const busybox = '/bin/busybox';

/** Why tests with real containers are skipped here; undefined when they run. */
export function whyNoRealRuntime(): string | undefined {
  const no = whyNoRealNode({ platform: process.platform, uid: process.getuid?.() });
  if (no !== undefined) return no;
  if (architectureOf(process.arch) === undefined) return `no built-in images for ${process.arch}`;
  const { missing } = findHostTools(path);
  if (missing.length > 0) return `this host lacks ${missing.map(({ name }) => name).join(', ')}`;
  return existsSync(busybox) ? undefined : 'this host lacks busybox-static';
}

export async function realRuntime(bridge: string, podCidr: string): Promise<SuiteRuntime> {
  const tools = findHostTools(path);
  const folder = mkdtempSync(join(tmpdir(), 'ctd-'));
  const paths = containerdPaths(folder);
  const architecture = architectureOf(process.arch)!;
  const { endpoint } = await ensureContainerd({
    paths,
    binary: tools.paths.get('containerd')!,
    path,
    clock: systemClock,
    sandboxImage: pauseImageName,
    cniBinFolder: tools.cniBinFolder!,
    restrictOomScoreAdj: !readCapSysResource(),
  });
  const cri = await connectCri(endpoint);
  const applets = execFileSync(busybox, ['--list'], { encoding: 'utf8' }).trim().split('\n');
  await loadImages(cri, tools.paths.get('ctr')!, paths, [
    pauseImage(architecture),
    helloImage(architecture),
    busyboxImage(architecture, readFileSync(busybox), applets),
  ]);
  cri.close();
  return {
    endpoint,
    image: busyboxImageName,
    podCidr,
    cgroupRoot: `/k8ts-test-${bridge}`,
    cni: { confFolder: paths.cniConfFolder, dataFolder: paths.cniDataFolder, networkName: bridge, bridge },
    async stop() {
      await stopContainerd(paths, systemClock);
      for (const pid of shimPids(
        paths,
        readdirSync('/proc').filter((name) => /^\d+$/.test(name)),
      ))
        process.kill(pid, 'SIGKILL');
      await systemMounter.unmountBelow(folder);
      await removeCniLeftovers(bridge, paths.cniDataFolder);
      const rules = cniCleanup(execFileSync('iptables-save', ['-t', 'nat'], { encoding: 'utf8' }), bridge);
      if (rules !== '') execFileSync('iptables-restore', ['-w', '5', '--noflush'], { input: rules });
      try {
        execFileSync('ip', ['link', 'delete', bridge], { stdio: 'ignore' });
      } catch {
        // No pod ever had a network: there is no bridge.
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
