import type { Static, TObject, TProperties, TUnsafe } from 'typebox';
import {
  decimal,
  integer,
  labelName,
  listByKey,
  optional,
  probability,
  reference,
  rule,
  struct,
  text,
  union,
  type Rule,
} from '../schema/index.ts';

const samples = (description: string, fallback: number) => integer(description, 1, 10_000_000, fallback);

const ratio = (description: string, fallback: string) =>
  text(description, { max: 12, pattern: '^(0|[1-9][0-9]{0,3})(\\.[0-9]{1,4})?$', default: fallback });

const TaskPass = struct(
  'Whether as many tasks succeed: a sequential test of non-inferiority, in five looks.',
  {
    margin: probability('Share of tasks that may be lost at most.', '0.03'),
    alpha: probability('Chance to promote a canary that loses as much, at most.', '0.01'),
    beta: probability('Chance to refuse a canary that is as good, at most.', '0.045'),
    baseRate: probability('Share of tasks that is expected to succeed.', '0.9'),
  },
  {
    rules: [
      rule(
        'double(self.margin) >= 0.005 && double(self.margin) < 0.5',
        'spec.rollout.gates[].taskPass.margin must be between 0.005 and 0.5; correct it',
      ),
      ...(['alpha', 'beta'] as const).map((field) =>
        rule(
          `double(self.${field}) >= 0.0001 && double(self.${field}) < 0.5`,
          `spec.rollout.gates[].taskPass.${field} must be between 0.0001 and 0.5; correct it`,
        ),
      ),
      rule(
        'double(self.baseRate) >= 0.05 && double(self.baseRate) <= 0.999',
        'spec.rollout.gates[].taskPass.baseRate must be between 0.05 and 0.999; correct it',
      ),
    ],
  },
);

const ErrorRate = struct('Requests that the engines failed to answer.', {
  max: probability('Share of requests, at most.', '0.01'),
  minSamples: samples('Requests of the canary, at least.', 200),
});

const Latency = struct('Time until an answer, beside the stable revision.', {
  quantile: probability('Which quantile.', '0.95'),
  maxRatio: ratio('Of that of the stable revision, at most.', '1.2'),
  minSamples: samples('Requests of each revision, at least.', 200),
});

const EnergyShift = struct('Energies of the last act of tasks: whether they are distributed alike (Kolmogorov–Smirnov).', {
  maxDistance: probability('Distance of the distributions, at most.', '0.1'),
  alpha: probability('From which p-value on a distance is believed.', '0.01'),
  minSamples: samples('Tasks of each revision, at least.', 200),
});

const VetoRate = struct('Proposals that a gate refused.', {
  maxRatio: ratio('Of the rate of the stable revision, at most.', '1.1'),
  minSamples: samples('Proposals of each revision, at least.', 200),
});

const DraftAcceptance = struct('Draft tokens that the target took, as a vLLM engine tells them.', {
  min: probability('Share of draft tokens, at least.', '0.55'),
  minSamples: samples('Draft tokens, at least.', 1000),
});

const RollbackSuccess = struct('Rollbacks that were verified by hash.', {
  min: probability('Share of rollbacks, at least.', '0.99'),
  minSamples: samples('Rollbacks of the canary, at least.', 50),
});

const AUC = struct('Area under the ROC curve on problems that the verifier never saw, as its pods tell; the worst head decides.', {
  min: probability('At least.', '0.75'),
  maxLoss: probability('Less than that of the stable revision, at most.', '0.005'),
  minSamples: samples('Labelled acts of each head, at least.', 100),
});

const ECE = struct('Expected calibration error on the same problems; the worst head decides.', {
  max: probability('At most.', '0.03'),
  maxGain: probability('More than that of the stable revision, at most.', '0.01'),
  minSamples: samples('Labelled acts of each head, at least.', 100),
});

const GoldenSet = struct(
  'A fixed set of cases that both revisions work on in a Job each, before any task is given to the canary. Without it nothing is tried.',
  {
    templateRef: reference(
      'PodTemplate of the namespace from which the Jobs are made. Its first container says in its termination message how many cases passed.',
    ),
    maxLoss: probability('Share of the cases that may be lost beside the stable revision, at most.', '0.01'),
    minSamples: samples('Cases of the set, at least.', 50),
    timeoutSeconds: integer('Time of each Job.', 10, 86_400, 3600),
  },
);

