// Owns the program of the demo image: a small HTTP server that says its host's name and a file's content. Needs nothing in its root.
import { signalSet } from './pause.ts';
import {
  add,
  address,
  call,
  giveBack,
  goto,
  label,
  load,
  type Operand,
  type Program,
  type Step,
  store,
  subtract,
  syscall,
  when,
  set,
} from './program.ts';

/** Where the server looks for a text to show: a ConfigMap volume's key in the example. */
const helloMessagePath = '/etc/hello/message';
export const helloPort = 8080;

const requestBytes = 4096;
const messageBytes = 65536;
const utsNodeOffset = 65;
const atFdCwd = -100;
const pollIn = 1;
/** poll entries are eight bytes: fd, wanted events, seen events. */
const pollEntries = 2 * 8;

const texts = {
  signals: signalSet(2, 15),
  /** sockaddr_in6 with the port in network order: takes IPv4 too. */
  anyAddress: Uint8Array.from([10, 0, helloPort >> 8, helloPort & 0xff, ...new Array<number>(24).fill(0)]),
  anyAddress4: Uint8Array.from([2, 0, helloPort >> 8, helloPort & 0xff, ...new Array<number>(12).fill(0)]),
  one: Uint8Array.from([1, 0, 0, 0]),
  /** struct timeval of two seconds: a silent client does not hold the server. */
  patience: Uint8Array.from([2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
  noWait: new Uint8Array(16),
  path: `${helloMessagePath}\0`,
  head: 'HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n',
  greeting: 'Hello from ',
  newline: '\n',
  started: `listening on port ${helloPort}\n`,
  stopping: 'stopping\n',
  failed: `cannot listen on port ${helloPort}\n`,
} as const;

const lengthOf = (name: keyof typeof texts): number => Buffer.byteLength(texts[name] as string);

const write = (fd: Operand, name: keyof typeof texts): Step =>
  syscall('ignored', 'write', fd, address(name), lengthOf(name));

/** Stores a descriptor and POLLIN into one poll entry. */
const pollEntry = (index: number, fd: string): Step[] => [
  add('entry', address('poll'), index * 8),
  store('entry', fd),
  add('entry', 'entry', 4),
  store('entry', pollIn),
];

const listen: readonly Step[] = [
  syscall('ignored', 'rt_sigprocmask', 0, address('signals'), 0, 8),
  syscall('signalFd', 'signalfd4', -1, address('signals'), 8, 0),
  syscall('listener', 'socket', 10, 1, 0),
  when('listener', '<', 0, 'ipv4'),
  syscall('ignored', 'setsockopt', 'listener', 1, 2, address('one'), 4),
  syscall('result', 'bind', 'listener', address('anyAddress'), 28),
  when('result', '==', 0, 'bound'),
  label('ipv4'),
  syscall('listener', 'socket', 2, 1, 0),
  syscall('ignored', 'setsockopt', 'listener', 1, 2, address('one'), 4),
  syscall('result', 'bind', 'listener', address('anyAddress4'), 16),
  when('result', '==', 0, 'bound'),
  write(2, 'failed'),
  syscall('ignored', 'exit_group', 1),
  label('bound'),
  syscall('result', 'listen', 'listener', 128),
  write(1, 'started'),
  syscall('ignored', 'uname', address('uts')),
  // The host name's length.
  add('hostName', address('uts'), utsNodeOffset),
  set('hostNameLength', 0),
  label('measure'),
  add('at', 'hostName', 'hostNameLength'),
  load('byte', 'at'),
  when('byte', '==', 0, 'serve'),
  add('hostNameLength', 'hostNameLength', 1),
  goto('measure'),
];

const serve: readonly Step[] = [
  label('serve'),
  ...pollEntry(0, 'listener'),
  ...pollEntry(1, 'signalFd'),
  syscall('result', 'ppoll', address('poll'), 2, 0, 0, 8),
  when('result', '<', 0, 'serve'),
  add('entry', address('poll'), 8 + 6),
  load('stopAsked', 'entry'),
  when('stopAsked', '!=', 0, 'drain'),
  call('answer'),
  goto('serve'),
  // Connections that the kernel already took are answered before the end.
  label('drain'),
  write(1, 'stopping'),
  label('drainNext'),
  syscall('result', 'ppoll', address('poll'), 1, address('noWait'), 0, 8),
  when('result', '<', 1, 'end'),
  call('answer'),
  goto('drainNext'),
  label('end'),
  syscall('ignored', 'exit_group', 0),
];

const answer: readonly Step[] = [
  label('answer'),
  syscall('client', 'accept4', 'listener', 0, 0, 0),
  when('client', '<', 0, 'answered'),
  syscall('ignored', 'setsockopt', 'client', 1, 20, address('patience'), 16),
  syscall('ignored', 'setsockopt', 'client', 1, 21, address('patience'), 16),
  syscall('length', 'read', 'client', address('request'), requestBytes),
  when('length', '<', 1, 'hangUp'),
  // The access log is the request's first line.
  set('lineLength', 0),
  label('line'),
  add('at', address('request'), 'lineLength'),
  load('byte', 'at'),
  when('byte', '<', 32, 'lineEnd'),
  add('lineLength', 'lineLength', 1),
  when('lineLength', '<', 'length', 'line'),
  label('lineEnd'),
  syscall('ignored', 'write', 1, address('request'), 'lineLength'),
  write(1, 'newline'),
  write('client', 'head'),
  write('client', 'greeting'),
  syscall('ignored', 'write', 'client', 'hostName', 'hostNameLength'),
  write('client', 'newline'),
  syscall('file', 'openat', atFdCwd, address('path'), 0, 0),
  when('file', '<', 0, 'hangUp'),
  syscall('length', 'read', 'file', address('message'), messageBytes),
  syscall('ignored', 'close', 'file'),
  when('length', '<', 1, 'hangUp'),
  syscall('ignored', 'write', 'client', address('message'), 'length'),
  subtract('at', 'length', 1),
  add('at', 'at', address('message')),
  load('byte', 'at'),
  when('byte', '==', 10, 'hangUp'),
  write('client', 'newline'),
  label('hangUp'),
  syscall('ignored', 'shutdown', 'client', 1),
  // Reads to the end first: closing with unread bytes would reset the connection under the answer.
  label('rest'),
  syscall('length', 'read', 'client', address('request'), requestBytes),
  when('length', '>=', 1, 'rest'),
  syscall('ignored', 'close', 'client'),
  label('answered'),
  giveBack,
];

export const helloProgram: Program = {
  texts,
  buffers: { poll: pollEntries, uts: 390, request: requestBytes, message: messageBytes },
  steps: [...listen, ...serve, ...answer],
};
