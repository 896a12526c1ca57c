// Rules of RolloutPolicies.
import type { Node } from './fields.ts';
import { fullPolicy } from './rolloutExamples.ts';
import { change, type RuleCase } from './ruleCase.ts';

const gate = (metric: string, more: Node = {}): readonly Node[] => [{ name: 'one', metric, ...more }];
const golden = { templateRef: { name: 'golden' } };

/** A list of one gate that passes, and one that is refused. */
const gates = (passes: readonly Node[], refused: readonly Node[], message: string): RuleCase =>
  change(fullPolicy, 'spec.gates', passes, refused, message);

const side = (field: string, other: string): string =>
  `spec.gates[].${field} must not be set for this metric, which is bounded from the other side; use ${other}`;
const share = 'spec.gates[].atLeast and atMost must not be negative, and not above 1 for a share; correct the bound';
const loss = 'spec.gates[].atMost must be between 0.005 and 0.5 for TaskLoss; correct it';
const samples = 'spec.gates[].minSamples must not be set for TaskLoss, whose test decides how many it takes, or Query; remove it';
const query = 'spec.gates[].query must be set exactly for the metric Query, with atLeast or atMost; set or remove it';
const template = 'spec.gates[].templateRef must be set exactly for the metric GoldenLoss; set or remove it';

/** Refusals of a RolloutPolicy. */
export const rolloutCases: readonly RuleCase[] = [
  gates(gate('AUC', { atLeast: '0.8' }), gate('ErrorRate', { atLeast: '0.8' }), side('atLeast', 'atMost')),
  gates(gate('ErrorRate', { atMost: '0.8' }), gate('AUC', { atMost: '0.8' }), side('atMost', 'atLeast')),
  gates(gate('LatencyRatio', { atMost: '1.5' }), gate('ErrorRate', { atMost: '1.5' }), share),
  gates(gate('AUC', { atLeast: '0' }), gate('AUC', { atLeast: '-0.1' }), share),
  gates(gate('TaskLoss', { atMost: '0.005' }), gate('TaskLoss', { atMost: '0.5' }), loss),
  gates(gate('ErrorRate', { minSamples: 1 }), gate('TaskLoss', { minSamples: 1 }), samples),
  gates(gate('Query', { query: 'up', atLeast: '1' }), gate('Query', { query: 'up' }), query),
  gates(gate('Query', { query: 'up', atMost: '-1' }), gate('ErrorRate', { query: 'up' }), query),
  gates(gate('GoldenLoss', golden), gate('GoldenLoss'), template),
  gates(gate('ErrorRate'), gate('ErrorRate', golden), template),
  change(
    fullPolicy,
    'spec.steps',
    [{ weight: 1 }, { weight: 1 }, { weight: 50 }],
    [{ weight: 50 }, { weight: 10 }],
    'spec.steps[].weight must not fall from step to step; correct the order',
  ),
  change(
    fullPolicy,
    'spec.steps',
    [{ weight: 1 }, { weight: 90 }],
    [{ weight: 1 }, { weight: 91 }],
    'spec.steps[].weight must not be above 90 beside a gate of the metric TaskLoss, LatencyRatio, EnergyShift, VetoRatio, ScoreDrift or MissedVeto, which needs tasks of the stable revision too; lower the weight, or remove the gate',
  ),
  change(
    fullPolicy,
    'spec.prometheus',
    { url: 'https://prometheus' },
    undefined,
    'spec.prometheus must be set beside a gate of the metric Query; name the server, or remove the gate',
  ),
  {
    base: fullPolicy,
    passes: { 'spec.gates': gate('ErrorRate') },
    refused: { 'spec.gates': gate('ErrorRate'), 'spec.strategy': 'Canary' },
    message: 'spec.shadow must not be set beside another strategy, which copies nothing; remove it, or use the strategy ShadowThenCanary',
  },
  {
    base: fullPolicy,
    passes: { 'spec.shadow': undefined },
    refused: { 'spec.shadow': undefined, 'spec.strategy': 'Canary' },
    message:
      'spec.strategy must be ShadowThenCanary beside a gate of the metric Agreement or FalseVeto, which only copies bring data for; use it, or remove the gate',
  },
  change(
    fullPolicy,
    'spec.gates',
    gate('ErrorRate'),
    undefined,
    'spec.gates must not be empty, or nothing would tell a bad revision; add one, for example of the metric TaskLoss, or use the strategy Recreate',
  ),
];
