import { expect, it } from 'vitest';
import type { Clock } from '@agentfleet/kube';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { Absence } from './rounds.ts';
import { AttemptFailure } from '../base/failure.ts';

let now = 0;
const clock = { monotonic: () => now } as Clock;
const spec: ExpertEndpoint = { name: 'spec', role: 'Specialist', engine: 'Synth', domains: ['*'], url: 'http://127.0.0.1:1' };

it('remembers a silent part until it answers, or for five minutes', () => {
  const absence = new Absence(clock);
  absence.add(spec, new AttemptFailure('Infrastructure', 'ExpertUnreachable', 'no answer'));
  expect(absence.isAway('spec')).toBe(true);
  expect(absence.words).toEqual(['Specialist spec: ExpertUnreachable; another expert is asked']);
  now += 300_000;
  expect(absence.isAway('spec')).toBe(false);
  absence.answered(spec);
  expect(absence.words).toEqual([]);
});

it.each([new AttemptFailure('AgentError', 'Invalid', 'the request is wrong'), new Error('a fault of ours')])(
  'leaves alone what another expert would not do better: %s',
  (error) => {
    const absence = new Absence(clock);
    expect(() => absence.add(spec, error)).toThrow(error);
    expect(absence.words).toEqual([]);
  },
);
