// Owns which credential an admission webhook is shown: by the server's name, the closest wins. Pure.

/** A user of the kubeconfig that WebhookAdmissionConfiguration names. */
export interface WebhookCredential {
  /** "host", "host:port", "*.domain" or "*"; a Service is "name.namespace.svc". */
  readonly server: string;
  readonly clientCertificate?: { readonly certificate: string; readonly key: string };
  /** The Authorization header. */
  readonly authorization?: string;
}

/** "a.b.c:8443", then "*.b.c:8443", "*.c:8443", "*"; on port 443 also without it. */
function namesFor(host: string, port: number): string[] {
  const labels = host.split('.');
  const patterns = [host, ...labels.map((_, at) => ['*', ...labels.slice(at + 1)].join('.'))].filter(
    (name) => name !== '*',
  );
  const isUsual = port === 443;
  return [...patterns.flatMap((name) => [`${name}:${port}`, ...(isUsual ? [name] : [])]), '*'];
}

export function credentialFor(
  credentials: readonly WebhookCredential[],
  { hostname, port }: URL,
): WebhookCredential | undefined {
  for (const name of namesFor(hostname.toLowerCase(), port === '' ? 443 : Number(port))) {
    const found = credentials.find(({ server }) => server.toLowerCase() === name);
    if (found !== undefined) return found;
  }
  return undefined;
}
