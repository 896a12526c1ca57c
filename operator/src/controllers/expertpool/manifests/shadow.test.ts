import { describe, expect, it } from 'vitest';
import type { EnergyModel, RolloutStatus } from '@agentfleet/protocol/api';
import type { ExpertEndpoint, VerifierEndpoint } from '@agentfleet/protocol/pool';
import { newPolicy } from '../../../revisions/testing/policies.ts';
import { shadowBrief, type ShadowInput } from './brief.ts';

const [a, b] = ['aaaaaaaaaa', 'bbbbbbbbbb'];
const expert = (name: string, url: string): ExpertEndpoint => ({ name, role: 'Generalist', engine: 'Synth', domains: ['*'], url });
const verifier = (url: string): VerifierEndpoint => ({ name: 'judge', url }) as VerifierEndpoint;
const stable = [expert('gen', 'http://gen-a'), expert('plan', 'http://plan')];
const canary = [expert('gen', 'http://gen-b'), expert('plan', 'http://plan')];
const reported = {
  experts: stable,
  arms: [
    { revision: a, experts: stable, absent: [] },
    { revision: b, experts: canary, absent: [] },
  ],
  verifierArms: [
    { revision: a, verifier: verifier('http://judge-a') },
    { revision: b, verifier: verifier('http://judge-b') },
  ],
};
const status = (phase: RolloutStatus['phase']): RolloutStatus => ({ phase, id: `${b}-1`, stable: a, canary: b }) as RolloutStatus;
const dark = { strategy: 'ShadowThenCanary', gates: [{ name: 'errors', metric: 'ErrorRate' }] };
const policy = newPolicy({ ...dark, shadow: { percent: 30 } }, 'dark');
const model = (phase: RolloutStatus['phase']): EnergyModel =>
  ({ metadata: { name: 'judge' }, spec: {}, status: { rollout: status(phase) } }) as unknown as EnergyModel;

const brief = (input: Partial<ShadowInput>): ReturnType<typeof shadowBrief> =>
  shadowBrief({ rollout: undefined, energyModel: undefined, policies: { own: policy, judge: policy }, reported, ...input });

describe('who is in shadow', () => {
  it('is listed with what it serves alone: a server of both revisions would get each request twice', () => {
    expect(brief({ rollout: status('Shadowing') })).toEqual({
      shadow: { rollout: `${b}-1`, revision: b, percent: 30, maxInFlight: 4, experts: [canary[0]], verifier: null },
    });
  });

  it('is listed for a verifier with its own thresholds', () => {
    expect(brief({ energyModel: model('Shadowing') })).toEqual({
      shadow: { rollout: `${b}-1`, revision: b, percent: 30, maxInFlight: 4, experts: [], verifier: verifier('http://judge-b') },
    });
    const plain = brief({ energyModel: model('Shadowing'), policies: { judge: newPolicy(dark, 'dark') } });
    expect(plain.shadow).toMatchObject({ percent: 20, maxInFlight: 4 });
  });

  it('is empty in any other phase, and where its pods are not listed', () => {
    for (const phase of ['Idle', 'Loading', 'Canary', 'Promoting', 'RollingBack', 'Frozen'] as const) {
      expect(brief({ rollout: status(phase) }), phase).toEqual({});
      expect(brief({ energyModel: model(phase) }), phase).toEqual({});
    }
    expect(brief({ rollout: status('Shadowing'), reported: { experts: stable } })).toEqual({});
    expect(brief({ energyModel: model('Shadowing'), reported: { experts: stable } })).toEqual({});
  });
});
