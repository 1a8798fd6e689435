// Owns the call of a conversion webhook: where it is, which form of review it reads, how long it may take. Judges no object.
import { parseExact } from '../../api/codec/json-parse.ts';
import type { CustomResourceDefinition } from '../../api/generated/apiextensions.v1.ts';
import type { WebhookClientConfig } from '../../api/generated/admissionregistration.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { calleeOf } from '../admission/webhook/target.ts';
import type { Callout } from '../callout.ts';
import { CalloutError } from '../callout.ts';
import type { Parts } from '../parts.ts';
import { ConversionFailed, convertedObjects, reviewOf, type ConvertAll } from './conversion.ts';

/** As upstream: a conversion is part of a request, which waits no longer. */
const timeoutMs = 30_000;
/** Objects come in batches, each up to what the store takes. */
const maxAnswerBytes = 64 * 1024 * 1024;

export interface ConversionDeps {
  readonly callout: Callout;
  readonly parts: Pick<Parts, 'catalog' | 'random'>;
}

export function conversionWebhook(definition: Frozen<CustomResourceDefinition>, deps: ConversionDeps): ConvertAll {
  const { webhook } = definition.spec.conversion!;
  const version = webhook?.conversionReviewVersions.find((name) => name === 'v1' || name === 'v1beta1') as
    | 'v1'
    | 'v1beta1'
    | undefined;
  return async (objects, apiVersion) => {
    const about = `${objects[0]!.apiVersion}, Kind=${objects[0]!.kind}`;
    if (version === undefined) throw new ConversionFailed('no supported conversion review versions');
    const { uid, body } = reviewOf(version, objects, apiVersion, deps.parts.random);
    let text: string;
    try {
      const config = (webhook?.clientConfig ?? {}) as Frozen<WebhookClientConfig>;
      const answer = await deps.callout.call(calleeOf(config, deps.parts), {
        method: 'POST',
        body,
        timeoutMs,
        maxBytes: maxAnswerBytes,
      });
      if (answer.status < 200 || answer.status > 299)
        throw new CalloutError(`the server answered with status ${answer.status}`);
      text = answer.body;
    } catch (error) {
      if (!(error instanceof CalloutError)) throw error;
      throw new ConversionFailed(`conversion webhook for ${about} failed: ${error.message}`);
    }
    return convertedObjects(parsed(text, about), { version, uid, apiVersion }, objects, about);
  };
}

function parsed(text: string, about: string): unknown {
  try {
    return parseExact(text);
  } catch {
    throw new ConversionFailed(`conversion webhook for ${about} failed: the answer is no JSON`);
  }
}
