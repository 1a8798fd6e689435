// Owns the list of all controllers: what kube-controller-manager runs, in the order in which they start.
import type { Controller, ControllerContext } from '../framework/controller.ts';
import type { Selectable } from '../framework/selection.ts';
import { deploymentController } from '../deployment/deployment.ts';
import { replicaSetController, replicationControllerController } from '../replicaset/replicaset.ts';
import type { ControllerManagerOptions } from './options.ts';

export interface ControllerEntry extends Selectable {
  /** Undefined: the options give nothing to do (no signer, no CIDR). */
  make(context: ControllerContext, options: ControllerManagerOptions): Controller | undefined;
}

export const controllers: readonly ControllerEntry[] = [
  { name: 'deployment-controller', make: deploymentController },
  { name: 'replicaset-controller', make: replicaSetController },
  { name: 'replicationcontroller-controller', make: replicationControllerController },
];
