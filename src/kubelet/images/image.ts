// Owns OCI images made by ourselves: layers, config, manifest and the archive that containerd imports. No registry, no network.
import { createHash } from 'node:crypto';
import { pack } from 'tar-stream';
import type { Architecture } from './machine.ts';

export interface ImageFile {
  /** Relative: "bin/hello". Parent directories are made. */
  readonly path: string;
  readonly content?: Uint8Array;
  /** A symbolic link's target, instead of content. */
  readonly link?: string;
  /** Default 0o755. */
  readonly mode?: number;
}

export interface ImageSpec {
  /** Full reference: "k8ts.local/pause:1". */
  readonly name: string;
  readonly architecture: Architecture;
  readonly files: readonly ImageFile[];
  readonly entrypoint: readonly string[];
  readonly cmd?: readonly string[];
  readonly env?: readonly string[];
  readonly user?: string;
  readonly exposedPorts?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
}

interface Blob {
  readonly digest: string;
  readonly bytes: Uint8Array;
}

/** Times inside images are fixed, so that the same content always has the same digest. */
const epoch = new Date(0);

export interface BuiltImage {
  /** The config's digest, which runtimes show as the image's id. */
  readonly id: string;
  /** An OCI image layout as a tar archive, for `ctr images import` or any runtime that loads archives. */
  readonly archive: Uint8Array;
}

export async function buildImage(spec: ImageSpec): Promise<BuiltImage> {
  const layer = blob(await layerTar(spec.files));
  const config = json({
    architecture: spec.architecture,
    os: 'linux',
    created: epoch.toISOString(),
    config: {
      Entrypoint: spec.entrypoint,
      ...(spec.cmd && { Cmd: spec.cmd }),
      Env: spec.env ?? ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
      ...(spec.user && { User: spec.user }),
      ...(spec.exposedPorts && { ExposedPorts: Object.fromEntries(spec.exposedPorts.map((port) => [port, {}])) }),
      ...(spec.labels && { Labels: spec.labels }),
    },
    rootfs: { type: 'layers', diff_ids: [layer.digest] },
    history: [{ created: epoch.toISOString(), created_by: 'k8ts' }],
  });
  const manifest = json({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: descriptor('application/vnd.oci.image.config.v1+json', config),
    layers: [descriptor('application/vnd.oci.image.layer.v1.tar', layer)],
  });
  const index = json({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: [
      {
        ...descriptor('application/vnd.oci.image.manifest.v1+json', manifest),
        platform: { architecture: spec.architecture, os: 'linux' },
        annotations: {
          'io.containerd.image.name': spec.name,
          'org.opencontainers.image.ref.name': spec.name.slice(spec.name.lastIndexOf(':') + 1),
        },
      },
    ],
  });
  const archive = await tar([
    { path: 'oci-layout', content: Buffer.from('{"imageLayoutVersion":"1.0.0"}'), mode: 0o644 },
    { path: 'index.json', content: index.bytes, mode: 0o644 },
    ...[layer, config, manifest].map((each) => ({
      path: `blobs/sha256/${each.digest.slice('sha256:'.length)}`,
      content: each.bytes,
      mode: 0o644,
    })),
  ]);
  return { id: config.digest, archive };
}

function blob(bytes: Uint8Array): Blob {
  return { digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`, bytes };
}

function json(value: unknown): Blob {
  return blob(Buffer.from(JSON.stringify(value)));
}

function descriptor(mediaType: string, content: Blob): Record<string, unknown> {
  return { mediaType, digest: content.digest, size: content.bytes.length };
}

function layerTar(files: readonly ImageFile[]): Promise<Uint8Array> {
  const folders = new Set<string>();
  for (const { path } of files) {
    const parts = path.split('/').slice(0, -1);
    parts.forEach((_, index) => folders.add(parts.slice(0, index + 1).join('/')));
  }
  return tar(files, [...folders].toSorted());
}

async function tar(files: readonly ImageFile[], folders: readonly string[] = []): Promise<Uint8Array> {
  const stream = pack();
  for (const folder of folders) stream.entry({ name: `${folder}/`, type: 'directory', mode: 0o755, mtime: epoch });
  for (const file of files) {
    if (file.link !== undefined)
      stream.entry({ name: file.path, type: 'symlink', linkname: file.link, mode: 0o777, mtime: epoch });
    else stream.entry({ name: file.path, mode: file.mode ?? 0o755, mtime: epoch }, Buffer.from(file.content ?? []));
  }
  stream.finalize();
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks);
}