const Agreement = struct('Whether the verifier in shadow refuses the acts that the stable one refuses: kappa of Cohen.', {
  minKappa: probability('At least, by its lower limit of confidence.', '0.85'),
  minSamples: samples('Acts that both were asked about, at least.', 200),
});

const FalseVeto = struct('Acts of tasks that succeeded, which the verifier in shadow would have refused and the stable one did not.', {
  max: probability('Share of such acts, at most, by its upper limit of confidence.', '0.02'),
  minSamples: samples('Acts of tasks that succeeded, at least.', 200),
});

const Brier = struct('Brier score on the same problems; the worst head decides.', {
  maxRatio: ratio('Of that of the stable revision, at most.', '1.02'),
  minSamples: samples('Labelled acts of each head, at least.', 100),
});

const CalibrationMap = struct('The map from energy to probability, as the pods of the canary tell it; each head that vetoes has to pass.', {
  minSamples: samples('Labelled acts that the map of a head was fitted on, at least.', 1000),
  minDistance: probability('Of the veto threshold from a probability that a range of energies shares, at least.', '0.005'),
});

const ScoreDrift = struct(
  'Probabilities of acts, in ten bins: whether they are distributed as those of the stable revision (population stability index).',
  {
    max: ratio('Index, at most.', '0.2'),
    minSamples: samples('Probabilities of each revision, at least.', 500),
  },
);

const MissedVeto = struct('Tasks in which the verifier let an act pass, and that failed or were undone.', {
  margin: probability('Share of such tasks more than of the stable revision, at most, by its upper limit of confidence.', '0.02'),
  minSamples: samples('Tasks of each revision, at least.', 200),
});

const Query = struct(
  'One number that the Prometheus server answers. `$stable` and `$canary` stand for the names of the revisions.',
  {
    query: text('PromQL; its answer is a scalar, or one series.', { max: 2048, min: 1 }),
    min: optional(decimal('At least.')),
    max: optional(decimal('At most.')),
    failureLimit: integer('Answers in a row, ten seconds apart, that may be out of bounds before the canary goes back.', 0, 10, 0),
  },
  {
    rules: [
      rule('has(self.min) || has(self.max)', 'spec.rollout.gates[].query.min or max must be set, or the query decides nothing; add one'),
    ],
  },
);

const Checks = union('What the canary has to meet.', 'spec.rollout.gates[]', {
  TaskPass,
  ErrorRate,
  Latency,
  EnergyShift,
  VetoRate,
  DraftAcceptance,
  RollbackSuccess,
  AUC,
  ECE,
  GoldenSet,
  Agreement,
  FalseVeto,
  Brier,
  CalibrationMap,
  ScoreDrift,
  MissedVeto,
  Query,
});

const named = Checks as unknown as { readonly properties: TProperties; readonly required: readonly string[] };

/** One gate: its name, and which of the checks it is. */
const Gate = {
  ...(Checks as object),
  properties: { name: labelName('Name in the status.'), ...named.properties },
  required: ['name', ...named.required],
} as unknown as TObject<{ name: ReturnType<typeof labelName> }>;

/** A gate as users write it. */
export type GateSpec = { readonly name: string } & Static<typeof Checks>;

/** `spec.rollout.gates`. */
export const gates = listByKey('All have to pass; without data none does.', 'name', Gate, { max: 16 }) as unknown as TUnsafe<GateSpec[]>;

const gateRule = (types: readonly string[], message: string): Rule =>
  rule(
    `!has(self.rollout) || !has(self.rollout.gates) || !self.rollout.gates.exists(gate, gate.type in [${types.map((type) => `'${type}'`).join(', ')}])`,
    `spec.rollout.gates[].type must not be ${types.join(' or ')} here: ${message}`,
  );

/** What no gate of a pool can measure; a rule of its spec. */
export const poolGateRule = gateRule(
  ['AUC', 'ECE', 'Agreement', 'FalseVeto', 'Brier', 'CalibrationMap', 'ScoreDrift', 'MissedVeto'],
  'experts are not calibrated and refuse nothing; put the gate into spec.rollout of the EnergyModel, or remove it',
);

/** What no gate of a model can measure; a rule of its spec. */
export const modelGateRule = gateRule(
  ['DraftAcceptance'],
  'a verifier has no draft; put the gate into spec.rollout of the ExpertPool, or remove it',
);

/** Verdicts of gates. */
export const verdicts = ['Pass', 'Fail', 'Inconclusive', 'InsufficientData'] as const;
