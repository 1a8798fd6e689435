// Owns the names and numbers of Kubernetes' streaming protocols (remotecommand, KEP-4006). Moves no bytes.

export const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/** SPDY protocols of exec and attach, the best first. */
export const spdyRemoteCommandProtocols = [
  'v4.channel.k8s.io',
  'v3.channel.k8s.io',
  'v2.channel.k8s.io',
  'channel.k8s.io',
] as const;

/** WebSocket subprotocols of exec and attach, the best first. */
export const webSocketRemoteCommandProtocols = [
  'v5.channel.k8s.io',
  'v4.channel.k8s.io',
  'v3.channel.k8s.io',
  'v2.channel.k8s.io',
  'channel.k8s.io',
  'v4.base64.channel.k8s.io',
  'base64.channel.k8s.io',
] as const;

export const portForwardProtocol = 'portforward.k8s.io';
/** WebSocket subprotocols that carry the bytes of a SPDY port-forward. */
export const portForwardTunnelProtocols = ['SPDY/3.1+portforward.k8s.io', 'v2.portforward.k8s.io'] as const;

export interface ChannelProtocol {
  readonly name: string;
  readonly base64: boolean;
  /** The error channel carries a Status; before version 4 it carried text, and only on failure. */
  readonly status: boolean;
  /** A client may end a channel by [255, channel]. */
  readonly closes: boolean;
}

export function channelProtocol(name: string): ChannelProtocol {
  return {
    name,
    base64: name.includes('base64'),
    status: name.startsWith('v4.') || name.startsWith('v5.'),
    closes: name.startsWith('v5.'),
  };
}

/** "a, b" or several headers as a list. */
export function listHeader(value: string | readonly string[] | undefined): string[] {
  return (Array.isArray(value) ? value : [value ?? ''])
    .flatMap((text: string) => text.split(','))
    .map((text: string) => text.trim())
    .filter((text: string) => text !== '');
}

/** The first of `offered` that is `known`, in the client's order, as upstream negotiates. */
export function negotiate(offered: readonly string[], known: readonly string[]): string | undefined {
  return offered.find((protocol) => known.includes(protocol));
}
