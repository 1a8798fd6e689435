// Owns the OpenAPI documents of paths that belong to no API group: the version, and what verifiers of tokens need. Data.
import type { Schemas, SlimDocument } from './facts.ts';

const info = { title: 'Kubernetes', version: '1.37' };
const versionInfo = 'io.k8s.apimachinery.pkg.version.Info';
const plainText = JSON.stringify({ type: 'string' });

/** By path under /openapi/v3. */
export const otherDocuments: ReadonlyMap<string, SlimDocument> = new Map<string, SlimDocument>([
  [
    '.well-known/openid-configuration',
    {
      info,
      paths: {
        '/.well-known/openid-configuration/': {
          get: {
            tags: ['WellKnown'],
            operationId: 'getServiceAccountIssuerOpenIDConfiguration',
            responses: { 200: { 'application/json': plainText }, 401: {} },
          },
        },
      },
    },
  ],
  [
    'openid/v1/jwks',
    {
      info,
      paths: {
        '/openid/v1/jwks/': {
          get: {
            tags: ['openid'],
            operationId: 'getServiceAccountIssuerOpenIDKeyset',
            responses: { 200: { 'application/jwk-set+json': plainText }, 401: {} },
          },
        },
      },
    },
  ],
  [
    'version',
    {
      info,
      paths: {
        '/version/': {
          get: {
            tags: ['version'],
            operationId: 'getCodeVersion',
            consumes: ['application/json'],
            responses: { 200: { 'application/json': versionInfo }, 401: {} },
          },
        },
      },
    },
  ],
]);

const always = { type: 'string', default: '' };
const maybe = { type: 'string' };

/** Schemas that these documents need beside the recorded ones. */
export const otherSchemas: Schemas = {
  [versionInfo]: {
    type: 'object',
    required: [
      'major',
      'minor',
      'gitVersion',
      'gitCommit',
      'gitTreeState',
      'buildDate',
      'goVersion',
      'compiler',
      'platform',
    ],
    properties: {
      buildDate: always,
      compiler: always,
      emulationMajor: maybe,
      emulationMinor: maybe,
      gitCommit: always,
      gitTreeState: always,
      gitVersion: always,
      goVersion: always,
      major: always,
      minCompatibilityMajor: maybe,
      minCompatibilityMinor: maybe,
      minor: always,
      platform: always,
    },
  },
};
