/** EnergyModel: the verifier that judges acts before they happen. Part of `api`: may import the layers right of `api` in docs/architecture.md. */
import type { Static } from 'typebox';
import { ageColumn, conditionColumn, nameFitsLabel, type Kind } from '../crd/definition.ts';
import { conditions, observedGeneration, type Resource } from '../base/meta.ts';
import { containerResources } from '../agenttask/sandbox.ts';
import { energyHeads } from '../../inference/features.ts';
import { PlanStatus, slotName } from '../base/placement.ts';
import { revisionName, RolloutStatus } from '../rollout/index.ts';
import {
  atomicList,
  byteQuantity,
  choice,
  digest,
  integer,
  listByKey,
  optional,
  probability,
  reference,
  rule,
  struct,
  text,
  timestamp,
  weight,
} from '../schema/index.ts';

/** `spec.artifact`. */
export const Artifact = struct('The weights or rules.', {
  uri: text('Address of the weights: builtin://name.', { max: 253, min: 11, pattern: '^builtin://[a-z0-9]([-a-z0-9]*[a-z0-9])?$' }),
  digest: optional(digest('Digest that must be found there; default: any.')),
});

/** `spec.thresholds`. Probabilities that an act is good. */
export const Thresholds = struct(
  'From which judgement on an act is refused.',
  {
    source: choice(
      'Fixed: the numbers below. Calibration: those that the model was calibrated to; while it has none in force, it abstains.',
      ['Fixed', 'Calibration'],
      'Fixed',
    ),
    vetoBelowProbability: probability('Below it the act is refused.', '0.15'),
    warnBelowProbability: probability('Below it the act passes only when the Policy expert is sure of it.', '0.35'),
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

/** `spec.calibration`. */
export const CalibrationSpec = struct('Conditions on a calibration under which probabilities count.', {
  maxAgeSeconds: optional(integer('Age from which on it is stale and the model abstains; left out: it never is.', 60, 315_360_000)),
});

/** `spec.gates`. */
export const GateSpec = struct('Quality that a model must have, on problems that it never saw, for its probabilities to count.', {
  auc: probability('Area under the ROC curve of each head, at least.', '0.75'),
  ece: probability('Expected calibration error of each head, at most.', '0.10'),
  minSamples: integer('Labelled acts per head that the calibration was made from and measured on, at least.', 1, 10_000_000, 100),
});

const Head = struct('One head: what kind of act it judges.', {
  name: choice('Code: edits of programs. Shell: commands. Editor: edits of other files.', energyHeads),
  lambda: weight(
    'Weight of what was measured when the act ran, beside what is known from its text. The built-in weights measure programs (Code) only: of Shell and Editor it multiplies 0.',
    '1.0',
  ),
});

/** `spec.heads`; a head that is left out has the lambda of the hybrid design. */
export const heads = listByKey('Weights of the heads.', 'name', Head, { max: energyHeads.length });

/** λ of heads that are not named. */
export const defaultLambda = { Code: '0.7', Shell: '1.2', Editor: '0.6' } as const satisfies Record<(typeof energyHeads)[number], string>;

/** `spec.resources`. */
export const ModelResources = struct(
  'The pods that score.',
  {
    replicas: integer('Number of pods.', 0, 100, 1),
    container: optional(containerResources('spec.resources.container')),
    slot: optional(slotName('The GPU that it is on; default: wherever it fits.')),
    memory: optional(
      struct('Memory of the model on its GPU, for each of its pods.', {
        budget: byteQuantity('Bytes such as 5Gi, which neighbours hold to.', 'spec.resources.memory.budget'),
      }),
    ),
  },
  { filled: true },
);

/** `EnergyModel.spec`. */
export const EnergyModelSpec = struct('What judges, and how strictly.', {
  artifact: Artifact,
  lambda: weight('Weight of E_model beside the features.', '1.0'),
  heads: optional(heads),
  thresholds: Thresholds,
  calibration: optional(CalibrationSpec),
  gates: optional(GateSpec),
  resources: ModelResources,
  rolloutPolicyRef: optional(
    reference('The RolloutPolicy of the namespace by which another revision comes into use; default: pods are replaced at once.'),
  ),
});
export type EnergyModelSpec = Static<typeof EnergyModelSpec>;

const HeadThresholds = struct('One head.', {
  name: choice('Name of the head.', energyHeads),
  vetoBelowProbability: probability('Below it the act is refused.'),
  warnBelowProbability: probability('Below it the act passes only when the Policy expert is sure of it.'),
});

const CalibratedHead = struct('One head, on problems that its fit never saw.', {
  name: choice('Name of the head.', energyHeads),
  auc: probability('Area under the ROC curve.'),
  ece: probability('Expected calibration error.'),
});

/** `status.calibration`. */
export const CalibrationStatus = struct('Calibration of the model in use, as it reports it.', {
  heads: listByKey('Quality of each head.', 'name', CalibratedHead, { max: energyHeads.length }),
  fittedAt: timestamp('Time at which the calibration was made.'),
});
export type CalibrationStatus = Static<typeof CalibrationStatus>;

const ThresholdsInForce = struct('Thresholds by which acts are judged.', {
  vetoBelowProbability: probability('Below it the act is refused.'),
  warnBelowProbability: probability('Below it the act passes only when the Policy expert is sure of it.'),
  heads: optional(
    listByKey('Heads with thresholds of their own, from the calibration.', 'name', HeadThresholds, { max: energyHeads.length }),
  ),
});

const ArmCalibration = struct('Whether its probabilities count, where the spec asks for a calibration.', {
  abstains: optional(text('Why none counts; absent: they count.', { max: 64, min: 1 })),
  digest: optional(digest('Of its calibration.')),
  until: optional(timestamp('From when on it is stale.')),
});

/** Revisions that `status.arms` shows. */
export const maxModelArms = 16;

const ModelArm = struct('One revision: where it answers, and what its own calibration makes of its answers.', {
  revision: optional(revisionName('Name of the revision; left out: the one of a model without a rollout.')),
  endpoint: text('Address inside the cluster.', { max: 512 }),
  digest: optional(digest('Digest of the weights in use, as the model reports it.')),
  thresholdsInForce: ThresholdsInForce,
  calibration: optional(ArmCalibration),
});

/** `EnergyModel.status`. */
export const EnergyModelStatus = struct('What has become of the model.', {
  observedGeneration: optional(observedGeneration),
  conditions: optional(conditions),
  ready: optional(integer('Pods that answer.', 0, 1000)),
  calibration: optional(CalibrationStatus),
  plan: optional(PlanStatus),
  arms: optional(
    atomicList('Revisions that have pods; first the stable one, which judges where a task names none.', ModelArm, { max: maxModelArms }),
  ),
  rollout: optional(RolloutStatus),
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
  rules: [
    nameFitsLabel,
    rule(
      "self.spec.thresholds.source != 'Calibration' || has(self.spec.calibration)",
      'spec.thresholds.source: Calibration needs spec.calibration, which says what a calibration has to be; write `calibration: {}`',
    ),
  ],
  columns: [
    conditionColumn('Ready', 'Ready', 'status'),
    conditionColumn('Reason', 'Ready', 'reason'),
    { name: 'Artifact', type: 'string', jsonPath: '.spec.artifact.uri', description: 'Address of the weights or rules.' },
    ageColumn,
    {
      name: 'Digest',
      type: 'string',
      jsonPath: '.status.arms[0].digest',
      description: 'Digest of the weights or rules in use.',
      priority: 1,
    },
    conditionColumn('Calibrated', 'Calibrated', 'status', 1),
  ],
  selectable: [],
};
