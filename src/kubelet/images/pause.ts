// Owns the program of the pause image: it holds a pod's namespaces, reaps orphans, and ends on SIGTERM or SIGINT.
import { address, goto, label, type Program, syscall, when } from './program.ts';

const sigChld = 17;
const waitNoHang = 1;

/** A signal set as the kernel takes it: bit n-1 for signal n. */
export function signalSet(...signals: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(8);
  for (const signal of signals) bytes[(signal - 1) >> 3]! |= 1 << ((signal - 1) & 7);
  return bytes;
}

/**
 * Signals are blocked and waited for rather than handled: init of a pid namespace does not get signals with a default action,
 * but blocked ones are kept for it.
 */
export const pauseProgram: Program = {
  texts: { waited: signalSet(2, 15, sigChld) },
  buffers: {},
  steps: [
    syscall('result', 'rt_sigprocmask', 0, address('waited'), 0, 8),
    label('wait'),
    syscall('signal', 'rt_sigtimedwait', address('waited'), 0, 0, 8),
    when('signal', '<', 0, 'wait'),
    when('signal', '==', sigChld, 'reap'),
    syscall('result', 'exit_group', 0),
    label('reap'),
    syscall('result', 'wait4', -1, 0, waitNoHang, 0),
    when('result', '<', 1, 'wait'),
    goto('reap'),
  ],
};
