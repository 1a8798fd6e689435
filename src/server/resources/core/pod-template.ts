// Owns the kind PodTemplate.
import type { PodTemplate } from '../../../api/generated/core.v1.ts';
import { podTemplates } from '../../../api/generated/resources.ts';
import { applyTemplateDefaults } from '../../../api/defaults/pod-spec.ts';
import { validatePodTemplate } from '../../../api/validation/pod-template.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { schemaOfType } from '../../../api/schema/builtin.ts';
import { sameAs } from '../../../api/validation/same.ts';
import { containerImages, containerNames, mapText, nameColumn } from '../columns.ts';
import { defineResource, raiseGeneration } from '../define.ts';
import { podSpecWarnings } from './pod-warnings.ts';

export const podTemplate = defineResource<PodTemplate>(podTemplates, {
  applyDefaults: applyTemplateDefaults,
  prepareForCreate(obj) {
    obj.metadata.generation = 1;
  },
  prepareForUpdate: (next, prev) =>
    raiseGeneration(next, prev, !sameAs(schemaOfType('core.v1.PodTemplateSpec'), next.template, prev.template)),
  validate({ template }) {
    const problems = new Problems();
    validatePodTemplate(problems, 'template', template);
    return problems.list;
  },
  warnings: ({ template, metadata }, prev) =>
    prev?.metadata.generation === metadata.generation
      ? []
      : podSpecWarnings('template.', template?.metadata, template?.spec),
  columns: [
    nameColumn,
    { name: 'Containers', type: 'string', cell: ({ template }) => containerNames(template) },
    { name: 'Images', type: 'string', cell: ({ template }) => containerImages(template) },
    { name: 'Pod Labels', type: 'string', cell: ({ template }) => mapText(template?.metadata?.labels) },
  ],
  deleteReturnsObject: true,
});
