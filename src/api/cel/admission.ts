// Owns what expressions of admission see: the request, the object before and after, parameters, composed variables, mutations.
import { environment, type CompiledExpression, type Environment } from './environment.ts';
import { define, type Library, overload } from './functions.ts';
import { authorizer, authorizerType, resourceCheckType } from './library/authorizer.ts';
import { bool, type CelType, dyn, int, list, map, string, type StructType, timestamp } from './types.ts';
import { CelError } from './values.ts';

export function structOf(name: string, fields: Readonly<Record<string, CelType>>): StructType {
  return { kind: 'struct', name, field: (field) => (Object.hasOwn(fields, field) ? fields[field] : undefined) };
}

const kindOf = structOf('kubernetes.GroupVersionKind', { group: string, version: string, kind: string });
const resourceOf = structOf('kubernetes.GroupVersionResource', { group: string, version: string, resource: string });

const userType = structOf('kubernetes.UserInfo', {
  username: string,
  uid: string,
  groups: list(string),
  extra: map(string, list(string)),
});

/** AdmissionRequest without its uid and objects. */
const requestType = structOf('kubernetes.AdmissionRequest', {
  kind: kindOf,
  resource: resourceOf,
  subResource: string,
  requestKind: kindOf,
  requestResource: resourceOf,
  requestSubResource: string,
  name: string,
  namespace: string,
  operation: string,
  userInfo: userType,
  dryRun: bool,
  options: dyn,
});

const namespaceType = structOf('kubernetes.Namespace', {
  metadata: structOf('kubernetes.NamespaceMetadata', {
    name: string,
    generateName: string,
    namespace: string,
    labels: map(string, string),
    annotations: map(string, string),
    UID: string,
    creationTimestamp: timestamp,
    deletionGracePeriodSeconds: int,
    deletionTimestamp: timestamp,
    generation: int,
    resourceVersion: string,
    finalizers: list(string),
  }),
  spec: structOf('kubernetes.NamespaceSpec', { finalizers: list(string) }),
  status: structOf('kubernetes.NamespaceStatus', { phase: string }),
});

const patchType = structOf('JSONPatch', { op: string, path: string, from: string, value: dyn });

const jsonPatch: Library = {
  name: 'kubernetes.jsonpatch',
  functions: [
    define(
      'jsonpatch.escapeKey',
      overload([string], string, ([key]) => {
        if (typeof key !== 'string') throw new CelError('no such overload');
        return key.replaceAll('~', '~0').replaceAll('/', '~1');
      }),
    ),
  ],
};

/** "Object", "Object.spec.template": built freely, judged against the kind's shape when they are applied. */
function builtType(name: string): CelType | undefined {
  if (name === 'JSONPatch') return patchType;
  if (name !== 'Object' && !name.startsWith('Object.')) return undefined;
  return { kind: 'struct', name, field: () => dyn };
}

export interface AdmissionVariables {
  readonly params?: boolean;
  readonly authorizer?: boolean;
  /** What is known of `object` and `oldObject`; absent: anything. */
  readonly objectType?: CelType;
  /** What is known of `params`; absent: anything. */
  readonly paramsType?: CelType;
  /** Types of the composed variables that are known so far. */
  readonly variables?: ReadonlyMap<string, CelType>;
  /** Objects and patches may be built. */
  readonly mutations?: boolean;
}

export function admissionEnvironment(options: AdmissionVariables): Environment {
  const { variables } = options;
  const composed: StructType = {
    kind: 'struct',
    name: 'kubernetes.variables',
    field: (name) => variables?.get(name),
  };
  return environment({
    variables: {
      object: options.objectType ?? dyn,
      oldObject: options.objectType ?? dyn,
      request: requestType,
      namespaceObject: namespaceType,
      ...(options.params && { params: options.paramsType ?? dyn }),
      ...(options.authorizer && {
        authorizer: authorizerType,
        'authorizer.requestResource': resourceCheckType,
      }),
      ...(variables && { variables: composed }),
    },
    libraries: [authorizer, ...(options.mutations ? [jsonPatch] : [])],
    ...(options.mutations && { structType: builtType }),
  });
}

export type { CompiledExpression };
