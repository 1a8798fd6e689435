// Owns lifecycle hooks: what runs after a container's start and before its stop.
import { type Clock, sleep } from '../../base/clock.ts';
import type { LifecycleHandler } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { type CheckTarget, execCheck, httpCheck, portNumber } from '../probes/check.ts';
import { connect } from 'node:net';

/** Throws with the hook's output when it fails; gives up after `timeoutMs`. */
export async function runHook(
  handler: Frozen<LifecycleHandler>,
  target: CheckTarget,
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  if (handler.sleep) return sleep(clock, Math.min(handler.sleep.seconds * 1000, timeoutMs), signal);
  if (handler.exec) {
    const { ok, output } = await execCheck(handler.exec.command ?? [], target, timeoutMs);
    if (!ok) throw new Error(output || 'the command failed');
  } else if (handler.httpGet) {
    const { ok, output } = await httpCheck(handler.httpGet, target, timeoutMs);
    if (!ok) throw new Error(output);
  } else if (handler.tcpSocket) {
    const port = portNumber(handler.tcpSocket.port, target.container);
    await new Promise<void>((resolve, reject) => {
      const socket = connect({
        host: handler.tcpSocket!.host || target.podIp,
        port,
        signal: AbortSignal.timeout(timeoutMs),
      });
      socket.on('error', reject);
      socket.on('connect', () => {
        socket.destroy();
        resolve();
      });
    });
  }
}
