// Owns the form of signer names: "domain.example/path".
import { dnsLabel, dnsSubdomain } from '../names.ts';
import type { Problems } from './problems.ts';

const maxDomain = 253;
const maxLength = 571;

/** The first part that is wrong, with all that is wrong with it. */
const firstWrong = (parts: readonly string[], check: (part: string) => readonly string[]): readonly string[] =>
  parts.map(check).find((wrong) => wrong.length > 0) ?? [];

export function validateSignerName(problems: Problems, path: string, signerName: string): void {
  if (signerName === '') return problems.required(path);
  const segments = signerName.split('/');
  if (segments.length !== 2)
    return problems.invalid(
      path,
      signerName,
      'must be a fully qualified domain and path of the form domain.example/name',
    );
  const [domain = '', name = ''] = segments;
  if (domain.length > maxDomain) problems.tooLong(path, maxDomain);
  const labels = domain.split('.');
  problems.each(path, domain, firstWrong(labels, dnsLabel));
  if (labels.length < 2)
    problems.invalid(path, domain, 'should be a domain with at least two segments separated by dots');
  problems.each(path, name, firstWrong(name.split('.'), dnsSubdomain));
  if (signerName.length > maxLength) problems.tooLong(path, maxLength);
}
