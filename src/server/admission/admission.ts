// Owns the admission chain: plugins that may change what is written, then plugins that may refuse it, in the order of one list.
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Parts } from '../parts.ts';
import type { ApiRequest, UserInfo } from '../request.ts';
import type { Served } from '../served/served.ts';
import type { AdmissionMetrics } from '../metrics/admission.ts';
import { reinvocationOf } from './reinvocation.ts';

export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

export interface AdmissionRequest {
  readonly operation: AdmissionOperation;
  readonly served: Served;
  readonly subresource: string;
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  /** Empty for a create whose name is still to be made, and for collections. */
  readonly name: string;
  /** What is about to be stored: `admit` may change it. Absent on DELETE. */
  readonly object: KubeObject | undefined;
  readonly oldObject: Frozen<KubeObject> | undefined;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** CreateOptions, DeleteOptions and so on, as sent. */
  readonly options?: Readonly<Record<string, unknown>>;
  warn(text: string): void;
  /** The HTTP request that it serves: its audit annotations, its form. */
  readonly source: ApiRequest;
}

/** Notes something for the audit log. */
export function annotate({ source }: { readonly source: ApiRequest }, key: string, value: string): void {
  (source.annotations ??= new Map()).set(key, value);
}

export interface AdmissionPlugin {
  /** As --enable-admission-plugins names it. */
  readonly name: string;
  /** Asked first, where given: false tells at once that there is nothing to do for this request, and nobody waits for that. */
  concerns?(request: AdmissionRequest, parts: Parts): boolean;
  admit?(request: AdmissionRequest, parts: Parts): void | Promise<void>;
  validate?(request: AdmissionRequest, parts: Parts): void | Promise<void>;
}

export interface Admission {
  readonly plugins: readonly AdmissionPlugin[];
  admit(request: AdmissionRequest, parts: Parts): Promise<void>;
  validate(request: AdmissionRequest, parts: Parts): Promise<void>;
}

type Work = (request: AdmissionRequest, parts: Parts) => void | Promise<void>;

export function admission(plugins: readonly AdmissionPlugin[], metrics?: AdmissionMetrics): Admission {
  const measured = (name: string | undefined, step: 'admit' | 'validate', work: Work): Work =>
    metrics === undefined ? work : metrics.measured(name, step, work);
  const chainOf = (step: 'admit' | 'validate'): readonly Work[] =>
    plugins
      .filter((plugin) => plugin[step] !== undefined)
      .map((plugin) =>
        measured(plugin.name, step, (request, parts) =>
          plugin.concerns?.(request, parts) === false ? undefined : plugin[step]!(request, parts),
        ),
      );
  const mutating = chainOf('admit');
  const validating = chainOf('validate');

  async function run(chain: readonly Work[], request: AdmissionRequest, parts: Parts): Promise<void> {
    for (const work of chain) {
      const waits = work(request, parts);
      // Most answer at once, and each wait is a turn of the queue.
      if (waits !== undefined) await waits;
    }
  }

  async function admit(request: AdmissionRequest, parts: Parts): Promise<void> {
    await run(mutating, request, parts);
    if (request.object === undefined) return;
    const reinvocation = reinvocationOf(request);
    if (!reinvocation.isNeeded(request.object)) return;
    reinvocation.isSecond = true;
    await run(mutating, request, parts);
  }

  const admitting = measured(undefined, 'admit', admit);
  const judging = measured(undefined, 'validate', (request, parts) => run(validating, request, parts));
  return {
    plugins,
    admit: async (request, parts) => admitting(request, parts),
    validate: async (request, parts) => judging(request, parts),
  };
}
