// Generated from facts/ by tools/generate; run `npm run generate`.

export interface TopologyConstraint {
  key: string;
}

export interface WorkloadPodGroupAllDisruptionMode {

}

export interface WorkloadPodGroupBasicSchedulingPolicy {

}

export interface WorkloadPodGroupDisruptionMode {
  single?: WorkloadPodGroupSingleDisruptionMode;
  all?: WorkloadPodGroupAllDisruptionMode;
}

export interface WorkloadPodGroupGangSchedulingPolicy {
  minCount?: number;
}

export interface WorkloadPodGroupResourceClaim {
  name: string;
  resourceClaimName?: string;
  resourceClaimTemplateName?: string;
}

export interface WorkloadPodGroupSchedulingConstraints {
  topology?: TopologyConstraint[];
}

export interface WorkloadPodGroupSchedulingPolicy {
  basic?: WorkloadPodGroupBasicSchedulingPolicy;
  gang?: WorkloadPodGroupGangSchedulingPolicy;
}

export interface WorkloadPodGroupSingleDisruptionMode {

}
