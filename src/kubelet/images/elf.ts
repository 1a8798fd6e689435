// Owns static ELF executables for Linux: code and data of a program in a file that the kernel runs, with no library and no loader.
import { type Architecture, assemble, type Place } from './machine.ts';
import { type Program, variablesOf } from './program.ts';

const codeAddress = 0x400000;
const dataAddress = 0x10000000;
const headerBytes = 64 + 2 * 56;
/** arm64 kernels may have pages of 64 KiB. */
const pages: Readonly<Record<Architecture, number>> = { amd64: 0x1000, arm64: 0x10000 };

export function executable(program: Program, architecture: Architecture): Uint8Array {
  const page = pages[architecture];
  const layout = layoutData(program);
  const code = assemble(program.steps, architecture, layout.place);
  const codeFileBytes = headerBytes + code.length;
  const dataOffset = Math.ceil(codeFileBytes / page) * page;
  const file = new Uint8Array(dataOffset + layout.bytes.length);
  const view = new DataView(file.buffer);
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  view.setUint16(16, 2, true);
  view.setUint16(18, architecture === 'amd64' ? 62 : 183, true);
  view.setUint32(20, 1, true);
  view.setBigUint64(24, BigInt(codeAddress + headerBytes), true);
  view.setBigUint64(32, 64n, true);
  view.setUint16(52, 64, true);
  view.setUint16(54, 56, true);
  view.setUint16(56, 2, true);
  segment(view, 64, page, {
    readable: 5,
    offset: 0,
    address: codeAddress,
    fileBytes: codeFileBytes,
    bytes: codeFileBytes,
  });
  segment(view, 120, page, {
    readable: 6,
    offset: dataOffset,
    address: dataAddress,
    fileBytes: layout.bytes.length,
    bytes: layout.size,
  });
  file.set(code, headerBytes);
  file.set(layout.bytes, dataOffset);
  return file;
}

function segment(
  view: DataView,
  at: number,
  page: number,
  part: { readable: number; offset: number; address: number; fileBytes: number; bytes: number },
): void {
  view.setUint32(at, 1, true);
  view.setUint32(at + 4, part.readable, true);
  view.setBigUint64(at + 8, BigInt(part.offset), true);
  view.setBigUint64(at + 16, BigInt(part.address), true);
  view.setBigUint64(at + 24, BigInt(part.address), true);
  view.setBigUint64(at + 32, BigInt(part.fileBytes), true);
  view.setBigUint64(at + 40, BigInt(part.bytes), true);
  view.setBigUint64(at + 48, BigInt(page), true);
}

interface Layout {
  readonly place: Place;
  /** What the file holds of the data segment; the rest up to `size` is zeroed by the kernel. */
  readonly bytes: Uint8Array;
  readonly size: number;
}

function layoutData(program: Program): Layout {
  const places = new Map<string, number>();
  const texts: { readonly at: number; readonly bytes: Uint8Array }[] = [];
  let at = 0;
  const reserve = (name: string, size: number): void => {
    if (places.has(name)) throw new Error(`${name} is defined twice`);
    places.set(name, dataAddress + at);
    at = Math.ceil((at + size) / 16) * 16;
  };
  for (const [name, text] of Object.entries(program.texts)) {
    const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
    texts.push({ at, bytes });
    reserve(name, bytes.length);
  }
  const bytes = new Uint8Array(at);
  for (const text of texts) bytes.set(text.bytes, text.at);
  for (const name of variablesOf(program)) reserve(name, 8);
  for (const [name, size] of Object.entries(program.buffers)) reserve(name, size);
  return {
    bytes,
    size: at,
    place: (name) => {
      const found = places.get(name);
      if (found === undefined) throw new Error(`no variable, buffer or text ${name}`);
      return found;
    },
  };
}
