// Owns an entry as the served version shows it: converted once, shared.
import { apiVersionOf } from '../../api/meta.ts';
import type { Frozen } from '../../api/meta.ts';
import type { Entry } from '../cache/entry.ts';
import type { Served } from '../served/served.ts';

export function versionView(entry: Entry, served: Served): Frozen<object> {
  const { convert } = served.resource;
  if (convert === undefined) return entry.object;
  return entry.view(apiVersionOf(served.resource), (object) => convert.fromStorage(object));
}
