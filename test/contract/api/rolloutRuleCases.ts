// Rules of rollouts, which ExpertPool and EnergyModel share.
import { fullPool } from './poolExamples.ts';
import type { Node } from './fields.ts';
import { fullModel } from './modelExamples.ts';
import { fullModelRollout, fullRollout } from './rolloutExamples.ts';
import { change, member, type RuleCase } from './ruleCase.ts';

type GateNode = Node & { readonly type: string };
const all = fullRollout['gates'] as readonly GateNode[];
const ofModels = fullModelRollout['gates'] as readonly GateNode[];
const memberOf = (gate: GateNode): string => Object.keys(gate).find((field) => field !== 'name' && field !== 'type') ?? '';

const unionCase = (base: Node, gate: GateNode): RuleCase => {
  const { name, type } = gate;
  const message = `spec.rollout.gates[].${memberOf(gate)} must be set exactly when spec.rollout.gates[].type is ${type}; ${member}`;
  return change(base, 'spec.rollout.gates', [gate], [{ name, type }], message);
};

const typesOfVerifiers = ['AUC', 'ECE', 'Agreement', 'FalseVeto', 'Brier', 'CalibrationMap', 'ScoreDrift', 'MissedVeto'];
const isOfVerifiers = ({ type }: GateNode): boolean => typesOfVerifiers.includes(type);

/** Each kind of gate on its kind of object, and refused on the other one. */
const unionCases: readonly RuleCase[] = [
  ...all.map((gate) => unionCase(fullPool, gate)),
  ...ofModels.filter(isOfVerifiers).map((gate) => unionCase(fullModel, gate)),
  change(
    fullPool,
    'spec.rollout.gates',
    [all[1]],
    ofModels.filter(isOfVerifiers),
    'spec.rollout.gates[].type must not be AUC or ECE or Agreement or FalseVeto or Brier or CalibrationMap or ScoreDrift or MissedVeto here: experts are not calibrated and refuse nothing; put the gate into spec.rollout of the EnergyModel, or remove it',
  ),
  change(
    fullModel,
    'spec.rollout.gates',
    [all[1]],
    [all[1], all.find(({ type }) => type === 'DraftAcceptance')],
    'spec.rollout.gates[].type must not be DraftAcceptance here: a verifier has no draft; put the gate into spec.rollout of the ExpertPool, or remove it',
  ),
];

const pass = (taskPass: Node): readonly Node[] => [{ name: 'pass', type: 'TaskPass', taskPass }];
const at = (field: string, low: string, high: string, refused: string): RuleCase =>
  change(
    fullPool,
    'spec.rollout.gates',
    pass({ [field]: low }),
    pass({ [field]: refused }),
    `spec.rollout.gates[].taskPass.${field} must be between ${low} and ${high}; correct it`,
  );
const query = (bounds: Node): readonly Node[] => [{ name: 'q', type: 'Query', query: { query: 'up', ...bounds } }];

/** What is refused of `spec.rollout`. */
export const rolloutCases: readonly RuleCase[] = [
  ...unionCases,
  at('margin', '0.005', '0.5', '0.5'),
  at('alpha', '0.0001', '0.5', '0'),
  at('beta', '0.0001', '0.5', '0.5'),
  at('baseRate', '0.05', '0.999', '1'),
  change(
    fullPool,
    'spec.rollout.gates',
    query({ min: '1' }),
    query({}),
    'spec.rollout.gates[].query.min or max must be set, or the query decides nothing; add one',
  ),
  change(
    fullPool,
    'spec.rollout.steps',
    [{ weight: 1 }, { weight: 1 }, { weight: 50 }],
    [{ weight: 50 }, { weight: 10 }],
    'spec.rollout.steps[].weight must not fall from step to step; correct the order',
  ),
  change(
    fullPool,
    'spec.rollout.prometheus',
    { url: 'https://prometheus' },
    undefined,
    'spec.rollout.prometheus must be set beside a gate of type Query; name the server, or remove the gate',
  ),
  change(
    fullPool,
    'spec.rollout.strategy',
    'ShadowThenCanary',
    'Canary',
    'spec.rollout.shadow must not be set beside another strategy, which copies nothing; remove it, or use the strategy ShadowThenCanary',
  ),
  {
    base: fullModel,
    passes: { 'spec.rollout.shadow': undefined },
    refused: { 'spec.rollout.shadow': undefined, 'spec.rollout.strategy': 'Manual' },
    message:
      'spec.rollout.strategy must be ShadowThenCanary beside a gate of type Agreement or FalseVeto, which only copies bring data for; use it, or remove the gate',
  },
  change(
    fullPool,
    'spec.rollout.gates',
    [all[1]],
    undefined,
    'spec.rollout.gates must not be empty, or nothing would tell a bad revision; add one, for example of type TaskPass, or use the strategy Recreate',
  ),
  change(
    fullPool,
    'spec.rollout.surge',
    'AnySlot',
    'SameSlot',
    'spec.rollout.canarySlot must not be set beside the surge SameSlot, which takes the slot of the engine that serves; remove it, or use Auto',
  ),
];
