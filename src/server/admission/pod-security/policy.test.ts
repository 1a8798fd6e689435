// Tests the Pod Security Standards by table: level, version and pod in; what is violated out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSpec } from '../../../api/generated/core.v1.ts';
import type { PodView } from './controls.ts';
import { defaultPodSecurity } from './pod-security.ts';
import { readPolicy, violations } from './policy.ts';
import type { Level } from './policy.ts';

const good = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

function pod(spec: Partial<PodSpec>, container: object = {}, annotations: Record<string, string> = {}): PodView {
  return { annotations, spec: { containers: [{ name: 'c', image: 'x', ...container }], ...spec } as PodSpec };
}

const cases: [string, Level, number | undefined, PodView, number][] = [
  ['a plain pod', 'baseline', undefined, pod({}), 0],
  ['a plain pod is not restricted', 'restricted', undefined, pod({}), 4],
  ['a good pod', 'restricted', undefined, pod({}, { securityContext: good }), 0],
  ['anything is privileged', 'privileged', undefined, pod({ hostPID: true }), 0],
  ['host namespaces count once', 'baseline', undefined, pod({ hostPID: true, hostIPC: true }), 1],
  [
    'app armor by annotation',
    'baseline',
    undefined,
    pod({}, {}, { 'container.apparmor.security.beta.kubernetes.io/c': 'unconfined' }),
    1,
  ],
  [
    'seccomp by annotation, before 1.19',
    'baseline',
    18,
    pod({}, {}, { 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined' }),
    1,
  ],
  [
    'seccomp by annotation, since',
    'baseline',
    19,
    pod({}, {}, { 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined' }),
    0,
  ],
  [
    'windows need no linux profile',
    'restricted',
    25,
    pod({ os: { name: 'windows' } }, { securityContext: { runAsNonRoot: true } }),
    0,
  ],
  [
    'windows before 1.25',
    'restricted',
    24,
    pod({ os: { name: 'windows' } }, { securityContext: { runAsNonRoot: true } }),
    3,
  ],
  ['selinux user', 'baseline', undefined, pod({ securityContext: { seLinuxOptions: { user: 'u' } } }), 1],
  [
    'ephemeral containers count',
    'baseline',
    undefined,
    pod({ ephemeralContainers: [{ name: 'e', image: 'x', securityContext: { privileged: true } }] } as never),
    1,
  ],
  [
    'a volume of two controls is told by one',
    'restricted',
    undefined,
    pod({ volumes: [{ name: 'v', hostPath: { path: '/' } }] }, { securityContext: good }),
    1,
  ],
];

for (const [name, level, minor, view, count] of cases)
  test(`pod security: ${name}`, () => {
    const found = violations({ level, minor }, view);
    assert.equal(found.length, count, found.join('\n'));
  });

test('pod security labels: what cannot be read is an error and never lax', () => {
  const { policy, errors } = readPolicy(
    { 'pod-security.kubernetes.io/enforce': 'lax', 'pod-security.kubernetes.io/warn-version': '1.30' },
    defaultPodSecurity.defaults,
  );
  assert.equal(policy.enforce.level, 'restricted');
  assert.equal(errors.length, 2);
});
