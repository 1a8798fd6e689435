// Owns a container runtime in memory behind a real gRPC socket: for tests where no container can run. Understands `exit N`.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { grpcServer, served } from '../wire/grpc-server.ts';
import { GrpcError } from '../wire/grpc-service.ts';
import {
  type Container,
  type ContainerConfig,
  type ContainerFilter,
  ImageService,
  type PodSandboxConfig,
  type PodSandboxFilter,
  RuntimeService,
} from '../wire/generated/cri-runtime-v1.ts';
import type { SuiteRuntime } from './kubelet.suite.ts';

interface FakeSandbox {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly createdAt: bigint;
  readonly ip: string;
  ready: boolean;
}

interface FakeContainer {
  readonly id: string;
  readonly sandbox: FakeSandbox;
  readonly config: ContainerConfig;
  readonly createdAt: bigint;
  state: Container['state'];
  startedAt: bigint;
  finishedAt: bigint;
  exitCode: number;
}

const fakeImage = 'fake.local/image:1';
const now = (): bigint => BigInt(Date.now()) * 1_000_000n;

export interface FakeRuntime extends SuiteRuntime {
  /** Every call that changed something, by name. */
  readonly calls: string[];
  /** The next call of this name fails. */
  failNext(name: string, error: Error): void;
  /** Ends a running container as if it had crashed. */
  crash(podName: string, exitCode: number): void;
}

export async function fakeRuntime(): Promise<FakeRuntime> {
  const folder = mkdtempSync(join(tmpdir(), 'fakecri-'));
  const sandboxes = new Map<string, FakeSandbox>();
  const containers = new Map<string, FakeContainer>();
  const calls: string[] = [];
  const failures = new Map<string, Error>();
  let counter = 0;
  const nextId = (): string => (++counter).toString(16).padStart(64, '0');

  function called(name: string): void {
    calls.push(name);
    const failure = failures.get(name);
    failures.delete(name);
    if (failure) throw failure;
  }
  const found = <T>(map: ReadonlyMap<string, T>, id: string): T => {
    const value = map.get(id);
    if (value === undefined) throw new GrpcError('NOT_FOUND', `${id} is not known`);
    return value;
  };
  function end(container: FakeContainer, exitCode: number): void {
    if (container.state !== 'CONTAINER_RUNNING') return;
    container.state = 'CONTAINER_EXITED';
    container.finishedAt = now();
    container.exitCode = exitCode;
  }
  const matches = (
    labels: Readonly<Record<string, string>>,
    id: string,
    filter: PodSandboxFilter | ContainerFilter | undefined,
  ): boolean =>
    filter === undefined ||
    ((filter.id === '' || filter.id === id) &&
      Object.entries(filter.labelSelector).every(([key, value]) => labels[key] === value));

  const server = await grpcServer(`unix:${folder}/cri.sock`, [
    served(RuntimeService, {
      version: async () => ({ runtimeName: 'fake', runtimeVersion: '1', version: '0.1.0', runtimeApiVersion: 'v1' }),
      status: async () => ({
        status: { conditions: ['RuntimeReady', 'NetworkReady'].map((type) => ({ type, status: true })) },
      }),
      runPodSandbox: async ({ config }) => {
        called('runPodSandbox');
        const id = nextId();
        sandboxes.set(id, { id, config: config!, createdAt: now(), ready: true, ip: `10.9.0.${(counter % 250) + 1}` });
        return { podSandboxId: id };
      },
      stopPodSandbox: async ({ podSandboxId }) => {
        called('stopPodSandbox');
        const sandbox = found(sandboxes, podSandboxId);
        sandbox.ready = false;
        for (const each of containers.values()) if (each.sandbox === sandbox) end(each, 137);
        return {};
      },
      removePodSandbox: async ({ podSandboxId }) => {
        called('removePodSandbox');
        for (const [id, each] of containers) if (each.sandbox.id === podSandboxId) containers.delete(id);
        sandboxes.delete(podSandboxId);
        return {};
      },
      podSandboxStatus: async ({ podSandboxId }) => ({
        status: { id: podSandboxId, network: { ip: found(sandboxes, podSandboxId).ip } },
      }),
      listPodSandbox: async ({ filter }) => ({
        items: [...sandboxes.values()]
          .filter(({ id, config }) => matches(config.labels, id, filter))
          .map(({ id, config, ready, createdAt }) => ({
            id,
            createdAt,
            state: ready ? ('SANDBOX_READY' as const) : ('SANDBOX_NOTREADY' as const),
            labels: config.labels,
            ...(config.metadata && { metadata: config.metadata }),
          })),
      }),
      createContainer: async ({ podSandboxId, config, sandboxConfig }) => {
        called('createContainer');
        const id = nextId();
        const file = join(sandboxConfig!.logDirectory, config!.logPath);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, '');
        containers.set(id, {
          id,
          sandbox: found(sandboxes, podSandboxId),
          config: config!,
          createdAt: now(),
          state: 'CONTAINER_CREATED',
          startedAt: 0n,
          finishedAt: 0n,
          exitCode: 0,
        });
        return { containerId: id };
      },
      startContainer: async ({ containerId }) => {
        called('startContainer');
        const container = found(containers, containerId);
        container.state = 'CONTAINER_RUNNING';
        container.startedAt = now();
        const code = /^exit (\d+)$/.exec(container.config.command.at(-1) ?? '')?.[1];
        if (code !== undefined) end(container, Number(code));
        return {};
      },
      stopContainer: async ({ containerId }) => {
        called('stopContainer');
        end(found(containers, containerId), 0);
        return {};
      },
      removeContainer: async ({ containerId }) => {
        called('removeContainer');
        containers.delete(containerId);
        return {};
      },
      listContainers: async ({ filter }) => ({
        containers: [...containers.values()]
          .filter(({ id, config }) => matches(config.labels, id, filter))
          .map(({ id, sandbox, config, state, createdAt }) => ({
            id,
            podSandboxId: sandbox.id,
            state,
            createdAt,
            labels: config.labels,
            annotations: config.annotations,
            ...(config.metadata && { metadata: config.metadata }),
          })),
      }),
      containerStatus: async ({ containerId }) => {
        const { config, state, createdAt, startedAt, finishedAt, exitCode } = found(containers, containerId);
        const hasEnded = state === 'CONTAINER_EXITED';
        return {
          status: {
            id: containerId,
            state,
            createdAt,
            startedAt,
            finishedAt,
            exitCode,
            labels: config.labels,
            annotations: config.annotations,
            imageRef: 'sha256:fake',
            reason: hasEnded ? (exitCode === 0 ? 'Completed' : 'Error') : '',
            mounts: config.mounts,
            ...(config.metadata && { metadata: config.metadata }),
            image: { image: fakeImage },
          },
        };
      },
    }),
    served(ImageService, {
      listImages: async () => ({ images: [{ id: 'sha256:fake', repoTags: [fakeImage], size: 1n }] }),
      imageStatus: async ({ image }) =>
        image?.image === fakeImage ? { image: { id: 'sha256:fake', repoTags: [fakeImage], size: 1n } } : {},
      pullImage: async ({ image }) => {
        throw new GrpcError('NOT_FOUND', `no such image ${image?.image}`);
      },
    }),
  ]);

  return {
    endpoint: server.address,
    image: fakeImage,
    podCidr: '10.9.0.0/24',
    cgroupRoot: '',
    calls,
    failNext: (name, error) => void failures.set(name, error),
    crash(podName, exitCode) {
      for (const each of containers.values())
        if (each.config.labels['io.kubernetes.pod.name'] === podName) end(each, exitCode);
    },
    async stop() {
      server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
