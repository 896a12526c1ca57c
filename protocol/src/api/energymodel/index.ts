/** EnergyModel: the verifier that judges acts before they happen. */
import type { Static } from 'typebox';
import { ageColumn, conditionColumn, nameFitsLabel, type Kind } from '../crd/kind.ts';
import { conditions, observedGeneration, type Resource } from '../meta.ts';
import { choice, digest, optional, probability, rule, struct, text } from '../schema/index.ts';

/** `spec.artifact`. */
export const Artifact = struct('The weights or rules.', {
  uri: text('Where they lie: builtin://name.', { max: 253, min: 11, pattern: '^builtin://[a-z0-9]([-a-z0-9]*[a-z0-9])?$' }),
  digest: optional(digest('What must be found there; default: whatever is.')),
  format: choice('How they are written.', ['JSON'], 'JSON'),
});

/** `spec.thresholds`. Probabilities that an act is good. */
export const Thresholds = struct(
  'From which judgement on an act is refused.',
  {
    source: choice('Fixed: the numbers below.', ['Fixed'], 'Fixed'),
    vetoBelowProbability: probability('Below it the act is refused.', '0.15'),
    warnBelowProbability: probability('Below it the act needs more thought.', '0.35'),
    whenUnavailable: choice(
      'FailClosed: without the verifier unsafe acts are refused. Degrade: the rules alone decide.',
      ['FailClosed', 'Degrade'],
      'FailClosed',
    ),
  },
  {
    filled: true,
    rules: [
      rule(
        'double(self.vetoBelowProbability) <= double(self.warnBelowProbability)',
        'spec.thresholds.vetoBelowProbability must not be more than spec.thresholds.warnBelowProbability; lower it',
      ),
    ],
  },
);
export type Thresholds = Static<typeof Thresholds>;

/** `EnergyModel.spec`. */
export const EnergyModelSpec = struct('What judges, and how strictly.', { artifact: Artifact, thresholds: Thresholds });
export type EnergyModelSpec = Static<typeof EnergyModelSpec>;

/** `EnergyModel.status`. */
export const EnergyModelStatus = struct('What has become of the model.', {
  observedGeneration: optional(observedGeneration),
  conditions: optional(conditions),
  digest: optional(digest('What is in use.')),
  thresholdsInForce: optional(
    struct('What acts are measured by.', {
      vetoBelowProbability: probability('Below it the act is refused.'),
      warnBelowProbability: probability('Below it the act needs more thought.'),
    }),
  ),
});
export type EnergyModelStatus = Static<typeof EnergyModelStatus>;

/** An EnergyModel as the API server returns it: defaults are filled in. */
export type EnergyModel = Resource<'EnergyModel', EnergyModelSpec, EnergyModelStatus>;

export const energyModel: Kind = {
  kind: 'EnergyModel',
  plural: 'energymodels',
  shortName: 'afe',
  description: 'The verifier that ranks proposals and refuses unsafe acts.',
  spec: EnergyModelSpec,
  status: EnergyModelStatus,
  rules: [nameFitsLabel],
  columns: [
    conditionColumn('Ready', 'Ready', 'status'),
    { name: 'Artifact', type: 'string', jsonPath: '.spec.artifact.uri', description: 'Where the weights or rules lie.' },
    ageColumn,
    { name: 'Digest', type: 'string', jsonPath: '.status.digest', description: 'What is in use.', priority: 1 },
    conditionColumn('Reason', 'Ready', 'reason', 1),
  ],
  selectable: [],
};
