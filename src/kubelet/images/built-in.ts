// Owns the list of images that need no network: pause, the demo server, and a busybox of the host's for those who have one.
import { executable } from './elf.ts';
import { helloPort, helloProgram } from './hello.ts';
import type { ImageSpec } from './image.ts';
import type { Architecture } from './machine.ts';
import { pauseProgram } from './pause.ts';

export const pauseImageName = 'k8ts.local/pause:1';
export const helloImageName = 'k8ts.local/hello:1';
export const busyboxImageName = 'k8ts.local/busybox:1';

/** The architecture of `process.arch`, or undefined where the built-in images cannot run. */
export function architectureOf(processArch: string): Architecture | undefined {
  if (processArch === 'x64') return 'amd64';
  return processArch === 'arm64' ? 'arm64' : undefined;
}

export function pauseImage(architecture: Architecture): ImageSpec {
  return {
    name: pauseImageName,
    architecture,
    files: [{ path: 'pause', content: executable(pauseProgram, architecture) }],
    entrypoint: ['/pause'],
    user: '65535:65535',
  };
}

export function helloImage(architecture: Architecture): ImageSpec {
  return {
    name: helloImageName,
    architecture,
    files: [{ path: 'hello', content: executable(helloProgram, architecture) }],
    entrypoint: ['/hello'],
    exposedPorts: [`${helloPort}/tcp`],
  };
}

/** `applets`: what `busybox --list` says. */
export function busyboxImage(architecture: Architecture, binary: Uint8Array, applets: readonly string[]): ImageSpec {
  return {
    name: busyboxImageName,
    architecture,
    files: [
      { path: 'bin/busybox', content: binary },
      ...applets.filter((name) => name !== 'busybox').map((name) => ({ path: `bin/${name}`, link: '/bin/busybox' })),
      { path: 'etc/passwd', content: Buffer.from('root:x:0:0:root:/root:/bin/sh\n'), mode: 0o644 },
      { path: 'etc/group', content: Buffer.from('root:x:0:\n'), mode: 0o644 },
      { path: 'tmp/.keep', content: new Uint8Array(0), mode: 0o644 },
      { path: 'root/.keep', content: new Uint8Array(0), mode: 0o644 },
    ],
    entrypoint: [],
    cmd: ['sh'],
  };
}
