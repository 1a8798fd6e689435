// Owns an entry as the served version shows it: converted once, shared.
import { apiVersionOf } from '../../api/meta.ts';
import type { Frozen } from '../../api/meta.ts';
import type { Entry } from '../cache/entry.ts';
import type { Served } from '../served/served.ts';

export function versionView(entry: Entry, served: Served): Frozen<object> {
  const { convert, conversion } = served.resource;
  if (conversion !== undefined) {
    const { apiVersion } = entry.object;
    if (apiVersion === apiVersionOf(served.resource)) return entry.object;
    return entry.view(apiVersionOf(served.resource), (object) => {
      const shown = conversion.show(object);
      if (shown === undefined) throw new Error(`${entry.key} was not converted before it is shown`);
      return shown;
    });
  }
  if (convert === undefined) return entry.object;
  return entry.view(apiVersionOf(served.resource), (object) => convert.fromStorage(object));
}
