import type { Static } from 'typebox';
import { engineResources } from '../agenttask/sandbox.ts';
import { choice, integer, labelName, listByKey, optional, rule, setOf, struct, text } from '../schema/index.ts';
import { chatExpertRules, fallbackRule } from './chat.ts';
import { Engine } from './engines.ts';
import { harnessExpertRules, harnessListRules } from './harness.ts';
import { Speculative, Warmup, Weights } from './weights.ts';

/** Roles of a pool's experts; the Verifier is an EnergyModel. */
export const expertRoles = ['Generalist', 'Specialist', 'Draft', 'Planner', 'Embedder', 'Policy'] as const;
export type ExpertRole = (typeof expertRoles)[number];

const builtinRoles = "['Planner', 'Embedder', 'Policy']";

const spans = (expert: string): string =>
  `(has(${expert}.engine.vLLM) && has(${expert}.engine.vLLM.tensorParallel) && ${expert}.engine.vLLM.tensorParallel > 1)`;

/** A plan has room for so many places of what serves, and as many of what is tried. */
const mostGpus = 32;

/** One expert of a pool. */
export const Expert = struct(
  'One part of the assembly.',
  {
    name: labelName('Name inside the pool.'),
    role: choice(
      'Generalist: proposes for every domain. Specialist: for its own. Draft: weighs the proposals of the others. Planner: says what comes next and how risky it is. Embedder: compares texts. Policy: classifies acts.',
      expertRoles,
    ),
    domains: setOf(
      'Subjects that it knows; * is everything.',
      text('A domain, for example python.', { max: 63, min: 1, pattern: '^([*]|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$' }),
      {
        max: 16,
        min: 1,
        default: ['*'],
      },
    ),
    engine: Engine,
    artifact: optional(Weights),
    speculative: optional(Speculative),
    residency: optional(
      choice('Always: the weights stay on the GPU. Sleep: they go to the memory of the host while nobody asks.', ['Always', 'Sleep']),
    ),
    warmup: optional(Warmup),
    fallback: optional(labelName('The chat model that is asked when this one does not answer. Default: none.')),
    replicas: integer('Pods that serve it.', 0, 100, 1),
    resources: optional(engineResources('spec.experts[].resources')),
  },
  {
    rules: [
      rule(
        `(self.role in ${builtinRoles}) == (self.engine.type == 'Builtin')`,
        'spec.experts[].engine.type must be Builtin exactly for the roles Planner, Embedder and Policy; correct the role or the engine',
      ),
      rule(
        "self.role != 'Draft' || self.engine.type == 'Llama'",
        'spec.experts[].engine.type must be Llama for the role Draft, which weighs by likelihood; correct the role or the engine',
      ),
      rule(
        "has(self.artifact) == (self.engine.type in ['VLLM', 'Adapter'])",
        'spec.experts[].artifact must be set exactly beside the engines VLLM and Adapter, which have weights of their own; add or remove it',
      ),
      rule(
        `!has(self.resources) || !has(self.resources.slot) || !${spans('self')}`,
        'spec.experts[].resources.slot must not be set beside spec.experts[].engine.vLLM.tensorParallel above 1, which needs several; write spec.experts[].engine.vLLM.slots instead',
      ),
      ...(['speculative', 'residency', 'warmup'] as const).map((field) =>
        rule(
          `!has(self.${field}) || self.engine.type == 'VLLM'`,
          `spec.experts[].${field} must be set beside the engine VLLM only; remove it, or correct the engine`,
        ),
      ),
      ...chatExpertRules,
      ...harnessExpertRules,
    ],
  },
);
export type Expert = Static<typeof Expert>;

/** `spec.experts`. */
export const experts = listByKey('The models and programs that make proposals.', 'name', Expert, {
  max: 16,
  min: 1,
  rules: [
    rule(
      "self.exists(expert, expert.role == 'Generalist')",
      'spec.experts must hold a Generalist, which answers where no Specialist does; add one',
    ),
    rule(
      "self.all(e, e.engine.type != 'Adapter' || !has(e.engine.adapter) || self.exists(b, b.name == e.engine.adapter.base && b.engine.type == 'VLLM'))",
      'spec.experts[].engine.adapter.base must be the name of an expert of the pool with the engine VLLM; add it or correct the name',
    ),
    rule(
      `self.all(b, !has(b.residency) || b.residency != 'Sleep' || !self.exists(e, e.engine.type == 'Adapter' && has(e.engine.adapter) && e.engine.adapter.base == b.name))`,
      'spec.experts[].residency must not be Sleep for the base of an adapter, which is asked past it; write Always',
    ),
    rule(
      `self.map(e, ${spans('e')} ? e.engine.vLLM.tensorParallel : 1).sum() <= ${mostGpus}`,
      `spec.experts[].engine.vLLM.tensorParallel must not come to more than ${mostGpus} over all experts, where each other one counts 1; lower it`,
    ),
    ...(['Draft', 'Planner', 'Embedder', 'Policy'] as const).map((role) =>
      rule(
        `self.filter(expert, expert.role == '${role}').size() <= 1`,
        `spec.experts must hold one ${role} at most; remove the others, and raise replicas for more of it`,
      ),
    ),
    fallbackRule,
    ...harnessListRules,
  ],
});
