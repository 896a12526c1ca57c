// Rules of ExpertPool and EnergyModel about GPUs.
import { fullModel } from './modelExamples.ts';
import { fullPool } from './poolExamples.ts';
import type { Node } from './fields.ts';
import { change, type RuleCase } from './ruleCase.ts';

/** Memory of an engine on its GPU at `path`, which messages call `label`. */
function memoryCases(base: Node, path: string, label: string): readonly RuleCase[] {
  const bounds = `${label}.budget must be Auto or between 1Mi and 1Ti; write an amount of bytes such as 9Gi`;
  const auto = `${label}.kvTokens and ${label}.headroom must be set beside the budget Auto only; remove them, or set ${label}.budget to Auto`;
  return [
    change(base, path, { budget: '1Mi' }, { budget: '1023Ki' }, bounds),
    change(base, path, { budget: '1Ti' }, { budget: '1025Gi' }, bounds),
    change(base, path, { budget: 'Auto', kvTokens: 8192 }, { budget: '9Gi', kvTokens: 8192 }, auto),
    change(base, path, { headroom: '0.1' }, { budget: '9Gi', headroom: '0.1' }, auto),
  ];
}

export const gpuCases: readonly RuleCase[] = [
  ...memoryCases(fullPool, 'spec.experts[0].resources.memory', 'spec.experts[].resources.memory'),
  ...memoryCases(fullModel, 'spec.resources.memory', 'spec.resources.memory'),
  change(
    fullPool,
    'spec.placement.antiAffinity[0].expert',
    'py',
    'nobody',
    'spec.placement.antiAffinity[].expert must be the name of an entry of spec.experts; correct the name',
  ),
];
