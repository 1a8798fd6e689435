// Owns a throw-away self-signed certificate for 127.0.0.1 in tests that need TLS. Not for real use.
import { type KeyPairKeyObjectResult, sign } from 'node:crypto';

/** A minimal DER writer: enough for one fixed certificate. */
const der = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts);
  const size =
    body.length < 128
      ? [body.length]
      : body.length < 256
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
};
const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');
const ecdsaSha256 = der(0x30, der(0x06, bytes('2a8648ce3d040302')));
const name = der(0x30, der(0x31, der(0x30, der(0x06, bytes('550403')), der(0x0c, Buffer.from('test')))));
const validity = der(0x30, der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('490101000000Z')));
const loopbackName = der(0x30, der(0x87, Buffer.from([127, 0, 0, 1])), der(0x82, Buffer.from('localhost')));
const extensions = der(
  0xa3,
  der(
    0x30,
    der(0x30, der(0x06, bytes('551d11')), der(0x04, loopbackName)),
    der(0x30, der(0x06, bytes('551d13')), der(0x01, bytes('ff')), der(0x04, der(0x30, der(0x01, bytes('ff'))))),
  ),
);

/** PEM of a certificate that is its own authority, for an EC key. */
export function selfSigned(pair: KeyPairKeyObjectResult): { key: string; certificate: string } {
  const publicKey = pair.publicKey.export({ type: 'spki', format: 'der' });
  const version = der(0xa0, der(0x02, bytes('02')));
  const body = der(0x30, version, der(0x02, bytes('01')), ecdsaSha256, name, validity, name, publicKey, extensions);
  const signature = sign('sha256', body, pair.privateKey);
  const certificate = der(0x30, body, ecdsaSha256, der(0x03, bytes('00'), signature));
  return {
    key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificate: `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
  };
}
