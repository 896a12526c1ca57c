import type { Static } from 'typebox';
import { containerResources } from '../agenttask/sandbox.ts';
import { choice, integer, labelName, listByKey, optional, reference, rule, setOf, struct, text, union } from '../schema/index.ts';

const Replay = struct('Recorded proposals.', { configMap: reference('A ConfigMap of the namespace with the recording.') });

/** What answers `/v1/generate`. */
export const Engine = union('What makes the proposals. Synth: search without a model. Replay: a recording.', 'spec.experts[].engine', {
  Synth: null,
  Replay,
});
export type Engine = Static<typeof Engine>;

/** One expert of a pool. */
export const Expert = struct('One source of proposals.', {
  name: labelName('Name inside the pool.'),
  role: choice('Generalist: answers for every domain. Specialist: for its own.', ['Generalist', 'Specialist']),
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
});
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
  ],
});
