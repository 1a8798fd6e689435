// Owns where a pod's things lie on the node.
import { join } from 'node:path';
import type { FrozenPod } from './pod-words.ts';

export interface Folders {
  /** `<pods>/<uid>`: volumes, hosts file, termination messages. */
  readonly pods: string;
  /** `<logs>/<namespace>_<name>_<uid>/<container>/<attempt>.log`. */
  readonly logs: string;
}

export function podFolder({ pods }: Folders, uid: string): string {
  return join(pods, uid);
}

export function podLogFolder({ logs }: Folders, pod: { namespace: string; name: string; uid: string }): string {
  return join(logs, `${pod.namespace}_${pod.name}_${pod.uid}`);
}

export function logFolderOf(folders: Folders, pod: FrozenPod): string {
  const { namespace = '', name, uid } = pod.metadata;
  return podLogFolder(folders, { namespace, name, uid });
}

export function containerLogPath(container: string, attempt: number): string {
  return `${container}/${attempt}.log`;
}
