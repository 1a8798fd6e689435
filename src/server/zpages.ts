// Owns /statusz and /flagz: what runs here since when, and with which flags, for people and as versioned objects (KEP-4827, KEP-4828).
import { formatTime } from '../api/time.ts';
import { statusError } from '../api/status-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { randomInteger } from '../base/random.ts';
import { encodeValue } from './http/encode.ts';
import { acceptHeader, formOr, mediaTypes, parseAccept, wantsPretty } from './http/form.ts';
import type { Offer } from './http/form.ts';
import type { PathHandler } from './paths.ts';
import { page } from './paths.ts';
import { warn } from './request.ts';
import type { ApiAnswer, ApiRequest } from './request.ts';

export interface ZpagesOptions {
  readonly component: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Names with their values as upstream prints them. */
  readonly flags: Readonly<Record<string, string>>;
  readonly binaryVersion: string;
  /** "1.37" */
  readonly emulationVersion: string;
  /** Everything served at the root. */
  readonly paths: () => readonly string[];
}

const refusalOffer: Offer = { media: ['json', 'yaml'], as: false, unrouted: true };
const group = 'config.k8s.io';
const versions: ReadonlySet<string> = new Set(['v1alpha1', 'v1beta1']);
/** Each answer in text has another one: nobody is to read it by program. */
const delimiters = [':', ': ', '=', ' '];
const warning =
  'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';
/** The API's own paths help nobody to find faults. */
const notForDebugging: ReadonlySet<string> = new Set(['/apis', '/api', '/openid', '/openapi', '/.well-known']);

export function zpages(options: ZpagesOptions): PathHandler {
  const { component, clock, random, flags } = options;
  const startMs = clock.now();
  const sorted = Object.fromEntries(Object.entries(flags).sort(([a], [b]) => (a < b ? -1 : 1)));
  const title = (page: string): string => `\n${component} ${page}\n${warning}\n`;
  const delimiter = (): string => delimiters[randomInteger(random, delimiters.length)]!;
  const head = (kind: string, version: string) => ({
    kind,
    apiVersion: `${group}/${version}`,
    metadata: { name: component },
  });

  function statusz(version: string): object {
    const { binaryVersion, emulationVersion } = options;
    return {
      ...head('Statusz', version),
      startTime: formatTime(Math.floor(startMs / 1000)),
      uptimeSeconds: Math.max(0, Math.floor((clock.now() - startMs) / 1000)),
      goVersion: `node ${process.version}`,
      binaryVersion,
      emulationVersion,
      paths: folders(options.paths()),
    };
  }

  function statuszText(): string {
    const by = delimiter();
    const lines: readonly (readonly [string, string])[] = [
      ['Started', unixDate(startMs)],
      ['Up', uptime(clock.now() - startMs)],
      ['Go version', `node ${process.version}`],
      ['Binary version', options.binaryVersion],
      ['Emulation version', options.emulationVersion],
      ['Paths', folders(options.paths()).join(' ')],
    ];
    return `${title('statusz')}\n${lines.map(([name, value]) => `${name}${by} ${value}\n`).join('')}`;
  }

  function flagzText(): string {
    const by = delimiter();
    return `${title('flagz')}${Object.entries(sorted)
      .map(([name, value]) => `${name}${by}${value}\n`)
      .join('')}`;
  }

  return (request) => {
    switch (request.info.path) {
      case '/statusz':
        return answer(request, 'Statusz', statuszText, statusz);
      case '/flagz':
        return answer(request, 'Flagz', flagzText, (version) => ({ ...head('Flagz', version), flags: sorted }));
      default:
        return undefined;
    }
  };
}

/** Text by default; the object only for those who name its group, version and kind. */
function answer(request: ApiRequest, kind: string, text: () => string, object: (version: string) => object): ApiAnswer {
  const accept = acceptHeader(request)?.trim() ?? '';
  if (accept === '') return page(text());
  for (const { type, parameters } of parseAccept(accept)) {
    const as = parameters.get('as');
    if (as === undefined && (type === 'text/plain' || type === 'text/*' || type === '*/*')) return page(text());
    const media = type === mediaTypes.json || type === '*/*' ? 'json' : type === mediaTypes.yaml ? 'yaml' : undefined;
    const version = parameters.get('v') ?? '';
    if (media === undefined || as !== kind || parameters.get('g') !== group || !versions.has(version)) continue;
    if (version === 'v1alpha1')
      warn(request, `This version of the ${kind.toLowerCase()} endpoint is deprecated. Please use a newer version.`);
    return {
      type: 'bytes',
      code: 200,
      contentType: `${mediaTypes[media]};g=${group};v=${version};as=${kind}`,
      body: encodeValue(object(version), { media, asVersion: 'v1', pretty: wantsPretty(request) }),
    };
  }
  request.form = formOr(request, refusalOffer);
  throw statusError(
    'NotAcceptable',
    'only the following media types are accepted: application/json, application/yaml, text/plain',
  );
}

/** The first parts of paths, each once. */
function folders(paths: readonly string[]): string[] {
  const found = new Set(paths.map((path) => `/${path.split('/')[1] ?? ''}`));
  return [...found].filter((path) => path !== '/' && !notForDebugging.has(path)).sort();
}

function uptime(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${Math.floor(seconds / 3600)} hr ${two(Math.floor(seconds / 60) % 60)} min ${two(seconds % 60)} sec`;
}

/** "Mon Jan  2 15:04:05 UTC 2006" */
function unixDate(ms: number): string {
  const [day, date, month, year, time] = new Date(ms).toUTCString().replace(',', '').split(' ');
  return `${day} ${month} ${String(Number(date)).padStart(2, ' ')} ${time} UTC ${year}`;
}
