// Owns checking that bytes are a PKCS #10 certificate request with a valid signature. Light to load: no ASN.1 library, no issuing.
import { constants, createPublicKey, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

interface Element {
  readonly tag: number;
  /** With its header. */
  readonly whole: Buffer;
  readonly content: Buffer;
}

class Malformed extends Error {}

const sequence = 0x30;
const integer = 0x02;
const bitString = 0x03;
const oid = 0x06;

function elementAt(bytes: Buffer, at: number): Element {
  const [tag, first] = [bytes[at], bytes[at + 1]];
  if (tag === undefined || first === undefined) throw new Malformed('truncated');
  let from = at + 2;
  let length = first;
  if (first & 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 4 || from + count > bytes.length) throw new Malformed('bad length');
    length = bytes.readUIntBE(from, count);
    from += count;
  }
  if (from + length > bytes.length) throw new Malformed('truncated');
  return { tag, whole: bytes.subarray(at, from + length), content: bytes.subarray(from, from + length) };
}

function childrenOf({ content }: Element): Element[] {
  const children: Element[] = [];
  for (let at = 0; at < content.length; ) {
    const child = elementAt(content, at);
    children.push(child);
    at += child.whole.length;
  }
  return children;
}

function expect(element: Element | undefined, tag: number): Element {
  if (element?.tag !== tag) throw new Malformed('not a certificate request');
  return element;
}

type Check = (data: Buffer, key: KeyObject, signature: Buffer) => boolean;

const digested =
  (digest: string): Check =>
  (data, key, signature) =>
    verify(digest, data, key, signature);

const pss: Check = (data, key, signature) => {
  const options = { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_AUTO };
  return ['sha256', 'sha384', 'sha512'].some((digest) => verify(digest, data, options, signature));
};

/** By the object identifier's bytes in hexadecimal. */
const algorithms: Readonly<Record<string, Check>> = {
  '2a864886f70d010105': digested('sha1'),
  '2a864886f70d01010a': pss,
  '2a864886f70d01010b': digested('sha256'),
  '2a864886f70d01010c': digested('sha384'),
  '2a864886f70d01010d': digested('sha512'),
  '2a8648ce3d0401': digested('sha1'),
  '2a8648ce3d040302': digested('sha256'),
  '2a8648ce3d040303': digested('sha384'),
  '2a8648ce3d040304': digested('sha512'),
  '2b6570': (data, key, signature) => verify(null, data, key, signature),
};

/** What is wrong with a DER certificate request; undefined when nothing is. */
export function certificateRequestProblem(der: Buffer): string | undefined {
  try {
    const outer = expect(elementAt(der, 0), sequence);
    if (outer.whole.length !== der.length) return 'trailing data after the certificate request';
    const [info, algorithm, signature] = childrenOf(outer);
    const [version, subject, spki] = childrenOf(expect(info, sequence));
    expect(version, integer);
    expect(subject, sequence);
    const id = expect(childrenOf(expect(algorithm, sequence))[0], oid).content.toString('hex');
    const bits = expect(signature, bitString).content;
    if (bits[0] !== 0) throw new Malformed('a signature has whole bytes');
    const key = createPublicKey({ key: expect(spki, sequence).whole, format: 'der', type: 'spki' });
    if (!Object.hasOwn(algorithms, id)) return 'the signature algorithm is not supported';
    const valid = algorithms[id]!(info!.whole, key, bits.subarray(1));
    return valid ? undefined : 'the signature does not match the key';
  } catch (error) {
    // node:crypto throws plain errors for keys and signatures that it cannot read.
    return `malformed certificate request: ${(error as Error).message}`;
  }
}
