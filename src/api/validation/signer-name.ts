// Owns the form of signer names: "domain.example/path".
import { dnsSubdomain } from './formats.ts';
import type { Problems } from './problems.ts';

const maxPathLength = 571;

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
  problems.each(path, domain, dnsSubdomain(domain));
  if (!domain.includes('.'))
    problems.invalid(path, domain, 'should be a domain with at least two segments separated by dots');
  if (!/^[a-zA-Z0-9]([-a-zA-Z0-9_]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([-a-zA-Z0-9_]*[a-zA-Z0-9])?)*$/.test(name))
    problems.invalid(path, name, "must be alphanumeric characters, '-', '_' or '.'");
  if (signerName.length > maxPathLength) problems.tooLong(path, maxPathLength);
}
