// Owns the validation of how webhooks are reached: URLs and services, for admission, conversion and the like.
import { dnsSubdomain } from '../names.ts';
import { portNumber } from './formats.ts';
import type { Problems } from './problems.ts';

interface ParsedUrl {
  readonly scheme: string;
  readonly host: string;
  readonly user: string | undefined;
  readonly query: string;
  readonly fragment: string;
}

/** As Go reads URLs: no normalisation; undefined for what it refuses. */
function parseUrl(text: string): ParsedUrl | undefined {
  const hasControl = Buffer.from(text).some((byte) => byte < 0x20 || byte === 0x7f);
  if (hasControl || /%(?![0-9A-Fa-f]{2})/.test(text) || text.startsWith(':')) return undefined;
  const found = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?#]*))?[^?#]*(?:\?([^#]*))?(?:#(.*))?$/s.exec(text);
  if (found === null) return undefined;
  const [, scheme = '', authority = '', query = '', fragment = ''] = found;
  const at = authority.lastIndexOf('@');
  const host = authority.slice(at + 1);
  if (host.includes(' ') || (/:[^\]]*$/.test(host) && !/:\d*$/.test(host))) return undefined;
  return { scheme: scheme.toLowerCase(), host, user: at < 0 ? undefined : authority.slice(0, at), query, fragment };
}

const form = '; desired format: https://host[/path]';

function validateWebhookUrl(problems: Problems, path: string, text: string): void {
  const url = parseUrl(text);
  if (url === undefined) return problems.required(path, `url must be a valid URL${form}`);
  if (url.scheme !== 'https') problems.invalid(path, url.scheme, `'https' is the only allowed URL scheme${form}`);
  if (url.host === '') problems.invalid(path, url.host, `host must be specified${form}`);
  if (url.user !== undefined) problems.invalid(path, url.user, `user information is not permitted in the URL`);
  if (url.fragment !== '') problems.invalid(path, url.fragment, 'fragments are not permitted in the URL');
  if (url.query !== '') problems.invalid(path, url.query, 'query parameters are not permitted in the URL');
}

export interface WebhookService {
  readonly namespace?: string;
  readonly name?: string;
  readonly path?: string;
  readonly port?: number;
}

export function validateWebhookService(problems: Problems, path: string, service: WebhookService): void {
  const { namespace, name, path: urlPath = '', port = 0 } = service;
  // Upstream mixes the two up.
  if (!namespace) problems.required(`${path}.name`, 'service name is required');
  if (!name) problems.required(`${path}.namespace`, 'service namespace is required');
  problems.each(`${path}.port`, port, portNumber(port));
  if (urlPath === '' || urlPath === '/') return;
  const at = `${path}.path`;
  if (urlPath === '//') return problems.invalid(at, urlPath, 'segment[0] may not be empty');
  if (!urlPath.startsWith('/')) problems.invalid(at, urlPath, "must start with a '/'");
  urlPath
    .slice(1)
    .replace(/\/$/, '')
    .split('/')
    .forEach((segment, i) => {
      if (segment === '') problems.invalid(at, urlPath, `segment[${i}] may not be empty`);
      else
        problems.each(
          at,
          urlPath,
          dnsSubdomain(segment).map((wrong) => `segment[${i}]: ${wrong}`),
        );
    });
}

interface WebhookClient {
  readonly url?: string;
  readonly service?: WebhookService;
}

/** Exactly one of url and service. */
export function validateWebhookClient(problems: Problems, path: string, client: WebhookClient): void {
  const hasUrl = client.url !== undefined && client.url !== null;
  if (hasUrl === Boolean(client.service)) problems.required(path, 'exactly one of url or service is required');
  else if (hasUrl) validateWebhookUrl(problems, `${path}.url`, client.url!);
  else validateWebhookService(problems, `${path}.service`, client.service!);
}
