// Owns what plugins are made from: what each may know besides the request. No plugin is named here.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { MetricsRegistry } from '../../base/metrics.ts';
import type { Authorizer } from '../authz/authorizer.ts';
import type { Callout } from '../callout.ts';
import type { AdmissionPlugin } from './admission.ts';
import type { ImagePolicyOptions } from './image-policy.ts';
import type { WebhookCredential } from './webhook/credentials.ts';

export interface PluginDeps {
  readonly authorizers: readonly Authorizer[];
  readonly clock: Clock;
  /** For plugins that ask others. */
  readonly callout: Callout;
  readonly log: Logger;
  readonly metrics?: MetricsRegistry;
  /** What the plugin's webhooks are shown. */
  credentials(plugin: string): readonly WebhookCredential[];
  readonly imagePolicy: ImagePolicyOptions | undefined;
  readonly tolerationSeconds: { readonly notReady?: number; readonly unreachable?: number };
  /** The plugin's part of the AdmissionConfiguration, parsed; undefined when it has none. */
  config(plugin: string): Readonly<Record<string, unknown>> | undefined;
}

export interface PluginEntry {
  readonly name: string;
  readonly byDefault: boolean;
  make(deps: PluginDeps): AdmissionPlugin;
}
