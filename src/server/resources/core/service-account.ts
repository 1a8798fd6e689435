// Owns the kind ServiceAccount.
import type { ServiceAccount } from '../../../api/generated/core.v1.ts';
import { serviceAccounts } from '../../../api/generated/resources.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource } from '../define.ts';

const mountable = 'kubernetes.io/enforce-mountable-secrets';

export const serviceAccount = defineResource<ServiceAccount>(serviceAccounts, {
  shortNames: ['sa'],
  prepareForCreate: nameSecretsOnly,
  prepareForUpdate: nameSecretsOnly,
  validate: () => [],
  warnings: ({ metadata }, prev) =>
    metadata.annotations?.[mountable] === undefined || prev?.metadata.annotations?.[mountable] !== undefined
      ? []
      : [
          `metadata.annotations[${mountable}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
        ],
  columns: [nameColumn, ageColumn],
  deleteReturnsObject: true,
});

/** A secret is of the account's namespace: nothing but its name is kept. */
export function nameSecretsOnly(account: ServiceAccount): void {
  if (account.secrets?.some((secret) => Object.keys(secret).some((name) => name !== 'name')))
    account.secrets = account.secrets.map(({ name }) => (name === undefined ? {} : { name }));
}
