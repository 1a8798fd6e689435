// Owns the static tokens of --token-auth-file: token,user,uid,"group1,group2". Reads text, no file.
import { createHash } from 'node:crypto';
import type { UserInfo } from '../request.ts';
import type { TokenAuthenticator, TokenResult } from './authenticator.ts';
import { authenticated } from './authenticator.ts';

/** One line of comma-separated values; quotes protect commas. */
function fieldsOf(line: string): string[] {
  const fields: string[] = [];
  let field = '';
  let quoted = false;
  for (let at = 0; at < line.length; at++) {
    const letter = line[at]!;
    if (quoted) {
      if (letter === '"' && line[at + 1] === '"') {
        field += '"';
        at++;
      } else if (letter === '"') quoted = false;
      else field += letter;
    } else if (letter === '"') quoted = true;
    else if (letter === ',') {
      fields.push(field.trim());
      field = '';
    } else field += letter;
  }
  return [...fields, field.trim()];
}

/** Throws when a line has fewer than the three fields that it needs. */
export function tokenFile(text: string): TokenAuthenticator {
  const users = new Map<string, TokenResult>();
  text.split('\n').forEach((line, at) => {
    if (line.trim() === '' || line.trimStart().startsWith('#')) return;
    const [token, name, uid, groups = ''] = fieldsOf(line);
    if (!token || !name || uid === undefined)
      throw new Error(`token file, line ${at + 1}: token, user and uid are needed`);
    const user: UserInfo = {
      name,
      ...(uid !== '' && { uid }),
      groups: groups
        .split(',')
        .map((group) => group.trim())
        .filter((group) => group !== ''),
    };
    users.set(digestOf(token), { user: authenticated(user) });
  });
  // Looked up by digest, so that how long a look-up takes tells nothing about the tokens.
  return { name: 'token-file', authenticateToken: (token) => users.get(digestOf(token)) };
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}
