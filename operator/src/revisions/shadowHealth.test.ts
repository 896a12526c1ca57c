import { describe, expect, it } from 'vitest';
import type { RolloutStatus } from '@agentfleet/protocol/api';
import { noShadow, type CopyCounts, shadowCondition, type ShadowView } from './shadow.ts';

const start = Date.parse('2030-01-01T00:00:00Z');
const status = { phase: 'Shadowing', canary: 'bbbbbbbbbb', since: '2030-01-01T00:00:00Z' } as RolloutStatus;
const copies = (more: Partial<CopyCounts>): CopyCounts => ({ ...noShadow.copies, ...more });
const word = (live: Partial<CopyCounts>, ended: Partial<CopyCounts> = {}, seconds = 600, tasks = 3): string => {
  const view: ShadowView = { tasks, live: copies(live), ended: copies(ended) };
  const said = shadowCondition(status, view, start + 1000 * seconds);
  return `${said?.status} ${said?.reason}`;
};

describe('the condition ShadowHealthy', () => {
  it.for([
    ['no copies yet', {}, {}, 30, 'Unknown Beginning'],
    ['no copies for long', {}, {}, 61, 'False NoTraffic'],
    ['answers', { answered: 8, failed: 1 }, {}, 600, 'True Answering'],
    ['answers of tasks that ended', {}, { answered: 8 }, 600, 'True Answering'],
    ['none answers any more', { failed: 9 }, { answered: 999 }, 600, 'False Unreachable'],
    ['no place for most of them', { answered: 9, dropped: 20 }, {}, 600, 'False Dropping'],
    ['all dropped', { dropped: 20 }, {}, 600, 'False Dropping'],
  ] as const)('%s', ([, live, ended, seconds, expected]) => {
    expect(word(live, ended, seconds)).toBe(expected);
  });

  it('is not there when nothing is in shadow, and reports what would help when it is False', () => {
    const view = { tasks: 0, live: copies({}), ended: copies({}) };
    expect(shadowCondition({ ...status, phase: 'Canary' }, view, start)).toBeUndefined();
    expect(shadowCondition(status, undefined, start)).toBeUndefined();
    for (const live of [{}, { dropped: 9 }, { failed: 9 }])
      expect(shadowCondition(status, { ...view, live: copies(live) }, start + 1e6)?.message).toMatch(/; (give|raise|lower|look)/);
  });
});
