// Rules of ExpertPool and EnergyModel about GPUs.
import { fullModel } from './modelExamples.ts';
import { fullPool, minimalPool } from './poolExamples.ts';
import { withValue, type Node } from './fields.ts';
import { change, type RuleCase } from './ruleCase.ts';

/** Memory of an engine on its GPU at `path`, which messages call `label`. */
function memoryCases(base: Node, path: string, label: string): readonly RuleCase[] {
  const bounds = `${label}.budget must be Auto or between 1Mi and 1Ti; write an amount of bytes such as 9Gi`;
  const auto = `${label}.kvTokens must be set beside the budget Auto only; remove it, or set ${label}.budget to Auto`;
  return [
    change(base, path, { budget: '1Mi' }, { budget: '1023Ki' }, bounds),
    change(base, path, { budget: '1Ti' }, { budget: '1025Gi' }, bounds),
    change(base, path, { budget: 'Auto', kvTokens: 8192 }, { budget: '9Gi', kvTokens: 8192 }, auto),
  ];
}

const pair = ['dgx-1/gpu2', 'dgx-1/gpu3'] as const;
const engine = (more: Node): Node => ({ type: 'VLLM', vLLM: { image: 'vllm:1', ...more } });
const wide = { name: 'core', role: 'Specialist', engine: engine({ tensorParallel: 2 }), artifact: { uri: 'pvc://models/core' } } as const;
const gen = { name: 'gen', role: 'Generalist', engine: { type: 'Synth' } } as const;
const pool = withValue(minimalPool, 'spec.experts', [gen, wide]);
const wideOnes = (count: number): readonly Node[] => [
  gen,
  ...Array.from({ length: count }, (_, index) => ({ ...wide, name: `wide${index}`, engine: engine({ tensorParallel: 8 }) })),
];

/** An engine on several GPUs. */
const shardCases: readonly RuleCase[] = [
  ...[{}, { tensorParallel: 1 }, { tensorParallel: 3 }].map((shards) =>
    change(
      pool,
      'spec.experts[1].engine',
      engine({ slots: pair, tensorParallel: 2 }),
      engine({ slots: pair, ...shards }),
      'spec.experts[].engine.vLLM.slots must name as many GPUs as spec.experts[].engine.vLLM.tensorParallel says; correct one of the two',
    ),
  ),
  change(
    withValue(pool, 'spec.experts[1].engine.vLLM.slots', pair),
    'spec.experts[1].engine.vLLM.slots',
    pair,
    ['dgx-1/gpu2', 'dgx-2/gpu3'],
    'spec.experts[].engine.vLLM.slots must be of one node, as NVLink joins GPUs of one; name others',
  ),
  change(
    pool,
    'spec.experts[1]',
    { ...wide, resources: { memory: { budget: '9Gi' } } },
    { ...wide, resources: { slot: 'dgx-1/gpu2' } },
    'spec.experts[].resources.slot must not be set beside spec.experts[].engine.vLLM.tensorParallel above 1, which needs several; write spec.experts[].engine.vLLM.slots instead',
  ),
  change(
    pool,
    'spec.experts',
    wideOnes(3),
    wideOnes(4),
    'spec.experts[].engine.vLLM.tensorParallel must not come to more than 32 over all experts, where each other one counts 1; lower it',
  ),
];

export const gpuCases: readonly RuleCase[] = [
  ...memoryCases(fullPool, 'spec.experts[0].resources.memory', 'spec.experts[].resources.memory'),
  change(
    fullModel,
    'spec.resources.memory.budget',
    '1Mi',
    '1023Ki',
    'spec.resources.memory.budget must be between 1Mi and 1Pi; write an amount of bytes such as 2Gi',
  ),
  change(
    fullPool,
    'spec.placement.antiAffinity[0].expert',
    'py',
    'nobody',
    'spec.placement.antiAffinity[].expert must be the name of an entry of spec.experts; correct the name',
  ),
  ...shardCases,
];
