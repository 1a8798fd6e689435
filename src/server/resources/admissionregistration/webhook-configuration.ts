// Owns the kinds ValidatingWebhookConfiguration and MutatingWebhookConfiguration.
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from '../../../api/generated/admissionregistration.v1.ts';
import { mutatingWebhookConfigurations, validatingWebhookConfigurations } from '../../../api/generated/resources.ts';
import type { Frozen, KubeObject, ResourceRef } from '../../../api/meta.ts';
import { dns1035Label, fullyQualifiedName } from '../../../api/names.ts';
import { validateLabelSelector } from '../../../api/validation/labels.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { validateWebhookClient } from '../../../api/validation/webhook-client.ts';
import type { Resource } from '../../resource.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, raiseGeneration } from '../define.ts';
import { validateMatchConditions } from './expressions.ts';
import { defaultRules, failurePolicies, matchPolicies, validateRule } from './match-rules.ts';

/** The mutating ones have a reinvocationPolicy, all else is alike. */
type Webhook = Omit<MutatingWebhook, 'reinvocationPolicy'> & Pick<Partial<MutatingWebhook>, 'reinvocationPolicy'>;
type Configuration = KubeObject & { webhooks?: Webhook[] };
type Hook = Frozen<Webhook>;

const reviewVersions = ['v1', 'v1beta1'];
const quiet = ['None', 'NoneOnDryRun'];
const anySideEffects = [...quiet, 'Some', 'Unknown'];
const maxTimeoutSeconds = 30;

/** What the stored webhooks had wrong already is not held against an update. */
interface Options {
  readonly conditionsUnchanged: boolean;
  readonly sideEffects: boolean;
  readonly unknownVersions: boolean;
  readonly sameNames: boolean;
}

const strict: Options = { conditionsUnchanged: false, sideEffects: false, unknownVersions: false, sameNames: false };

const isReviewable = ({ admissionReviewVersions }: Hook): boolean =>
  (admissionReviewVersions ?? []).some((version) => reviewVersions.includes(version));

function optionsFor(next: readonly Hook[], prev: readonly Hook[]): Options {
  const names = prev.map(({ name }) => name);
  return {
    conditionsUnchanged:
      next.length === prev.length &&
      prev.every(({ matchConditions }, at) => same(matchConditions, next[at]!.matchConditions)),
    sideEffects: prev.some(({ sideEffects }) => !quiet.includes(sideEffects)),
    unknownVersions: prev.some((hook) => (hook.admissionReviewVersions ?? []).length > 0 && !isReviewable(hook)),
    sameNames: new Set(names).size < names.length,
  };
}

function validateName(problems: Problems, path: string, name: string): void {
  if (!name) return problems.required(path);
  const wrong = fullyQualifiedName(name);
  if (wrong.length > 0) problems.invalid(path, name, wrong.join(','));
}

function validateVersions(problems: Problems, path: string, hook: Hook, { unknownVersions }: Options): void {
  const versions = hook.admissionReviewVersions ?? [];
  if (versions.length === 0) return problems.required(path, `must specify one of ${reviewVersions.join(', ')}`);
  versions.forEach((version, at) => {
    if (versions.indexOf(version) < at) problems.invalid(`${path}[${at}]`, version, 'duplicate version');
    else problems.each(`${path}[${at}]`, version, dns1035Label(version));
  });
  if (!unknownVersions && !isReviewable(hook))
    problems.invalid(path, versions, `must include at least one of ${reviewVersions.join(', ')}`);
}

function validateWebhook(problems: Problems, path: string, hook: Hook, options: Options): void {
  const { failurePolicy, matchPolicy, sideEffects, timeoutSeconds, reinvocationPolicy } = hook;
  validateName(problems, `${path}.name`, hook.name);
  hook.rules?.forEach((rule, at) => validateRule(problems, `${path}.rules[${at}]`, rule));
  problems.optionalOneOf(`${path}.failurePolicy`, failurePolicy ?? undefined, failurePolicies);
  problems.optionalOneOf(`${path}.matchPolicy`, matchPolicy ?? undefined, matchPolicies);
  if (sideEffects === undefined || sideEffects === null)
    problems.required(`${path}.sideEffects`, `must specify one of ${quiet.join(', ')}`);
  else problems.optionalOneOf(`${path}.sideEffects`, sideEffects, options.sideEffects ? anySideEffects : quiet);
  if (timeoutSeconds !== undefined && timeoutSeconds !== null)
    if (timeoutSeconds < 1 || timeoutSeconds > maxTimeoutSeconds)
      problems.invalid(`${path}.timeoutSeconds`, timeoutSeconds, 'the timeout value must be between 1 and 30 seconds');
  for (const field of ['namespaceSelector', 'objectSelector'] as const)
    validateLabelSelector(problems, `${path}.${field}`, hook[field]);
  problems.optionalOneOf(`${path}.reinvocationPolicy`, reinvocationPolicy ?? undefined, ['IfNeeded', 'Never']);
  validateWebhookClient(problems, `${path}.clientConfig`, hook.clientConfig ?? {});
  if (!options.conditionsUnchanged)
    validateMatchConditions(problems, `${path}.matchConditions`, hook.matchConditions ?? [], false);
}

function validate(hooks: readonly Hook[], options: Options): Problems {
  const problems = new Problems();
  const names = new Set<string>();
  hooks.forEach((hook, at) => {
    const path = `webhooks[${at}]`;
    validateWebhook(problems, path, hook, options);
    validateVersions(problems, `${path}.admissionReviewVersions`, hook, options);
    if (!hook.name || options.sameNames) return;
    if (names.has(hook.name)) problems.duplicate(`${path}.name`, hook.name);
    names.add(hook.name);
  });
  return problems;
}

function applyDefaults(hooks: readonly Webhook[], mutating: boolean): void {
  for (const hook of hooks) {
    hook.failurePolicy ??= 'Fail';
    hook.matchPolicy ??= 'Equivalent';
    hook.namespaceSelector ??= {};
    hook.objectSelector ??= {};
    hook.timeoutSeconds ??= 10;
    if (mutating) hook.reinvocationPolicy ??= 'Never';
    defaultRules(hook.rules);
    if (hook.clientConfig?.service) hook.clientConfig.service.port ??= 443;
  }
}

function configuration<T extends Configuration>(ref: ResourceRef<T>, mutating: boolean): Resource<T> {
  const hooksOf = (obj: Frozen<T>): readonly Hook[] => (obj as unknown as Frozen<Configuration>).webhooks ?? [];
  return defineResource<T>(ref, {
    applyDefaults: (obj) => applyDefaults(obj.webhooks ?? [], mutating),
    prepareForCreate(obj) {
      obj.metadata.generation = 1;
    },
    prepareForUpdate: (next, prev) => raiseGeneration(next, prev, !same(next.webhooks, hooksOf(prev))),
    validate: (obj) => validate(hooksOf(obj), strict).list,
    validateUpdateAlone: true,
    validateUpdate: (next, prev) => validate(hooksOf(next), optionsFor(hooksOf(next), hooksOf(prev))).list,
    columns: [nameColumn, { name: 'Webhooks', type: 'integer', cell: (obj) => hooksOf(obj).length }, ageColumn],
    unconditionalUpdate: false,
  });
}

export const validatingWebhookConfiguration = configuration<ValidatingWebhookConfiguration>(
  validatingWebhookConfigurations,
  false,
);
export const mutatingWebhookConfiguration = configuration<MutatingWebhookConfiguration>(
  mutatingWebhookConfigurations,
  true,
);
