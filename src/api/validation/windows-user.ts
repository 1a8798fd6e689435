// Owns the form of Windows account names: "USER" or "DOMAIN\USER".
import type { Problems } from './problems.ts';

const netBiosDomain = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const dnsDomain = /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;

export function validateRunAsUserName(problems: Problems, path: string, name: string): void {
  const wrong = (detail: string): void => problems.invalid(path, name, detail);
  if (name === '') return wrong('cannot be an empty string');
  if (/\p{Cc}/u.test(name)) return wrong('cannot contain control characters');
  const parts = name.split('\\');
  if (parts.length > 2) return wrong('cannot contain more than one backslash');
  const user = parts.at(-1)!;
  if (parts.length === 2) {
    const domain = parts[0]!;
    if (domain.length >= 256) wrong("the domain's length must be under 256 characters");
    if (!netBiosDomain.test(domain) && !dnsDomain.test(domain)) wrong('the domain is neither a NetBios nor a DNS name');
  }
  if (user === '') wrong('the user cannot be empty');
  else if (user.length > 104) wrong('the user must not be longer than 104 characters');
  if (/^[. ]+$/.test(user)) wrong('the user cannot contain only periods or spaces');
  if (/["/\\:;|=,+*?<>@[\]]/.test(user)) wrong('the user cannot contain: "/\\:;|=,+*?<>@[]');
}
