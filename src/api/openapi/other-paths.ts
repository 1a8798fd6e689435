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
            description: 'get what verifiers of service account tokens need to know of their issuer',
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
            description: 'get the keys that service account tokens are verified with',
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
            description: 'get the version of this server',
            operationId: 'getCodeVersion',
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
    description: 'What the server says of its version.',
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
      emulationMajor: { ...maybe, description: 'Major version whose behaviour the server shows.' },
      emulationMinor: { ...maybe, description: 'Minor version whose behaviour the server shows.' },
      gitCommit: always,
      gitTreeState: always,
      gitVersion: always,
      goVersion: always,
      major: { ...always, description: 'Major version of the program.' },
      minCompatibilityMajor: { ...maybe, description: 'Major version of the oldest servers it works beside.' },
      minCompatibilityMinor: { ...maybe, description: 'Minor version of the oldest servers it works beside.' },
      minor: { ...always, description: 'Minor version of the program.' },
      platform: always,
    },
  },
};
