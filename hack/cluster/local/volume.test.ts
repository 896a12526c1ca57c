import { describe, expect, it } from 'vitest';
import { volumeClass, volumeFolder, volumeManifest, volumeStep } from './node.ts';

describe('volumeStep', () => {
  it('makes a missing volume and frees an unclaimed one', () => {
    expect(volumeStep(undefined)).toBe('create');
    expect(volumeStep({ status: { phase: 'Released' } })).toBe('free');
  });

  it.each(['Available', 'Bound', 'Pending', 'Failed'])('leaves a volume alone that is %s', (phase) => {
    expect(volumeStep({ status: { phase } })).toBe('nothing');
  });

  it('leaves a volume alone that has no status yet', () => {
    expect(volumeStep({})).toBe('nothing');
  });
});

it('is below the state, which down removes', () => {
  const folder = volumeFolder({ state: '/state' }, 'agentfleet-local');
  expect(folder).toBe('/state/volumes/agentfleet-local');
  // A pool without spec.storage names no class.
  expect(volumeClass.metadata).toEqual({
    name: 'agentfleet-local',
    annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
  });
  expect(volumeManifest('agentfleet-local', folder)).toMatchObject({
    spec: { hostPath: { path: folder }, storageClassName: 'agentfleet-local', accessModes: ['ReadWriteOnce'] },
  });
});
