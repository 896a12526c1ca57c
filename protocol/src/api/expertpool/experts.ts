import type { Static } from 'typebox';
import { containerResources } from '../agenttask/sandbox.ts';
import { choice, integer, labelName, listByKey, optional, reference, rule, setOf, struct, text, union } from '../schema/index.ts';

const Replay = struct('Recorded proposals.', { configMap: reference('A ConfigMap of the namespace with the recording.') });

const Llama = struct('A small language model that comes with its image.', {
  threads: integer('Threads that compute; leave one core of the limit to the rest.', 1, 64, 1),
  contextTokens: integer('Tokens that it sees at once.', 512, 8192, 2048),
});

/** What answers. */
export const Engine = union(
  'Synth: search without a model. Replay: a recording. Llama: a small language model. Builtin: our own weights and rules.',
  'spec.experts[].engine',
  { Synth: null, Replay, Llama, Builtin: null },
);
export type Engine = Static<typeof Engine>;

/** Roles of a pool's experts; the Verifier is an EnergyModel. */
export const expertRoles = ['Generalist', 'Specialist', 'Draft', 'Planner', 'Embedder', 'Policy'] as const;
export type ExpertRole = (typeof expertRoles)[number];

const builtinRoles = "['Planner', 'Embedder', 'Policy']";

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
      'What it knows; * is everything.',
      text('A domain, for example python.', { max: 63, min: 1, pattern: '^([*]|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$' }),
      {
        max: 16,
        min: 1,
        default: ['*'],
      },
    ),
    engine: Engine,
    replicas: integer('Pods that serve it.', 0, 100, 1),
    resources: optional(containerResources('spec.experts[].resources')),
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
    ],
  },
);
export type Expert = Static<typeof Expert>;

/** `spec.experts`. */
export const experts = listByKey('Who makes proposals.', 'name', Expert, {
  max: 16,
  min: 1,
  rules: [
    rule(
      "self.exists(expert, expert.role == 'Generalist')",
      'spec.experts must hold a Generalist, which answers where no Specialist does; add one',
    ),
    ...(['Draft', 'Planner', 'Embedder', 'Policy'] as const).map((role) =>
      rule(
        `self.filter(expert, expert.role == '${role}').size() <= 1`,
        `spec.experts must hold one ${role} at most; remove the others, and raise replicas for more of it`,
      ),
    ),
  ],
});
