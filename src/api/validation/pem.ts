// Owns reading PEM: the blocks within a text, as Go's encoding/pem finds them. What is malformed counts as text between blocks.
import { X509Certificate } from 'node:crypto';

export interface PemBlock {
  readonly label: string;
  readonly hasHeaders: boolean;
  readonly bytes: Buffer;
  /** The block as it stands. */
  readonly text: string;
}

const begin = /(?:^|\n)-----BEGIN ([^\n]*?)-----[ \t\r]*\n/g;

export function pemBlocks(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  begin.lastIndex = 0;
  for (let found = begin.exec(text); found !== null; found = begin.exec(text)) {
    const label = found[1]!;
    const from = begin.lastIndex;
    const ending = `-----END ${label}-----`;
    const to = text.indexOf(ending, from);
    if (to < 0 || (to > from && text[to - 1] !== '\n')) {
      begin.lastIndex = from - 1;
      continue;
    }
    const { body, hasHeaders } = split(text.slice(from, to));
    const bytes = base64(body);
    if (bytes === undefined) {
      begin.lastIndex = from - 1;
      continue;
    }
    const until = to + ending.length;
    blocks.push({ label, hasHeaders, bytes, text: text.slice(found.index, until).trimStart() });
    begin.lastIndex = until;
  }
  return blocks;
}

/** "Key: value" lines come first. */
function split(content: string): { body: string; hasHeaders: boolean } {
  const lines = content.split('\n');
  let at = 0;
  while (at < lines.length && lines[at]!.includes(':')) at++;
  return { body: lines.slice(at).join(''), hasHeaders: at > 0 };
}

function base64(body: string): Buffer | undefined {
  const plain = body.replace(/\s+/g, '');
  if (plain.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(plain)) return undefined;
  return Buffer.from(plain, 'base64');
}

/** What keeps the bytes from being one certificate; undefined when nothing does. */
export function certificateProblem(bytes: Uint8Array): string | undefined {
  try {
    const { raw } = new X509Certificate(bytes);
    return raw.length === bytes.length ? undefined : 'trailing data after the certificate';
  } catch {
    return 'not a certificate';
  }
}
