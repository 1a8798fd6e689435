// Owns what device selectors see: `device`, with its driver, attributes and capacity.
import { environment } from './environment.ts';
import { structOf } from './admission.ts';
import { bool, dyn, map, opaque, string } from './types.ts';

export const deviceType = structOf('kubernetes.DRADevice', {
  driver: string,
  attributes: map(string, map(string, dyn)),
  capacity: map(string, map(string, opaque('kubernetes.Quantity'))),
  allowMultipleAllocations: bool,
});

/** Compiles selectors; throws CelSyntaxError. */
export const deviceEnvironment = environment({ variables: { device: deviceType } });
