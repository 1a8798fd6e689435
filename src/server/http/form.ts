// Owns the forms in which objects travel: media types with their parameters, and which of them a client accepts.
import { isStatusError, type StatusError, statusError } from '../../api/status-error.ts';
import type { ApiRequest } from '../request.ts';

export type Media = 'json' | 'yaml' | 'protobuf' | 'cbor';

export interface Form {
  readonly media: Media;
  /** Set for server-side printing and metadata-only answers. */
  readonly as?: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';
  /** Version of meta.k8s.io for `as`. */
  readonly asVersion: 'v1' | 'v1beta1';
  readonly pretty: boolean;
  /** For Tables: "None", "Metadata" (the default) or "Object". */
  readonly includeObject?: string;
}

export const mediaTypes: Readonly<Record<Media, string>> = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
  cbor: 'application/cbor',
};

const mediaOf: ReadonlyMap<string, Media> = new Map(
  Object.entries(mediaTypes).map(([media, type]) => [type, media as Media]),
);

export const jsonForm: Form = { media: 'json', asVersion: 'v1', pretty: false };
/** For what nobody could agree on. */
const prettyJson: Form = { media: 'json', asVersion: 'v1', pretty: true };

interface Clause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly q: number;
}

/** The clauses of an Accept header, best first; malformed ones are left out. */
export function parseAccept(header: string): Clause[] {
  const clauses: Clause[] = [];
  for (const text of header.split(',').slice(0, 64)) {
    const [type, ...rest] = text.split(';');
    const parameters = new Map<string, string>();
    let q = 1;
    for (const item of rest) {
      const equals = item.indexOf('=');
      if (equals < 0) continue;
      const key = item.slice(0, equals).trim().toLowerCase();
      const value = item
        .slice(equals + 1)
        .trim()
        .replace(/^"(.*)"$/, '$1');
      if (key === 'q') q = value === '' || Number.isNaN(Number(value)) ? 1 : Number(value);
      else parameters.set(key, value);
    }
    const trimmed = type!.trim();
    if (trimmed !== '' && Number.isFinite(q)) clauses.push({ type: trimmed, parameters, q });
  }
  return clauses.sort((a, b) => b.q - a.q);
}

export interface Offer {
  readonly media: readonly Media[];
  readonly as: boolean;
  /** Only for Tables and metadata alone. */
  readonly viewsOnly?: readonly Media[];
  /** Not behind the router that takes Accept by its letters: "application/*" is understood, and a refusal says nothing of the object. */
  readonly unrouted?: boolean;
}

/** Objects and lists of stored kinds. */
export const objectOffer: Offer = { media: ['json', 'yaml', 'protobuf'], as: true };
/** The same where the feature gate CBORServingAndStorage is on. */
export const cborOffer: Offer = { media: [...objectOffer.media, 'cbor'], as: true };

/** What may be in forms of discovery and of errors. */
export const plainOffer: Offer = { media: objectOffer.media, as: false };

/** Refusals, and what tells of all groups. */
export const wideOffer: Offer = { ...plainOffer, unrouted: true };

/** The same of custom kinds: these have no protobuf form, but their Tables and metadata have. */
export const customOffer: Offer = { ...objectOffer, viewsOnly: ['protobuf'], unrouted: true };

/** Streams of events. */
export const watchMedia: readonly Media[] = ['json', 'protobuf'];

type Asking = Pick<ApiRequest, 'headers' | 'query'>;

export function acceptHeader({ headers }: Asking): string | undefined {
  const { accept } = headers;
  return Array.isArray(accept) ? accept.join(',') : accept;
}

const truths: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const browsers = ['curl', 'Wget', 'Mozilla/5.0'];

/** Indented JSON is for people: those who ask for it, and those who come with a browser, curl or wget. */
export function wantsPretty({ headers, query }: Asking): boolean {
  const asked = query.get('pretty');
  if (asked !== null && asked !== '') return truths.has(asked);
  const agent = headers['user-agent'];
  return typeof agent === 'string' && browsers.some((browser) => agent.startsWith(browser));
}

/**
 * The form that is wanted, or indented JSON where it cannot be had: for refusals, and for answers that were not negotiated. `offer`: what
 * refusals of earlier stages come in, unless told otherwise.
 */
export function formOr(request: Asking, offer: Offer = wideOffer): Form {
  try {
    return negotiate(acceptHeader(request), wantsPretty(request), offer);
  } catch (error) {
    if (isStatusError(error)) return prettyJson;
    throw error;
  }
}

const formCache = new Map<string, Form>();

/** The form for an answer. Throws NotAcceptable when nothing offered is accepted. */
export function negotiate(accept: string | undefined, pretty: boolean, offer: Offer): Form {
  if (accept === undefined || accept === '' || accept === 'application/json' || accept === '*/*')
    return pretty ? prettyJson : jsonForm;
  const isCached = offer === objectOffer && !pretty;
  const cached = isCached ? formCache.get(accept) : undefined;
  if (cached !== undefined) return cached;
  const form = choose(accept, pretty, offer);
  if (form === 'transformation' || (form === 'type' && offer.unrouted === true)) throw noTransformation(offer);
  if (form === 'type')
    throw statusError('NotAcceptable', `406: Not Acceptable\n\nAvailable representations: ${typesOf(offer)}`, {});
  if (isCached && formCache.size < 1000) formCache.set(accept, form);
  return form;
}

function typesOf({ media }: Offer): string {
  return media.map((one) => mediaTypes[one]).join(', ');
}

/** Upstream says nothing of the object when the type is known and only the transformation is not. */
export function noTransformation(offer: Offer): StatusError {
  return statusError('NotAcceptable', `only the following media types are accepted: ${typesOf(offer)}`);
}

/** What is wrong with it, when nothing is offered. */
function choose(accept: string, pretty: boolean, offer: Offer): Form | 'type' | 'transformation' {
  let wrong: 'type' | 'transformation' = 'type';
  for (const { type, parameters } of parseAccept(accept)) {
    const isAny = type === '*/*' || (offer.unrouted === true && type === 'application/*');
    const media = isAny ? 'json' : mediaOf.get(type);
    if (media === undefined || !offer.media.includes(media)) continue;
    const stream = parameters.get('stream');
    if (stream !== undefined && (stream !== 'watch' || media === 'yaml')) {
      wrong = 'transformation';
      continue;
    }
    const as = parameters.get('as');
    const indented = pretty || parameters.get('pretty') === '1';
    if (as === undefined && offer.viewsOnly?.includes(media) === true) continue;
    // A group or version is that of a transformation, also of none.
    if (as === undefined && (parameters.has('g') || parameters.has('v') || parameters.get('sv'))) {
      wrong = 'transformation';
      continue;
    }
    if (as === undefined) return { media, asVersion: 'v1', pretty: indented };
    wrong = 'transformation';
    const version = parameters.get('v');
    if (as === 'Table' && media === 'protobuf') continue;
    if (!offer.as || parameters.get('g') !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) continue;
    if (as === 'Table' || as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList')
      return { media, as, asVersion: version, pretty: indented };
  }
  return wrong;
}
