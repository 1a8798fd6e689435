// Owns what is counted of pod security: judgements by mode and level, and what was exempt.
import type { MetricsRegistry } from '../../base/metrics.ts';
import type { AdmissionRequest } from '../admission/admission.ts';
import type { LevelVersion, Mode } from '../admission/pod-security/policy.ts';

type Request = Pick<AdmissionRequest, 'operation' | 'subresource' | 'served'>;

export interface PodSecurityMetrics {
  judged(request: Request, mode: Mode, policy: LevelVersion, isAllowed: boolean): void;
  exempted(request: Request): void;
}

export function podSecurityMetrics(registry: MetricsRegistry): PodSecurityMetrics {
  const evaluations = registry.counters('pod_security_evaluations_total', 'Judgements of pods and of templates.', [
    'decision',
    'mode',
    'policy_level',
    'policy_version',
    'request_operation',
    'resource',
    'subresource',
  ]);
  const exemptions = registry.counters('pod_security_exemptions_total', 'Pods and templates not judged.', [
    'request_operation',
    'resource',
    'subresource',
  ]);
  const shapeOf = ({ operation, subresource, served: { resource } }: Request): [string, string, string] => [
    operation.toLowerCase(),
    resource.group === '' && resource.plural === 'pods' ? 'pod' : 'controller',
    subresource,
  ];
  // These are there before the first of them happens.
  for (const operation of ['create', 'update']) {
    for (const resource of ['pod', 'controller']) exemptions.of(operation, resource, '');
    evaluations.of('allow', 'enforce', 'privileged', 'latest', operation, 'pod', '');
  }
  return {
    judged(request, mode, { level, minor }, isAllowed) {
      const version = minor === undefined ? 'latest' : `v1.${minor}`;
      evaluations.of(isAllowed ? 'allow' : 'deny', mode, level, version, ...shapeOf(request)).inc();
    },
    exempted: (request) => exemptions.of(...shapeOf(request)).inc(),
  };
}
