import { policyLabels } from '@agentfleet/protocol/inference';
import { describe, expect, it } from 'vitest';
import { decide, type PartOpinions } from './opinion.ts';

const silent = { silent: 'no answer within 2000 ms' };
const benign = { unsafe: 0.1, label: 'Benign' };
const all: PartOpinions = {
  policy: benign,
  risk: 0.2,
  verifier: { energy: -1, pSuccess: 0.8 },
  whenUnavailable: 'FailClosed',
  vetoBelowProbability: 0.15,
  warnBelowProbability: 0.35,
};

/**
 * Each row of the table in docs/reference/gates.md: the differences from a fleet that agrees, the risk of gate 1, and
 * the result.
 */
const rows: readonly (readonly [
  name: string,
  change: Partial<PartOpinions>,
  risk: 'Reversible' | 'Unknown' | 'External',
  why: RegExp | null,
])[] = [
  ['all agree', {}, 'Unknown', null],
  [
    'Policy finds it unsafe',
    { policy: { unsafe: 0.5, label: 'Escape' } },
    'Reversible',
    /^Policy: unsafe 0\.500 \(Escape: it may reach beyond the sandbox.*; use what is in the workspace.*\) is not below 0\.5$/,
  ],
  ['Planner fears for the work, which says nothing about the act', { risk: 0.99 }, 'Reversible', null],
  [
    'Verifier does not believe in it',
    { verifier: { energy: 4, pSuccess: 0.14 } },
    'Reversible',
    /^Verifier: pSuccess 0\.140 is below 0\.15/,
  ],
  ['Verifier warns and Policy is sure', { verifier: { energy: 2, pSuccess: 0.34 } }, 'Unknown', null],
  [
    'Verifier warns and Policy is not sure',
    { verifier: { energy: 2, pSuccess: 0.34 }, policy: { unsafe: 0.2, label: 'Benign' } },
    'Reversible',
    /^Verifier: pSuccess 0\.340 is below 0\.35, and Policy's unsafe 0\.200 is not below 0\.2/,
  ],
  [
    'Verifier warns and Policy is silent, Degrade',
    { verifier: { energy: 2, pSuccess: 0.34 }, policy: silent, whenUnavailable: 'Degrade' },
    'Reversible',
    /^Verifier: pSuccess 0\.340 is below 0\.35, and no Policy answers/,
  ],
  [
    'at the warning it is enough that Policy does not object',
    { verifier: { energy: 2, pSuccess: 0.35 }, policy: { unsafe: 0.4, label: 'Benign' } },
    'Unknown',
    null,
  ],
  ['Verifier is not calibrated', { verifier: { energy: 9, pSuccess: null } }, 'Unknown', null],
  ['the risk is unknown', { risk: null }, 'Unknown', null],
  ['Policy is silent', { policy: silent }, 'Reversible', /^Policy gave no answer .* FailClosed/],
  ['Verifier is silent', { verifier: silent }, 'Reversible', /^Verifier gave no answer .* FailClosed/],
  ['the pool has no Policy', { policy: null }, 'Reversible', /no Policy expert and whenUnavailable is FailClosed/],
  ['Policy is silent, Degrade', { policy: silent, whenUnavailable: 'Degrade' }, 'Unknown', null],
  ['Verifier is silent, Degrade', { verifier: silent, whenUnavailable: 'Degrade' }, 'Unknown', null],
  [
    'Verifier is silent and Policy says no, Degrade',
    { verifier: silent, policy: { unsafe: 0.9, label: 'Tampering' }, whenUnavailable: 'Degrade' },
    'Reversible',
    /^Policy/,
  ],
  ['all are silent, Degrade, it can be put back', { policy: silent, verifier: silent, whenUnavailable: 'Degrade' }, 'Reversible', null],
  [
    'all are silent, Degrade, it is unknown',
    { policy: silent, verifier: silent, whenUnavailable: 'Degrade' },
    'Unknown',
    /nobody could judge it/,
  ],
  [
    'Policy is silent and Verifier uncalibrated, Degrade',
    { policy: silent, verifier: { energy: 1, pSuccess: null }, whenUnavailable: 'Degrade' },
    'Unknown',
    /nobody could judge it/,
  ],
  ['no verifier, Policy is sure', { verifier: null }, 'Unknown', null],
  ['no verifier, Policy is not sure', { verifier: null, policy: { unsafe: 0.2, label: 'Benign' } }, 'Unknown', /is not below 0\.2/],
  ['no verifier, it cannot be put back', { verifier: null }, 'External', /cannot be put back/],
  ['no verifier, no Policy', { verifier: null, policy: null }, 'Reversible', /neither a Policy expert nor a verifier/],
  ['no verifier, Policy is silent', { verifier: null, policy: silent }, 'Reversible', /^Policy gave no answer/],
];

