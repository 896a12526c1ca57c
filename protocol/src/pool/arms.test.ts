import { describe, expect, it } from 'vitest';
import { assignedBrief, type ExpertEndpoint, type PoolBrief } from './brief.ts';

const expert = (url: string): ExpertEndpoint => ({ name: 'gen', role: 'Generalist', engine: 'Synth', domains: ['*'], url });
const [a, b] = ['aaaaaaaaaa', 'bbbbbbbbbb'];
const brief = {
  experts: [expert('http://a')],
  absent: [],
  arms: [
    { revision: a, experts: [expert('http://a')], absent: [] },
    { revision: b, experts: [expert('http://b')], absent: [{ name: 'plan', role: 'Planner' }] },
  ],
} as unknown as PoolBrief;

describe('the brief of a task', () => {
  it('has the experts of the revision that its assignment names', () => {
    expect(assignedBrief(brief, { revision: b })).toMatchObject({ experts: [{ url: 'http://b' }], absent: [{ name: 'plan' }] });
    expect(assignedBrief(brief, { revision: a })).toMatchObject({ experts: [{ url: 'http://a' }] });
  });

  it('is that of all others where the assignment names none', () => {
    expect(assignedBrief(brief, {})).toBe(brief);
  });

  it('is none where a revision is not known: others would be counted for it', () => {
    expect(assignedBrief(brief, { revision: 'cccccccccc' })).toContain('cccccccccc');
  });

  const verifier = (url: string): object => ({ name: 'judge', url });
  const judged = {
    ...brief,
    verifier: verifier('http://va'),
    verifierArms: [
      { revision: a, verifier: verifier('http://va') },
      { revision: b, verifier: verifier('http://vb') },
    ],
  } as unknown as PoolBrief;

  it('has the verifier of the revision that its assignment names, beside the experts of theirs', () => {
    expect(assignedBrief(judged, { verifierRevision: b })).toMatchObject({
      verifier: { url: 'http://vb' },
      experts: [{ url: 'http://a' }],
    });
    expect(assignedBrief(judged, { verifierRevision: a, revision: b })).toMatchObject({
      verifier: { url: 'http://va' },
      experts: [{ url: 'http://b' }],
    });
  });

  it('has the verifier of all others where that revision is gone, but not when its end counts', () => {
    expect(assignedBrief(judged, { verifierRevision: 'cccccccccc' })).toMatchObject({ verifier: { url: 'http://va' } });
    expect(assignedBrief(judged, { verifierRevision: 'cccccccccc', rollout: 'cccccccccc-1' })).toContain('cccccccccc of the verifier');
  });
});
