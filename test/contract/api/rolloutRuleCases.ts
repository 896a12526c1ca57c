// Rules of rollouts, which ExpertPool and EnergyModel share.
import { fullPool } from './poolExamples.ts';
import type { Node } from './fields.ts';
import { fullRollout } from './rolloutExamples.ts';
import { change, member, type RuleCase } from './ruleCase.ts';

const all = fullRollout['gates'] as readonly (Node & { readonly type: string })[];
const memberOf = (type: string): string => type.charAt(0).toLowerCase() + type.slice(1);

const unionCases: readonly RuleCase[] = all.map((gate) => {
  const { name, type } = gate;
  const field = memberOf(type);
  const message = `spec.rollout.gates[].${field} must be set exactly when spec.rollout.gates[].type is ${type}; ${member}`;
  return change(fullPool, 'spec.rollout.gates', [gate], [{ name, type }], message);
});

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
    'spec.rollout.gates',
    [all[1]],
    undefined,
    'spec.rollout.gates must not be empty, or nothing would tell a bad revision; add one, for example of type TaskPass, or use the strategy Recreate',
  ),
];