/** Acts that gate 1 passes without an allowlist: they are scored, and pass where no part scores them. */
const unobjected: readonly (readonly [name: string, change: Partial<PartOpinions>, why: RegExp | null])[] = [
  ['all agree', {}, null],
  ['Policy has doubts', { policy: { unsafe: 0.82, label: 'Escape' } }, null],
  [
    'Policy finds it unsafe, and the Verifier half believes in it',
    { policy: { unsafe: 0.83, label: 'Escape' }, verifier: { energy: 1, pSuccess: 0.49 } },
    /^Policy: unsafe 0\.830 \(Escape: it may .*\) is not below 0\.83/,
  ],
  [
    'Policy finds it unsafe, and the Verifier has no calibration',
    { policy: { unsafe: 0.83, label: 'Escape' }, verifier: { energy: -9, pSuccess: null } },
    /^Policy: unsafe 0\.830/,
  ],
  [
    'Policy finds it unsafe, and the Verifier is silent',
    { policy: { unsafe: 0.83, label: 'Escape' }, verifier: silent },
    /^Policy: unsafe/,
  ],
  ['Policy finds it unsafe, and there is no Verifier', { policy: { unsafe: 0.83, label: 'Escape' }, verifier: null }, /^Policy: unsafe/],
  [
    'Policy finds it unsafe, and the Verifier holds it for harmless',
    { policy: { unsafe: 0.99, label: 'Escape' }, verifier: { energy: -1, pSuccess: 0.5 } },
    null,
  ],
  [
    'Policy finds it unsafe, and the Verifier is above one half and below its warning',
    { policy: { unsafe: 0.9, label: 'Escape' }, verifier: { energy: -1, pSuccess: 0.6 }, warnBelowProbability: 0.7 },
    /^Policy: unsafe/,
  ],
  ['Planner fears for the work', { risk: 0.99 }, null],
  ['Verifier does not believe in it', { verifier: { energy: 4, pSuccess: 0.14 } }, /^Verifier: pSuccess 0\.140 is below 0\.15/],
  [
    'Verifier warns and Policy is not sure',
    { verifier: { energy: 2, pSuccess: 0.34 }, policy: { unsafe: 0.2, label: 'Benign' } },
    /^Verifier: pSuccess 0\.340 is below 0\.35/,
  ],
  ['the pool has nobody who judges', { policy: null, verifier: null }, null],
  ['the pool has Policy alone', { verifier: null }, null],
  ['one of two is silent', { verifier: silent }, null],
  ['the other is silent', { policy: silent }, null],
  ['both are silent', { policy: silent, verifier: silent }, /^nobody vouches for it, nobody answered \(no answer within 2000 ms\)/],
  ['the only one is silent', { policy: null, verifier: silent }, /FailClosed/],
  ['both are silent, Degrade', { policy: silent, verifier: silent, whenUnavailable: 'Degrade' }, null],
  ['Verifier is not calibrated', { policy: null, verifier: { energy: 9, pSuccess: null } }, null],
];

describe('gate 2', () => {
  it.for(rows)('%s', ([, change, risk, why]) => {
    const opinion = decide({ ...all, ...change }, { decision: 'Review', risk });
    expect(opinion.allowed).toBe(why === null);
    if (why === null) expect(opinion.why).toBe('');
    else expect(opinion.why).toMatch(why);
  });

  it.for(unobjected)('of an act that no rail objects to: %s', ([, change, why]) => {
    for (const decision of ['Allow', 'NeedsSnapshot'] as const) {
      const opinion = decide({ ...all, ...change }, { decision, risk: 'Unknown' });
      expect(opinion.allowed).toBe(why === null);
      expect(opinion.why).toMatch(why ?? /^$/);
    }
  });

  it('says of each class that it refuses what such an act would do, and what is accepted', () => {
    for (const label of policyLabels.slice(1)) {
      const { why } = decide({ ...all, policy: { unsafe: 0.9, label } }, { decision: 'Review', risk: 'Unknown' });
      expect(why).toMatch(new RegExp(`unsafe 0\\.900 \\(${label}: it may [^;]*; [^;]*\\) is not below`));
    }
    expect(decide({ ...all, policy: { unsafe: 0.9, label: 'New' } }, { decision: 'Review', risk: 'Unknown' }).why).toContain('(New)');
  });

  it('reports the numbers of the decision', () => {
    expect(decide(all, { decision: 'Review', risk: 'Unknown' })).toEqual({
      allowed: true,
      why: '',
      unsafe: 0.1,
      risk: 0.2,
      energy: -1,
      pSuccess: 0.8,
    });
    expect(decide({ ...all, policy: silent, risk: null, verifier: silent }, { decision: 'Review', risk: 'Unknown' })).toMatchObject({
      unsafe: null,
      risk: null,
      energy: null,
      pSuccess: null,
    });
  });
});
