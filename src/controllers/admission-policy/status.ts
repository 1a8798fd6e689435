// Owns the status of ValidatingAdmissionPolicies: the warnings of type checking, for the author to read. Never refuses anything.
import type { ValidatingAdmissionPolicy } from '../../api/generated/admissionregistration.v1.ts';
import { validatingAdmissionPolicies } from '../../api/generated/resources.ts';
import type { APIResourceList } from '../../api/generated/meta.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { isNotFound } from '../../api/status-error.ts';
import { type Controller, type ControllerContext, self } from '../framework/controller.ts';
import { celTypeOf, type OpenApiSchemas, schemaOfKind } from './openapi-types.ts';
import { type CheckedKind, expressionWarnings, type GroupVersionResource, resourcesToCheck } from './type-check.ts';

export function admissionPolicyStatusController(context: ControllerContext): Controller {
  const policies = context.informers.informer(validatingAdmissionPolicies);
  const writer = context.informers.writer(validatingAdmissionPolicies);

  const pathOf = ({ group, version }: { group: string; version: string }): string =>
    group === '' ? `api/${version}` : `apis/${group}/${version}`;

  /** Undefined for what the server does not serve: nothing can be said of it. */
  async function kindOf(wanted: GroupVersionResource, signal: AbortSignal): Promise<CheckedKind | undefined> {
    try {
      const served = (await context.client.raw('GET', `/${pathOf(wanted)}`, { signal })) as APIResourceList;
      const kind = served.resources.find(({ name }) => name === wanted.resource)?.kind;
      return kind === undefined ? undefined : await typeOf({ ...wanted, kind }, signal);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async function typeOf(
    wanted: { group: string; version: string; kind: string },
    signal: AbortSignal,
  ): Promise<CheckedKind | undefined> {
    const { group, version, kind } = wanted;
    const document = (await context.client.raw('GET', `/openapi/v3/${pathOf(wanted)}`, { signal })) as {
      readonly components?: { readonly schemas?: OpenApiSchemas };
    };
    const schemas = document.components?.schemas ?? {};
    const schema = schemaOfKind(schemas, wanted);
    const title = `${group === '' ? version : `${group}/${version}`}, Kind=${kind}`;
    return schema && { title, type: celTypeOf(schema, schemas, kind) };
  }

  async function paramsOf(
    { spec }: Frozen<ValidatingAdmissionPolicy>,
    signal: AbortSignal,
  ): Promise<CheckedKind | undefined> {
    const { apiVersion = '', kind = '' } = spec.paramKind ?? {};
    if (kind === '') return undefined;
    const [version = '', group = ''] = apiVersion.split('/').toReversed();
    try {
      return await typeOf({ group, version, kind }, signal);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async function check(policy: Frozen<ValidatingAdmissionPolicy>, signal: AbortSignal): Promise<void> {
    const kinds: CheckedKind[] = [];
    for (const resource of resourcesToCheck(policy)) {
      const kind = await kindOf(resource, signal);
      if (kind) kinds.push(kind);
    }
    const warnings = expressionWarnings(policy, kinds, (await paramsOf(policy, signal))?.type);
    const body = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: policy.metadata.name },
      status: {
        observedGeneration: policy.metadata.generation,
        typeChecking: warnings.length === 0 ? {} : { expressionWarnings: warnings },
      },
    };
    await writer.patch(
      { namespace: '', name: policy.metadata.name },
      { type: 'apply', body },
      { subresource: 'status', fieldManager: 'validatingadmissionpolicy-status', force: true, signal },
    );
  }

  return {
    name: 'validatingadmissionpolicy-status-controller',
    watches: [self(policies)],
    async reconcile(key, signal) {
      const policy = policies.get(key);
      if (!policy || policy.status?.observedGeneration === policy.metadata.generation) return undefined;
      try {
        await check(policy, signal);
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
      return undefined;
    },
  };
}
