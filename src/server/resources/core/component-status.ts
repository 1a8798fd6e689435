// Owns the kind ComponentStatus, of which nothing is stored: each answer is a fresh look at the component.
import type { ComponentStatus } from '../../../api/generated/core.v1.ts';
import { componentStatuses } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { nameColumn } from '../columns.ts';
import { defineResource } from '../define.ts';

const healthy = ({ conditions }: Frozen<ComponentStatus>) => conditions?.find(({ type }) => type === 'Healthy');

const words: Readonly<Record<string, string>> = { True: 'Healthy', False: 'Unhealthy' };

export const componentStatus = defineResource<ComponentStatus>(componentStatuses, {
  shortNames: ['cs'],
  deprecated: 'v1 ComponentStatus is deprecated in v1.19+',
  validate: () => [],
  columns: [
    nameColumn,
    { name: 'Status', type: 'string', cell: (obj) => words[healthy(obj)?.status ?? ''] ?? 'Unknown' },
    { name: 'Message', type: 'string', cell: (obj) => healthy(obj)?.message ?? '' },
    { name: 'Error', type: 'string', cell: (obj) => healthy(obj)?.error ?? '' },
  ],
});
