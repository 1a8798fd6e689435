// Owns the validation of containers: regular, init, sidecar and ephemeral.
import type { Container, EphemeralContainer, PodSpec } from '../generated/core.v1.ts';
import type { Frozen } from '../meta.ts';
import { validateEnv, validateEnvFrom } from './env.ts';
import { dnsLabel, portName } from '../names.ts';
import { portNumber } from './formats.ts';
import { validateLifecycle, validateProbes } from './handlers.ts';
import { validateDevices, validateMounts, type Volumes } from './mounts.ts';
import type { Problems } from './problems.ts';
import { validateContainerResources } from './resources.ts';
import { validateSecurityContext } from './security-context.ts';

/** What containers are checked against: the rest of their pod. */
export interface ContainerSetting {
  readonly spec: Frozen<PodSpec>;
  readonly volumes: Volumes;
  readonly claimNames: ReadonlySet<string>;
  readonly isPod: boolean;
}

export function validateContainers(problems: Problems, path: string, setting: ContainerSetting): void {
  const containers = setting.spec.containers ?? [];
  if (containers.length === 0) return problems.required(path);
  const names = new Set<string>();
  const grace = setting.spec.terminationGracePeriodSeconds ?? 0;
  containers.forEach((container, at) => {
    const here = `${path}[${at}]`;
    validateCommon(problems, here, container, setting);
    if (names.has(container.name ?? '')) problems.duplicate(`${here}.name`, container.name ?? '');
    else names.add(container.name ?? '');
    validateLifecycle(problems, `${here}.lifecycle`, container.lifecycle, grace);
    validateProbes(problems, here, container, grace);
    validateRestart(problems, here, container, setting, ['Always', 'Never', 'OnFailure']);
  });
  validateHostPorts(problems, path, containers);
}

export function validateInitContainers(problems: Problems, path: string, setting: ContainerSetting): void {
  const names = new Set(setting.spec.containers?.map(({ name }) => name));
  const grace = setting.spec.terminationGracePeriodSeconds ?? 0;
  setting.spec.initContainers?.forEach((container, at) => {
    const here = `${path}[${at}]`;
    validateCommon(problems, here, container, setting);
    validateRestart(problems, here, container, setting, ['Always', 'Never', 'OnFailure']);
    if (names.has(container.name ?? '')) problems.duplicate(`${here}.name`, container.name ?? '');
    else if (container.name) names.add(container.name);
    // Init containers run one after another: ports may clash between, not within them. The index is lost, as upstream.
    validateHostPorts(problems, path, [container]);
    if (container.restartPolicy === 'Always') {
      validateLifecycle(problems, `${here}.lifecycle`, container.lifecycle, grace);
      validateProbes(problems, here, container, grace);
      return;
    }
    for (const field of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const)
      if (container[field] !== undefined)
        problems.forbidden(`${here}.${field}`, 'may not be set for init containers without restartPolicy=Always');
  });
}

const forbiddenForEphemeral: readonly (keyof EphemeralContainer)[] = [
  'ports',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
];

export function validateEphemeralContainers(problems: Problems, path: string, setting: ContainerSetting): void {
  const { initContainers = [], ephemeralContainers = [] } = setting.spec;
  // Absent containers are null.
  const containers = setting.spec.containers ?? [];
  if (ephemeralContainers.length === 0) return;
  const others = new Set([...containers, ...initContainers].map(({ name }) => name));
  const names = new Set(others);
  ephemeralContainers.forEach((container, at) => {
    const here = `${path}[${at}]`;
    validateCommon(problems, here, container, setting);
    validateImageIsTrimmed(problems, here, container);
    if (names.has(container.name ?? '')) problems.duplicate(`${here}.name`, container.name ?? '');
    else names.add(container.name ?? '');
    if (container.targetContainerName && !others.has(container.targetContainerName))
      problems.notFound(`${here}.targetContainerName`, container.targetContainerName);
    for (const field of forbiddenForEphemeral) {
      if (isSet(field, container[field]))
        problems.forbidden(`${here}.${field}`, 'cannot be set for an Ephemeral Container');
    }
    container.volumeMounts?.forEach((mount, i) => {
      for (const field of ['subPath', 'subPathExpr'] as const)
        if (mount[field])
          problems.forbidden(`${here}.volumeMounts[${i}].${field}`, 'cannot be set for an Ephemeral Container');
    });
  });
}

/** Resources are no pointer upstream: empty ones are as good as none. Empty lists, though, are told of. */
function isSet(field: keyof EphemeralContainer, value: unknown): boolean {
  if (value === undefined || value === null || value === '') return false;
  return field !== 'resources' || Object.keys(value).length > 0;
}

