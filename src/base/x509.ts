// Owns certificates: authorities, issuing, certificate signing requests. DER is @peculiar/asn1-x509's, signatures are node:crypto's.
// Import it lazily where start-up counts: the ASN.1 library takes tens of milliseconds to load, and a running cluster rarely needs it.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  createSign,
  createVerify,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from 'node:crypto';
import { CertificationRequest, CertificationRequestInfo } from '@peculiar/asn1-csr';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  Attribute,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_clientAuth,
  id_kp_serverAuth,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';
import { isIP } from 'node:net';
import type { Random } from './random.ts';

export interface KeyAndCertificate {
  readonly keyPem: string;
  readonly certificatePem: string;
}

export interface Subject {
  readonly commonName: string;
  /** Kubernetes reads these as groups. */
  readonly organizations?: readonly string[];
}

export interface SubjectNames {
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
}

export type CertificateUsage = 'server auth' | 'client auth';

export interface IssueOptions extends SubjectNames {
  readonly subject: Subject;
  readonly usages: readonly CertificateUsage[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** What a certificate signing request asks for; its signature has been verified. */
export interface ParsedRequest extends Required<SubjectNames> {
  readonly subject: Required<Subject>;
  readonly emailAddresses: readonly string[];
  readonly uris: readonly string[];
  readonly publicKey: KeyObject;
}

const oidCommonName = '2.5.4.3';
const oidOrganization = '2.5.4.10';
const oidEcdsaSha256 = '1.2.840.10045.4.3.2';
const oidEcdsaSha384 = '1.2.840.10045.4.3.3';
const oidEcdsaSha512 = '1.2.840.10045.4.3.4';
const oidRsaSha256 = '1.2.840.113549.1.1.11';
const oidRsaSha384 = '1.2.840.113549.1.1.12';
const oidRsaSha512 = '1.2.840.113549.1.1.13';
const oidEd25519 = '1.3.101.112';
const oidExtensionRequest = '1.2.840.113549.1.9.14';

const digests: Readonly<Record<string, string>> = {
  [oidEcdsaSha256]: 'sha256',
  [oidEcdsaSha384]: 'sha384',
  [oidEcdsaSha512]: 'sha512',
  [oidRsaSha256]: 'sha256',
  [oidRsaSha384]: 'sha384',
  [oidRsaSha512]: 'sha512',
};

/** A new P-256 key: small, fast, and what upstream's tools make. */
export function newPrivateKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

export function privateKeyPem(key: KeyObject): string {
  return key.export({ type: key.asymmetricKeyType === 'ec' ? 'sec1' : 'pkcs8', format: 'pem' }) as string;
}

export function pem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

/** A self-signed authority. */
export function createAuthority(
  commonName: string,
  notBeforeMs: number,
  notAfterMs: number,
  random: Random,
): KeyAndCertificate {
  const key = newPrivateKey();
  const options: IssueOptions = { subject: { commonName }, usages: [], notBeforeMs, notAfterMs };
  const name = subjectName(options.subject);
  return { keyPem: privateKeyPem(key), certificatePem: build(options, createPublicKey(key), name, key, random, true) };
}

/** A certificate for `publicKey`, signed by the authority. */
export function issueFor(
  publicKey: KeyObject,
  authority: KeyAndCertificate,
  options: IssueOptions,
  random: Random,
): string {
  const issuer = AsnConvert.parse(new X509Certificate(authority.certificatePem).raw, Certificate).tbsCertificate
    .subject;
  return build(options, publicKey, issuer, createPrivateKey(authority.keyPem), random, false);
}

/** A new key with its certificate. */
export function issue(authority: KeyAndCertificate, options: IssueOptions, random: Random): KeyAndCertificate {
  const key = newPrivateKey();
  return { keyPem: privateKeyPem(key), certificatePem: issueFor(createPublicKey(key), authority, options, random) };
}

function build(
  options: IssueOptions,
  publicKey: KeyObject,
  issuer: Name,
  signer: KeyObject,
  random: Random,
  isAuthority: boolean,
): string {
  const serial = random.bytes(16);
  serial[0] = (serial[0]! & 0x7f) | 0x40;
  const algorithm = signatureAlgorithm(signer);
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const tbs = new TBSCertificate({
    version: Version.v3,
    serialNumber: serial.slice().buffer,
    signature: algorithm,
    issuer,
    validity: new Validity({ notBefore: new Date(options.notBeforeMs), notAfter: new Date(options.notAfterMs) }),
    subject: subjectName(options.subject),
    subjectPublicKeyInfo: AsnConvert.parse(spki, SubjectPublicKeyInfo),
    extensions: new Extensions(extensions(options, spki, signer, isAuthority)),
  });
  const certificate = new Certificate({
    tbsCertificate: tbs,
    signatureAlgorithm: algorithm,
    signatureValue: sign(signer, AsnConvert.serialize(tbs)),
  });
  return pem('CERTIFICATE', new Uint8Array(AsnConvert.serialize(certificate)));
}

function extensions(options: IssueOptions, spki: Buffer, signer: KeyObject, isAuthority: boolean): Extension[] {
  const usage = isAuthority
    ? KeyUsageFlags.digitalSignature | KeyUsageFlags.keyEncipherment | KeyUsageFlags.keyCertSign
    : KeyUsageFlags.digitalSignature | KeyUsageFlags.keyEncipherment;
  const result = [extension(id_ce_keyUsage, true, new KeyUsage(usage))];
  const purposes = options.usages.map((name) => (name === 'server auth' ? id_kp_serverAuth : id_kp_clientAuth));
  if (purposes.length > 0) result.push(extension(id_ce_extKeyUsage, false, new ExtendedKeyUsage(purposes)));
  result.push(extension(id_ce_basicConstraints, true, new BasicConstraints({ cA: isAuthority })));
  if (isAuthority)
    result.push(extension(id_ce_subjectKeyIdentifier, false, new SubjectKeyIdentifier(keyIdentifier(spki))));
  const signerSpki = createPublicKey(signer).export({ type: 'spki', format: 'der' });
  const authorityKey = new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(keyIdentifier(signerSpki)) });
  if (!isAuthority) result.push(extension(id_ce_authorityKeyIdentifier, false, authorityKey));
  const names = alternativeNames(options);
  if (names !== undefined) result.push(extension(id_ce_subjectAltName, false, names));
  return result;
}

