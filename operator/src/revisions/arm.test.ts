import type { RolloutStatus } from '@agentfleet/protocol/api';
import { describe, expect, it } from 'vitest';
import { armsOf } from './arm.ts';
import { rolloutStatus } from './testing/status.ts';

const base = rolloutStatus({ stable: 'aaaaaaaaaa' });
const pool = base;
const judge: RolloutStatus = { ...base, stable: 'cccccccccc' };
const tried: RolloutStatus = { ...judge, phase: 'Canary', canary: 'dddddddddd', id: 'dddddddddd-1', weight: 100 };
const triedPool: RolloutStatus = { ...pool, phase: 'Canary', canary: 'bbbbbbbbbb', id: 'bbbbbbbbbb-1', weight: 100 };

describe('who judges a task', () => {
  it('is chosen with its first assignment, beside who works on it', () => {
    expect(armsOf('u', undefined, pool, judge)).toEqual({ revision: 'aaaaaaaaaa', verifierRevision: 'cccccccccc' });
    expect(armsOf('u', undefined, pool, tried)).toEqual({
      revision: 'aaaaaaaaaa',
      verifierRevision: 'dddddddddd',
      rollout: 'dddddddddd-1',
    });
    expect(armsOf('u', undefined, undefined, tried)).toEqual({ verifierRevision: 'dddddddddd', rollout: 'dddddddddd-1' });
    expect(armsOf('u', undefined, triedPool, judge)).toMatchObject({ verifierRevision: 'cccccccccc', rollout: 'bbbbbbbbbb-1' });
    expect(armsOf('u', undefined, undefined)).toEqual({});
  });

  it('stays for all attempts as long as the revision may serve, and so does what the task is counted for', () => {
    const before = armsOf('u', undefined, pool, tried);
    expect(armsOf('u', before, pool, tried)).toEqual(before);
    expect(armsOf('u', before, pool, { ...judge, stable: 'dddddddddd', lastGreen: ['cccccccccc'] })).toEqual(before);
    const judged = { revision: 'aaaaaaaaaa', verifierRevision: 'cccccccccc' };
    expect(armsOf('u', judged, pool, { ...judge, stable: 'dddddddddd', lastGreen: ['cccccccccc'] })).toEqual(judged);
  });

  it('is the stable revision after the other went back; the task counts for no arm then', () => {
    const before = armsOf('u', undefined, pool, tried);
    expect(armsOf('u', before, pool, judge)).toEqual({ revision: 'aaaaaaaaaa', verifierRevision: 'cccccccccc' });
    const counted = armsOf('u', undefined, triedPool, judge);
    expect(armsOf('u', counted, triedPool, { ...judge, stable: 'eeeeeeeeee' })).toEqual({
      revision: 'bbbbbbbbbb',
      verifierRevision: 'eeeeeeeeee',
    });
    expect(armsOf('u', counted, triedPool)).toEqual({ revision: 'bbbbbbbbbb' });
  });

  it('is the stable revision while none of the engines that are tried answers, and the one that it had once they do', () => {
    const before = armsOf('u', undefined, triedPool, judge);
    expect(armsOf('u', before, { ...triedPool, weight: 0 }, judge)).toEqual({ revision: 'aaaaaaaaaa', verifierRevision: 'cccccccccc' });
    expect(armsOf('u', before, { ...triedPool, weight: 1 }, judge)).toEqual(before);
    expect(armsOf('u', undefined, { ...triedPool, weight: 0 }, judge)).not.toHaveProperty('rollout');
  });

  it('is not the one that is tried where a cache shows two rollouts, of which one must be over', () => {
    expect(armsOf('u', undefined, triedPool, tried)).toEqual({ revision: 'aaaaaaaaaa', verifierRevision: 'cccccccccc' });
  });
});
