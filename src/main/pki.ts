// Owns the cluster's keys and certificates on disk: made once, kept, the serving certificate renewed when names or time demand it.
import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { CertificateUsage, KeyAndCertificate, Subject, SubjectNames } from '../base/x509.ts';
import { guard, replaceFile } from './data-directory.ts';

export interface Pki {
  readonly ca: KeyAndCertificate;
  readonly frontProxyCa: KeyAndCertificate;
  readonly frontProxyClient: KeyAndCertificate;
  readonly apiServer: KeyAndCertificate;
  /** What the API server shows to kubelets. */
  readonly kubeletClient: KeyAndCertificate;
  readonly admin: KeyAndCertificate;
  /** Signs ServiceAccount tokens (ES256). */
  readonly serviceAccountKeyPem: string;
  readonly serviceAccountPublicKeyPem: string;
  /** A certificate for another client or server of this cluster, kept under `name`. */
  certificate(
    name: string,
    subject: Subject,
    usages: readonly CertificateUsage[],
    names?: SubjectNames,
  ): Promise<KeyAndCertificate>;
}

export interface PkiDeps {
  readonly clock: Clock;
  readonly random: Random;
}

const dayMs = 24 * 3600 * 1000;
const authorityLifeMs = 3650 * dayMs;
const certificateLifeMs = 365 * dayMs;
/** Renewed at a start when less than this is left. */
const renewBeforeMs = 60 * dayMs;

/** Keeps PEM files; absent from disk for clusters in memory. */
interface PemFiles {
  read(name: string): string | undefined;
  write(name: string, text: string): void;
}

export async function openPki(directory: string | undefined, serverNames: SubjectNames, deps: PkiDeps): Promise<Pki> {
  const files = directory === undefined ? memoryFiles() : diskFiles(directory);
  const ca = await authority(files, 'ca', 'kubernetes', deps);
  const frontProxyCa = await authority(files, 'front-proxy-ca', 'front-proxy-ca', deps);
  const certificate = (
    name: string,
    subject: Subject,
    usages: readonly CertificateUsage[],
    names: SubjectNames = {},
    by = ca,
  ) => leaf(files, name, by, { subject, usages, ...names }, deps);
  const serviceAccountKeyPem = serviceAccountKey(files);
  return {
    ca,
    frontProxyCa,
    frontProxyClient: await certificate(
      'front-proxy-client',
      { commonName: 'front-proxy-client' },
      ['client auth'],
      {},
      frontProxyCa,
    ),
    apiServer: await certificate('apiserver', { commonName: 'kube-apiserver' }, ['server auth'], serverNames),
    kubeletClient: await certificate(
      'apiserver-kubelet-client',
      // kubeadm's own group would need a binding that only kubeadm makes: kubelets would refuse the API server.
      { commonName: 'kube-apiserver-kubelet-client', organizations: ['system:masters'] },
      ['client auth'],
    ),
    admin: await certificate('admin', { commonName: 'kubernetes-admin', organizations: ['system:masters'] }, [
      'client auth',
    ]),
    serviceAccountKeyPem,
    serviceAccountPublicKeyPem: createPublicKey(serviceAccountKeyPem).export({ type: 'spki', format: 'pem' }) as string,
    certificate,
  };
}

async function authority(
  files: PemFiles,
  name: string,
  commonName: string,
  { clock, random }: PkiDeps,
): Promise<KeyAndCertificate> {
  const kept = readPair(files, name);
  if (kept !== undefined) return kept;
  const { createAuthority } = await import('../base/x509.ts');
  // A minute of allowance: a client's clock may be a little behind.
  const made = createAuthority(commonName, clock.now() - 60_000, clock.now() + authorityLifeMs, random);
  return writePair(files, name, made);
}

interface LeafOptions extends SubjectNames {
  readonly subject: Subject;
  readonly usages: readonly CertificateUsage[];
}

async function leaf(
  files: PemFiles,
  name: string,
  by: KeyAndCertificate,
  options: LeafOptions,
  { clock, random }: PkiDeps,
): Promise<KeyAndCertificate> {
  const kept = readPair(files, name);
  if (kept !== undefined && isGood(kept, by, options, clock.now())) return kept;
  const { issue } = await import('../base/x509.ts');
  const times = { notBeforeMs: clock.now() - 60_000, notAfterMs: clock.now() + certificateLifeMs };
  return writePair(files, name, issue(by, { ...options, ...times }, random));
}

function isGood(
  kept: KeyAndCertificate,
  by: KeyAndCertificate,
  { dnsNames = [], ipAddresses = [] }: LeafOptions,
  nowMs: number,
): boolean {
  const certificate = new X509Certificate(kept.certificatePem);
  return (
    Date.parse(certificate.validTo) - nowMs > renewBeforeMs &&
    certificate.checkIssued(new X509Certificate(by.certificatePem)) &&
    dnsNames.every((name) => certificate.checkHost(name) !== undefined) &&
    ipAddresses.every((address) => certificate.checkIP(address) !== undefined)
  );
}

function serviceAccountKey(files: PemFiles): string {
  const kept = files.read('sa.key');
  if (kept !== undefined) return kept;
  const text = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }) as string;
  files.write('sa.key', text);
  files.write('sa.pub', createPublicKey(text).export({ type: 'spki', format: 'pem' }) as string);
  return text;
}

function readPair(files: PemFiles, name: string): KeyAndCertificate | undefined {
  const keyPem = files.read(`${name}.key`);
  const certificatePem = files.read(`${name}.crt`);
  if (keyPem === undefined || certificatePem === undefined) return undefined;
  return new X509Certificate(certificatePem).checkPrivateKey(createPrivateKey(keyPem))
    ? { keyPem, certificatePem }
    : undefined;
}

function writePair(files: PemFiles, name: string, pair: KeyAndCertificate): KeyAndCertificate {
  files.write(`${name}.key`, pair.keyPem);
  files.write(`${name}.crt`, pair.certificatePem);
  return pair;
}

function diskFiles(directory: string): PemFiles {
  guard(directory, () => mkdirSync(directory, { recursive: true, mode: 0o700 }));
  return {
    read(name) {
      const file = join(directory, name);
      return existsSync(file) ? guard(file, () => readFileSync(file, 'utf8')) : undefined;
    },
    write: (name, text) => guard(directory, () => replaceFile(join(directory, name), text)),
  };
}

function memoryFiles(): PemFiles {
  const kept = new Map<string, string>();
  return { read: (name) => kept.get(name), write: (name, text) => void kept.set(name, text) };
}