function extension(id: string, critical: boolean, value: object): Extension {
  return new Extension({ extnID: id, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
}

function keyIdentifier(spki: Uint8Array): ArrayBuffer {
  return new Uint8Array(createHash('sha1').update(spki).digest()).buffer;
}

function alternativeNames({ dnsNames = [], ipAddresses = [] }: SubjectNames): SubjectAlternativeName | undefined {
  const names = [
    ...dnsNames.map((dNSName) => new GeneralName({ dNSName })),
    ...ipAddresses.map((iPAddress) => new GeneralName({ iPAddress })),
  ];
  return names.length === 0 ? undefined : new SubjectAlternativeName(names);
}

function subjectName({ commonName, organizations = [] }: Subject): Name {
  const part = (type: string, text: string) =>
    new RelativeDistinguishedName([
      new AttributeTypeAndValue({ type, value: new AttributeValue({ utf8String: text }) }),
    ]);
  return new Name([...organizations.map((text) => part(oidOrganization, text)), part(oidCommonName, commonName)]);
}

function signatureAlgorithm(key: KeyObject): AlgorithmIdentifier {
  if (key.asymmetricKeyType === 'ec') return new AlgorithmIdentifier({ algorithm: oidEcdsaSha256 });
  if (key.asymmetricKeyType === 'rsa') return new AlgorithmIdentifier({ algorithm: oidRsaSha256, parameters: null });
  throw new Error(`an authority's key must be RSA or ECDSA, not ${key.asymmetricKeyType}`);
}

function sign(key: KeyObject, data: ArrayBuffer): ArrayBuffer {
  return new Uint8Array(createSign('sha256').update(new Uint8Array(data)).sign(key)).buffer;
}

/** A PEM certificate signing request. */
export function createRequest(key: KeyObject, subject: Subject, names: SubjectNames = {}): string {
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const info = new CertificationRequestInfo({
    subject: subjectName(subject),
    subjectPKInfo: AsnConvert.parse(spki, SubjectPublicKeyInfo),
  });
  const alternatives = alternativeNames(names);
  if (alternatives !== undefined) {
    const wanted = new Extensions([extension(id_ce_subjectAltName, false, alternatives)]);
    info.attributes.push(new Attribute({ type: oidExtensionRequest, values: [AsnConvert.serialize(wanted)] }));
  }
  const request = new CertificationRequest({
    certificationRequestInfo: info,
    signatureAlgorithm: signatureAlgorithm(key),
    signature: sign(key, AsnConvert.serialize(info)),
  });
  return pem('CERTIFICATE REQUEST', new Uint8Array(AsnConvert.serialize(request)));
}

export class InvalidRequest extends Error {
  override readonly name = 'InvalidRequest';
}

/** Reads a PEM certificate signing request and checks its signature. Throws InvalidRequest for anything else. */
export function parseRequest(text: string): ParsedRequest {
  const body = /-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----([\sA-Za-z0-9+/=]+)-----END/.exec(text)?.[1];
  if (body === undefined) throw new InvalidRequest('PEM block type must be CERTIFICATE REQUEST');
  try {
    return verified(AsnConvert.parse(Buffer.from(body, 'base64'), CertificationRequest));
  } catch (error) {
    if (error instanceof InvalidRequest) throw error;
    throw new InvalidRequest(`not a certificate request: ${(error as Error).message}`);
  }
}

function verified(request: CertificationRequest): ParsedRequest {
  const info = request.certificationRequestInfo;
  const publicKey = createPublicKey({
    key: Buffer.from(AsnConvert.serialize(info.subjectPKInfo)),
    format: 'der',
    type: 'spki',
  });
  if (!hasValidSignature(request, publicKey)) throw new InvalidRequest('the signature does not match the key');
  const attribute = info.attributes.find(({ type }) => type === oidExtensionRequest);
  const wanted = attribute?.values[0] === undefined ? undefined : AsnConvert.parse(attribute.values[0], Extensions);
  const names = wanted?.find(({ extnID }) => extnID === id_ce_subjectAltName);
  const alternatives = names === undefined ? [] : [...AsnConvert.parse(names.extnValue, SubjectAlternativeName)];
  const texts = <K extends 'dNSName' | 'iPAddress' | 'rfc822Name' | 'uniformResourceIdentifier'>(key: K): string[] =>
    alternatives.flatMap((name) => (name[key] === undefined ? [] : [name[key]]));
  return {
    subject: {
      commonName: attributes(info.subject, oidCommonName)[0] ?? '',
      organizations: attributes(info.subject, oidOrganization),
    },
    dnsNames: texts('dNSName'),
    ipAddresses: texts('iPAddress').filter((address) => isIP(address) !== 0),
    emailAddresses: texts('rfc822Name'),
    uris: texts('uniformResourceIdentifier'),
    publicKey,
  };
}

function hasValidSignature(request: CertificationRequest, publicKey: KeyObject): boolean {
  const data = Buffer.from(AsnConvert.serialize(request.certificationRequestInfo));
  const signature = Buffer.from(request.signature);
  const { algorithm } = request.signatureAlgorithm;
  if (algorithm === oidEd25519) throw new InvalidRequest('Ed25519 requests are not supported');
  const digest = digests[algorithm];
  if (digest === undefined) throw new InvalidRequest(`signature algorithm ${algorithm} is not supported`);
  return createVerify(digest).update(data).verify(publicKey, signature);
}

function attributes(name: Name, type: string): string[] {
  const values: string[] = [];
  for (const part of name)
    for (const attribute of part) if (attribute.type === type) values.push(attribute.value.toString());
  return values;
}
