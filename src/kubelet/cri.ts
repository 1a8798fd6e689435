// Owns the seam to the container runtime: CRI's two services over gRPC. Decides nothing.
import { grpcConnection } from '../wire/grpc-client.ts';
import type { Calls } from '../wire/grpc-service.ts';
import { Events } from './runtime/containerd-events.ts';
import { ImageService, RuntimeService } from '../wire/generated/cri-runtime-v1.ts';

export interface Cri {
  readonly runtime: Calls<typeof RuntimeService>;
  readonly images: Calls<typeof ImageService>;
  /** containerd's own service on the same socket; UNIMPLEMENTED elsewhere. */
  readonly events: Calls<typeof Events>;
  close(): void;
}

/** `endpoint`: "unix:/run/containerd/containerd.sock" ("unix://" is taken too). */
export async function connectCri(endpoint: string): Promise<Cri> {
  const connection = await grpcConnection({ address: endpoint.replace(/^unix:\/\//, 'unix:') });
  return {
    runtime: connection.service(RuntimeService),
    images: connection.service(ImageService),
    events: connection.service(Events),
    close: () => connection.close(),
  };
}
