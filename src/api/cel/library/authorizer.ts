// Owns Kubernetes' authorizer library of CEL (documentation "Kubernetes authorizer library"): questions of access within expressions.
import { define, type Library, member } from '../functions.ts';
import { bool, opaque, string } from '../types.ts';
import { CelError, CelOpaque, type CelValue } from '../values.ts';

export const authorizerType = opaque('kubernetes.authorization.Authorizer');
const pathCheck = opaque('kubernetes.authorization.PathCheck');
const groupCheck = opaque('kubernetes.authorization.GroupCheck');
export const resourceCheckType = opaque('kubernetes.authorization.ResourceCheck');
const decision = opaque('kubernetes.authorization.Decision');

/** What is asked. Of a path: `path` alone; of a resource: the rest. */
export interface AccessQuestion {
  /** "system:serviceaccount:ns:name"; undefined: who made the request. */
  readonly user?: string;
  readonly path?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

export interface AccessAnswer {
  readonly allowed: boolean;
  readonly reason: string;
  /** Set when it could not be decided. */
  readonly error?: string;
}

export type Decide = (question: AccessQuestion, verb: string) => AccessAnswer;

abstract class AuthorizationValue extends CelOpaque {
  equals(other: CelOpaque): boolean {
    return other === this;
  }
}

/** `authorizer`, and each step of its questions. */
export class CelAccess extends AuthorizationValue {
  readonly typeName: string;
  readonly decide: Decide;
  readonly question: AccessQuestion;

  constructor(decide: Decide, question: AccessQuestion = {}, typeName = 'kubernetes.authorization.Authorizer') {
    super();
    this.decide = decide;
    this.question = question;
    this.typeName = typeName;
  }

  with(part: AccessQuestion, typeName = this.typeName): CelAccess {
    return new CelAccess(this.decide, { ...this.question, ...part }, typeName);
  }
}

class CelDecision extends AuthorizationValue {
  readonly typeName = 'kubernetes.authorization.Decision';
  readonly answer: AccessAnswer;
  constructor(answer: AccessAnswer) {
    super();
    this.answer = answer;
  }
}

function accessOf(value: CelValue | undefined): CelAccess {
  if (value instanceof CelAccess) return value;
  throw new CelError('no such overload');
}

function answerOf(value: CelValue | undefined): AccessAnswer {
  if (value instanceof CelDecision) return value.answer;
  throw new CelError('no such overload');
}

const textOf = (value: CelValue | undefined): string => {
  if (typeof value === 'string') return value;
  throw new CelError('no such overload');
};

const part = (field: keyof AccessQuestion): ReturnType<typeof define> =>
  define(
    field,
    member(resourceCheckType, [string], resourceCheckType, ([check, text]) =>
      accessOf(check).with({ [field]: textOf(text) }),
    ),
  );

/** One question costs as much as upstream counts for it. */
const costs = { cost: () => 350_000 };

const ask = ([check, verb]: readonly CelValue[]): CelValue => {
  const { decide, question } = accessOf(check);
  return new CelDecision(decide(question, textOf(verb)));
};

export const authorizer: Library = {
  name: 'kubernetes.authz',
  functions: [
    define(
      'path',
      member(authorizerType, [string], pathCheck, ([check, path]) => {
        if (path === '') throw new CelError('path must not be empty');
        return accessOf(check).with({ path: textOf(path) }, pathCheck.kind === 'opaque' ? pathCheck.name : '');
      }),
    ),
    define(
      'group',
      member(authorizerType, [string], groupCheck, ([check, group]) =>
        accessOf(check).with({ group: textOf(group) }, 'kubernetes.authorization.GroupCheck'),
      ),
    ),
    define(
      'serviceAccount',
      member(authorizerType, [string, string], authorizerType, ([check, namespace, name]) =>
        accessOf(check).with({ user: `system:serviceaccount:${textOf(namespace)}:${textOf(name)}` }),
      ),
    ),
    define(
      'resource',
      member(groupCheck, [string], resourceCheckType, ([check, resource]) =>
        accessOf(check).with({ resource: textOf(resource) }, 'kubernetes.authorization.ResourceCheck'),
      ),
    ),
    part('subresource'),
    part('namespace'),
    part('name'),
    part('fieldSelector'),
    part('labelSelector'),
    define(
      'check',
      member(pathCheck, [string], decision, ask, costs),
      member(resourceCheckType, [string], decision, ask, costs),
    ),
    define(
      'errored',
      member(decision, [], bool, ([made]) => answerOf(made).error !== undefined),
    ),
    define(
      'error',
      member(decision, [], string, ([made]) => answerOf(made).error ?? ''),
    ),
    define(
      'allowed',
      member(decision, [], bool, ([made]) => answerOf(made).allowed),
    ),
    define(
      'reason',
      member(decision, [], string, ([made]) => answerOf(made).reason),
    ),
  ],
};
