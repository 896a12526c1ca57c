import { describe, expect, it } from 'vitest';
import { assignedBrief } from './arms.ts';
import type { ExpertEndpoint, PoolBrief } from './brief.ts';

const expert = (url: string): ExpertEndpoint => ({ name: 'gen', role: 'Generalist', engine: 'Synth', domains: ['*'], url });
const judge = (url: string): NonNullable<PoolBrief['verifier']> => ({
  name: 'judge',
  url,
  batchMax: 1,
  timeoutMillis: 1,
  vetoBelowProbability: 0,
  warnBelowProbability: 0,
  whenUnavailable: 'Degrade',
});
const [a, b] = ['aaaaaaaaaa', 'bbbbbbbbbb'];
const brief = {
  experts: [expert('http://a')],
  absent: [],
  verifier: judge('http://ja'),
  arms: [
    { revision: a, experts: [expert('http://a')], absent: [] },
    { revision: b, experts: [expert('http://b')], absent: [{ name: 'plan', role: 'Planner' }] },
  ],
  verifierArms: [{ revision: b, verifier: judge('http://jb') }],
} as unknown as PoolBrief;

describe('the brief of a task', () => {
  it('has the experts of the revision that its assignment names, and the verifier of the other', () => {
    expect(assignedBrief(brief, { revision: b })).toMatchObject({
      experts: [{ url: 'http://b' }],
      absent: [{ name: 'plan' }],
      verifier: { url: 'http://ja' },
    });
    expect(assignedBrief(brief, { revision: a, verifierRevision: b })).toMatchObject({
      experts: [{ url: 'http://a' }],
      verifier: { url: 'http://jb' },
    });
  });

  it('is that of all others where the assignment names none', () => {
    expect(assignedBrief(brief, {})).toMatchObject({ experts: [{ url: 'http://a' }], verifier: { url: 'http://ja' } });
  });

  it('is none where a revision is not known: others would be counted for it', () => {
    expect(assignedBrief(brief, { revision: 'cccccccccc' })).toContain('cccccccccc');
    expect(assignedBrief(brief, { revision: a, verifierRevision: a })).toContain(a);
  });
});