function validateCommon(
  problems: Problems,
  path: string,
  container: Frozen<Container | EphemeralContainer>,
  setting: ContainerSetting,
): void {
  if (!container.name) problems.required(`${path}.name`);
  else problems.each(`${path}.name`, container.name, dnsLabel(container.name));
  if (!container.image) problems.required(`${path}.image`);
  problems.oneOf(`${path}.terminationMessagePolicy`, container.terminationMessagePolicy, [
    'FallbackToLogsOnError',
    'File',
  ]);
  if (container.ports) validatePorts(problems, `${path}.ports`, container.ports);
  if (container.env) validateEnv(problems, `${path}.env`, container.env);
  if (container.envFrom) validateEnvFrom(problems, `${path}.envFrom`, container.envFrom);
  if (container.volumeMounts) validateMounts(problems, `${path}.volumeMounts`, container, setting.volumes);
  if (container.volumeDevices) validateDevices(problems, `${path}.volumeDevices`, container, setting.volumes);
  problems.oneOf(`${path}.imagePullPolicy`, container.imagePullPolicy, ['Always', 'IfNotPresent', 'Never']);
  validateContainerResources(problems, `${path}.resources`, container.resources, setting.claimNames);
  if (container.resizePolicy) validateResizePolicy(problems, `${path}.resizePolicy`, container, setting.spec);
  validateSecurityContext(
    problems,
    `${path}.securityContext`,
    container.securityContext,
    setting.spec.hostUsers !== false,
  );
}

function validateResizePolicy(
  problems: Problems,
  path: string,
  container: Frozen<Container | EphemeralContainer>,
  spec: Frozen<PodSpec>,
): void {
  const seen = new Set<string>();
  container.resizePolicy?.forEach((policy, at) => {
    if (seen.has(policy.resourceName)) problems.duplicate(`${path}[${at}]`, policy.resourceName);
    seen.add(policy.resourceName);
    problems.oneOf(path, policy.resourceName, ['cpu', 'memory']);
    problems.oneOf(path, policy.restartPolicy, ['NotRequired', 'RestartContainer']);
    const restarts = container.restartPolicy ?? spec.restartPolicy;
    if (restarts === 'Never' && policy.restartPolicy !== 'NotRequired' && !container.restartPolicyRules?.length)
      problems.invalid(path, policy.restartPolicy, "must be 'NotRequired' when `restartPolicy` is 'Never'");
  });
}

function validatePorts(problems: Problems, path: string, ports: NonNullable<Frozen<Container>['ports']>): void {
  const names = new Set<string>();
  ports.forEach((port, at) => {
    const here = `${path}[${at}]`;
    if (port.name) {
      const wrong = portName(port.name);
      if (wrong.length > 0) problems.each(`${here}.name`, port.name, wrong);
      else if (names.has(port.name)) problems.duplicate(`${here}.name`, port.name);
      else names.add(port.name);
    }
    if (!port.containerPort) problems.required(`${here}.containerPort`);
    else problems.each(`${here}.containerPort`, port.containerPort, portNumber(port.containerPort));
    if (port.hostPort) problems.each(`${here}.hostPort`, port.hostPort, portNumber(port.hostPort));
    problems.oneOf(`${here}.protocol`, port.protocol, protocols);
  });
}

export const protocols = ['SCTP', 'TCP', 'UDP'] as const;

function validateHostPorts(problems: Problems, path: string, containers: readonly Frozen<Container>[]): void {
  const seen = new Set<string>();
  containers.forEach((container, at) =>
    container.ports?.forEach((port, i) => {
      if (!port.hostPort) return;
      const key = `${port.protocol ?? ''}/${port.hostIP ?? ''}/${port.hostPort}`;
      if (seen.has(key)) problems.duplicate(`${path}[${at}].ports[${i}].hostPort`, key);
      else seen.add(key);
    }),
  );
}

/** A container's own restart policy and its rules by exit code. */
function validateRestart(
  problems: Problems,
  path: string,
  container: Frozen<Container>,
  setting: ContainerSetting,
  policies: readonly string[],
): void {
  const { restartPolicy, restartPolicyRules = [] } = container;
  problems.optionalOneOf(`${path}.restartPolicy`, restartPolicy, policies);
  if (restartPolicyRules.length === 0) return;
  const rules = `${path}.restartPolicyRules`;
  if (restartPolicy === undefined) problems.required(`${path}.restartPolicy`, 'must be set to use restartPolicyRules');
  if (restartPolicyRules.length > 20) problems.tooMany(rules, restartPolicyRules.length, 20);
  restartPolicyRules.forEach((rule, at) => {
    const here = `${rules}[${at}]`;
    problems.oneOf(`${here}.action`, rule.action, ['Restart', 'RestartAllContainers']);
    if (rule.exitCodes === undefined) return problems.required(`${here}.exitCodes`, 'must be specified');
    const { operator = '', values = [] } = rule.exitCodes;
    problems.optionalOneOf(`${here}.exitCodes.operator`, operator, ['In', 'NotIn']);
    // None is accepted, though it matches nothing or everything.
    if (values.length > 255) problems.tooMany(`${here}.exitCodes.values`, values.length, 255);
  });
}

/** Pods, unlike templates, refuse blanks around image names. */
export function validateImageIsTrimmed(
  problems: Problems,
  path: string,
  { image = '' }: Frozen<Container | EphemeralContainer>,
): void {
  if (image.trim() !== image) problems.invalid(`${path}.image`, image, 'must not have leading or trailing whitespace');
}
