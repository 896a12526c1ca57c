import { describe, expect, test } from 'vitest';
import type { Pod } from '../../../runtime/resources.ts';
import { board } from '../testing/plugin.ts';
import { holderPod, holderView } from './holders.ts';
import { holdersInUse } from './writer.ts';

describe('a pod that holds a GPU', () => {
  const pod = holderPod({ slot: 'dgx-1/gpu0', namespace: 'platform', ownerReferences: [] }, 'inference:1');

  test('asks for one GPU on its node, in both of its containers, and outlives its tenants', () => {
    const spec = pod.spec as unknown as Readonly<Record<string, unknown>>;
    expect(spec).toMatchObject({
      runtimeClassName: 'nvidia',
      nodeSelector: { 'kubernetes.io/hostname': 'dgx-1' },
      terminationGracePeriodSeconds: 150,
      initContainers: [{ args: ['tell-gpu'], resources: { limits: { 'nvidia.com/gpu': '1' } } }],
      containers: [{ args: ['hold-gpu'], resources: { limits: { 'nvidia.com/gpu': '1' } } }],
    });
    expect(JSON.stringify(spec)).not.toContain('NVIDIA_VISIBLE_DEVICES');
  });

  test.each([
    ['no JSON', 'GPU-1'],
    ['no uuid', '{"uuid":"all"}'],
    ['more than a uuid', `{"uuid":"${board(0)},${board(1)}"}`],
  ])('is not believed when it reports %s', (_what, message) => {
    const state = { terminated: { message } };
    const status = { initContainerStatuses: [{ name: 'tell', ready: true, restartCount: 0, state }] };
    expect(holderView({ ...pod, status })?.reported).toBeUndefined();
  });

  test('counts no more when it is to end or has ended', () => {
    expect(holderView(pod)?.alive).toBe(true);
    expect(holderView({ ...pod, status: { phase: 'Failed' } })?.alive).toBe(false);
    expect(holderView({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' } })?.alive).toBe(false);
  });
});

test('a GPU is in use while a Deployment makes engines on it, and until the last of their pods has ended', () => {
  const on = (uid: string) => ({ name: uid, annotations: { 'agentfleet.dev/gpu-holder': uid } });
  const makes = (uid: string, replicas: number) => ({ metadata: { name: uid }, spec: { replicas, template: { metadata: on(uid) } } });
  const pods: readonly Pod[] = [
    { metadata: { ...on('ends'), deletionTimestamp: '2030-01-01T00:00:00Z' }, status: { phase: 'Running' } },
    { metadata: on('ended'), status: { phase: 'Failed' } },
    { metadata: { name: 'other' } },
  ];
  expect(holdersInUse([makes('makes', 1), makes('none', 0)], pods)).toEqual(new Set(['makes', 'ends']));
});
