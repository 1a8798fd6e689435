// Owns a cluster in the test's own process with the real kubectl beside it: for suites that need no process of its own.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kubeconfigOf } from '../../src/client/kubeconfig.ts';
import { type Cluster, type ClusterOptions, startCluster } from '../../src/main/cluster.ts';
import { eventually, type Output, type RunOptions, runProgram } from './running-cluster.ts';
import { kubectlPath } from './tools.ts';

export class KubectlCluster {
  readonly folder = mkdtempSync(join(tmpdir(), 'k8ts-kubectl-'));
  readonly kubeconfig = join(this.folder, 'kubeconfig');
  cluster!: Cluster;

  async start(options: ClusterOptions = {}): Promise<void> {
    this.cluster = await startCluster(options);
    writeFileSync(this.kubeconfig, JSON.stringify(kubeconfigOf(this.cluster.kubeconfigEntry('test'))));
  }

  async stop(): Promise<void> {
    await this.cluster.stop();
    rmSync(this.folder, { recursive: true });
  }

  /** A file in the cluster's folder. */
  file(name: string, text: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    return path;
  }

  kubectl(args: readonly string[], options: RunOptions = {}): Promise<Output> {
    return runProgram(kubectlPath()!, [`--kubeconfig=${this.kubeconfig}`, ...args], options);
  }

  /** What the command says; fails the test when it fails. */
  async run(args: string, options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.kubectl(args.split(' '), options);
    assert.equal(code, 0, `kubectl ${args}: ${stdout}${stderr}`);
    return stdout + stderr;
  }

  /** Repeats the command until it says that, however it ends. */
  async says(args: string, pattern: RegExp): Promise<string> {
    let last = '';
    const attempt = async (): Promise<boolean> => {
      const { stdout, stderr } = await this.kubectl(args.split(' '));
      last = stdout + stderr;
      return pattern.test(last);
    };
    try {
      await eventually(`kubectl ${args}`, attempt);
    } catch (error) {
      assert.fail(`kubectl ${args}: ${last} (${String(error)})`);
    }
    return last;
  }
}
