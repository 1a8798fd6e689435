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

  /** Undefined for what the server does not serve: nothing can be said of it. */
  async function kindOf(wanted: GroupVersionResource, signal: AbortSignal): Promise<CheckedKind | undefined> {
    const { group, version, resource } = wanted;
    const path = group === '' ? `api/${version}` : `apis/${group}/${version}`;
    try {
      const served = (await context.client.raw('GET', `/${path}`, { signal })) as APIResourceList;
      const kind = served.resources.find(({ name }) => name === resource)?.kind;
      if (kind === undefined) return undefined;
      const document = (await context.client.raw('GET', `/openapi/v3/${path}`, { signal })) as {
        readonly components?: { readonly schemas?: OpenApiSchemas };
      };
      const schemas = document.components?.schemas ?? {};
      const schema = schemaOfKind(schemas, { group, version, kind });
      const title = `${group === '' ? version : `${group}/${version}`}, Kind=${kind}`;
      return schema && { title, type: celTypeOf(schema, schemas, kind) };
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
    const warnings = expressionWarnings(policy, kinds);
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
