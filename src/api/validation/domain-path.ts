// Owns the form "domain.example/path" of controllers, signers and the like.
import { dnsSubdomain } from '../names.ts';
import type { Problems } from './problems.ts';

const pathForm = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

export function validateDomainPrefixedPath(problems: Problems, path: string, value: string): void {
  if (value === '') return problems.required(path);
  const slash = value.indexOf('/');
  const [domain, rest] = slash < 0 ? [value, ''] : [value.slice(0, slash), value.slice(slash + 1)];
  if (domain === '' || rest === '')
    return problems.invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")');
  problems.each(path, domain, dnsSubdomain(domain));
  if (!pathForm.test(rest)) problems.invalid(path, rest, 'has characters that a path may not have');
}
