import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FlagError, type FlagTable, flagHelp, parseFlags } from './flags.ts';

const table = {
  'secure-port': { type: 'number', help: 'port', default: '6443' },
  'tls-cert-file': { type: 'text', help: 'certificate' },
  'allow-privileged': { type: 'switch', help: 'privileged' },
  'node-status-update-frequency': { type: 'duration', help: 'how often' },
  'authorization-mode': { type: 'list', help: 'modes' },
  'feature-gates': { type: 'map', help: 'gates' },
} as const satisfies FlagTable;

for (const [args, expected] of [
  [[], { 'secure-port': 6443, 'tls-cert-file': undefined }],
  [['--secure-port=1', '--tls-cert-file', '/x=y'], { 'secure-port': 1, 'tls-cert-file': '/x=y' }],
  [['--allow-privileged', '--secure_port', '2'], { 'allow-privileged': true, 'secure-port': 2 }],
  [['--allow-privileged=false'], { 'allow-privileged': false }],
  [['--node-status-update-frequency=1m30s'], { 'node-status-update-frequency': 90_000 }],
  [
    ['--authorization-mode=Node,RBAC', '--authorization-mode=Webhook'],
    { 'authorization-mode': ['Node', 'RBAC', 'Webhook'] },
  ],
  [
    ['--feature-gates=A=true,B=false'],
    {
      'feature-gates': new Map([
        ['A', 'true'],
        ['B', 'false'],
      ]),
    },
  ],
] as const) {
  test(`flags ${args.join(' ')}`, () => {
    const values = parseFlags(table, args);
    assert.deepEqual({ ...values, ...expected }, values);
  });
}

for (const [args, says] of [
  [['--nothing'], /unknown flag: --nothing/],
  [['--__proto__=x'], /unknown flag/],
  [['word'], /unknown argument: word/],
  [['--tls-cert-file'], /needs an argument/],
  [['--secure-port=x'], /invalid argument "x" for --secure-port/],
  [['--allow-privileged=perhaps'], /must be true or false/],
  [['--node-status-update-frequency=soon'], /must be a duration/],
  [['--feature-gates=A'], /must be key=value/],
] as const) {
  test(`flags ${args.join(' ')} are refused`, () => {
    assert.throws(
      () => parseFlags(table, args),
      (error) => error instanceof FlagError && says.test(error.message),
    );
  });
}

test('help names each flag with its default', () => {
  assert.match(flagHelp('k8ts kube-apiserver [flags]', table), /--secure-port number\s+port \(default 6443\)/);
});
