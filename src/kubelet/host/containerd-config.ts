// Owns the text of our containerd's configuration. Pure.

export interface ContainerdPaths {
  /** Everything of our containerd's lies below this folder. */
  readonly folder: string;
  readonly config: string;
  readonly root: string;
  readonly state: string;
  readonly socket: string;
  readonly log: string;
  readonly pid: string;
  readonly cniConfFolder: string;
  readonly cniDataFolder: string;
}

/** A unix socket's path may have 107 bytes; containerd's own suffix takes a few. */
export const maxSocketPathBytes = 100;

export function containerdPaths(folder: string): ContainerdPaths {
  return {
    folder,
    config: `${folder}/config.toml`,
    root: `${folder}/root`,
    state: `${folder}/state`,
    socket: `${folder}/containerd.sock`,
    log: `${folder}/containerd.log`,
    pid: `${folder}/containerd.pid`,
    cniConfFolder: `${folder}/cni/conf`,
    cniDataFolder: `${folder}/cni/addresses`,
  };
}

export interface ContainerdSettings {
  readonly sandboxImage: string;
  readonly cniBinFolder: string;
  /** Hosts without CAP_SYS_RESOURCE cannot lower an oom score: runc would fail to start every sandbox. */
  readonly restrictOomScoreAdj: boolean;
  /** Default: overlayfs, or native where the data directory cannot carry overlays. */
  readonly snapshotter?: string;
  /** A folder of `<registry host>/hosts.toml` files. Default: `registries` in containerd's folder, which may be absent. */
  readonly registryConfigFolder?: string;
}

export function containerdConfig(paths: ContainerdPaths, settings: ContainerdSettings): string {
  const text = (value: string): string => JSON.stringify(value);
  return `version = 2
root = ${text(paths.root)}
state = ${text(paths.state)}
# A container that the kernel kills for memory must not take containerd with it; 0 is what every host allows.
oom_score = 0
imports = []
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp", "io.containerd.internal.v1.tracing", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]

[grpc]
  address = ${text(paths.socket)}

[ttrpc]
  address = ${text(`${paths.socket}.ttrpc`)}

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = ${text(settings.sandboxImage)}
  restrict_oom_score_adj = ${settings.restrictOomScoreAdj}
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  # The kubelet bounds and rotates logs; a long line is split at this length.
  max_container_log_line_size = 16384
  tolerate_missing_hugetlb_controller = true

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = ${text(settings.snapshotter ?? 'overlayfs')}
    default_runtime_name = "runc"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = ${text(settings.cniBinFolder)}
    conf_dir = ${text(paths.cniConfFolder)}
    max_conf_num = 1

  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = ${text(settings.registryConfigFolder ?? `${paths.folder}/registries`)}
`;
}
