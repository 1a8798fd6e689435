// Proves that the rules of kinds fill, refuse and keep what the recordings say, without a server.
import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { test } from 'node:test';
import { playKinds, readRecording, recordingsOf } from './kinds.ts';

/** Steps whose outcome admission, allocators or the generic server decide. */
const decidedElsewhere: Readonly<Record<string, number>> = {
  'objects-core-controllerrevision': 1,
  'objects-core-node': 1,
  'objects-core-pod-dropped-fields': 1,
  'objects-core-pod-runtime-class': 2,
  'objects-core-pod-service-account': 3,
  'objects-core-replicationcontroller': 1,
  'objects-core-service-clusterip': 6,
  'objects-core-service-nodeport': 6,
  'objects-groups-lease': 1,
  'objects-groups-priorityclass': 2,
};

const groups = [
  ...['hpa', 'pdb', 'lease', 'event', 'endpointslice'],
  ...['ingress', 'servicecidr', 'clusterrole', 'clustertrustbundle', 'csi', 'csr', 'storageclass', 'volumeattachment'],
  ...['priorityclass', 'flowschema', 'apiservice', 'vap', 'map', 'mutatingwebhook', 'validatingwebhook'],
  ...['deviceclass', 'devicetaintrule', 'resourceclaim', 'resourceslice'],
].map((kind) => ['objects-groups', kind] as const);

for (const [area, kind] of [['objects-core', ''], ...groups] as const)
  test(`${area} ${kind}`, () => {
    for (const file of recordingsOf(area, `${area}-${kind}`)) {
      const name = basename(file, '.json');
      const { failed } = playKinds(readRecording(file));
      const steps = failed.filter((line) => !line.startsWith(' '));
      assert.equal(steps.length, decidedElsewhere[name] ?? 0, `${name}:\n${failed.join('\n')}`);
    }
  });
