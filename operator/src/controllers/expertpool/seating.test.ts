import type { Expert } from '@agentfleet/protocol/api';
import { expect, test } from 'vitest';
import type { Deployment } from '../../runtime/objects.ts';
import { seatDeployment, seatOf } from '../../serving/index.ts';
import { draftedPool, core } from '../placement/testing/degrading.ts';
import { progressOf } from '../placement/observe.ts';
import { expertDeployment } from './manifests/experts.ts';
import { asSeated } from './seating.ts';

const place = { item: 'gen', slot: 'dgx-1/gpu0', uuid: 'GPU-7a', bytes: 1, claim: 'c', admitted: true };

/** The Deployment of a core with a draft, as it is with and without it. */
function made(withoutDraft: boolean): Deployment {
  const pool = draftedPool([core('32Gi')]);
  const plan = { hash: '0123456789abcdef', mode: 'DRA' as const, assignments: [withoutDraft ? { ...place, withoutDraft } : place] };
  const seat = seatOf(true, { plan }, 'gen');
  const expert = asSeated(pool.spec.experts[0] as Expert, seat);
  const { object } = expertDeployment({ pool, expert, image: 'inference:1', replayHash: undefined });
  const status = { replicas: 1, updatedReplicas: 1, availableReplicas: 1, readyReplicas: 1, observedGeneration: 1 };
  const metadata = { ...object.metadata, generation: 1 };
  return { ...object, metadata, spec: seatDeployment(object['spec'] as object, seat), status };
}

test('an engine whose draft has no room is told nothing of it', () => {
  expect(JSON.stringify(made(false))).toContain('--speculative-config');
  expect(JSON.stringify(made(true))).not.toContain('--speculative-config');
  expect(JSON.stringify(made(true))).not.toContain('models/draft');
});

test('the room of a draft is free when its pods are those without it, and not before', () => {
  expect(progressOf(made(false), place, 1)).toBe('Ready');
  expect(progressOf(made(false), { ...place, withoutDraft: true }, 1)).toBe('Absent');
  expect(progressOf(made(true), { ...place, withoutDraft: true }, 1)).toBe('Ready');
  expect(progressOf(made(true), place, 1)).toBe('Absent');
});
