// Owns the kind DeviceClass.
import type { DeviceClass } from '../../../api/generated/resource.v1.ts';
import { deviceClasses } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import type { FieldError } from '../../../api/status-error.ts';
import { extendedResourceProblems } from '../../../api/validation/resource-names.ts';
import { same } from '../../../api/validation/same.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, raiseGeneration } from '../define.ts';
import { maxConfigs, validateOpaque, validateSelectors } from './claim-rules.ts';
import { eachOf, Findings } from './findings.ts';

function validate({ spec }: Frozen<DeviceClass>, prev?: Frozen<DeviceClass>): Findings {
  const found = new Findings();
  const unchanged = (field: 'selectors' | 'config'): boolean =>
    prev !== undefined && same(spec?.[field], prev.spec?.[field]);
  validateSelectors(found, 'spec.selectors', spec?.selectors, unchanged('selectors'));
  eachOf(found.declared, 'spec.config', spec?.config, maxConfigs, ({ opaque }, path) =>
    validateOpaque(found, path, opaque, unchanged('config')),
  );
  const name = spec?.extendedResourceName;
  if (name !== undefined && name !== null)
    found.declared.each('spec.extendedResourceName', name, extendedResourceProblems(name));
  return found;
}

/** The name is declared as well, and told before the rest of what is. */
function place({ field, reason }: FieldError): number {
  if (field === 'metadata.name') return 1;
  return field === 'spec.extendedResourceName' || reason === 'FieldValueTooMany' ? 2 : 0;
}

export const deviceClass = defineResource<DeviceClass>(deviceClasses, {
  prepareForCreate(obj) {
    obj.metadata.generation = 1;
  },
  prepareForUpdate: (next, prev) => raiseGeneration(next, prev),
  place,
  validate: (obj) => validate(obj).list,
  validateUpdateAlone: true,
  validateUpdate: (next, prev) => validate(next, prev).list,
  columns: [nameColumn, ageColumn],
  deleteReturnsObject: true,
});
