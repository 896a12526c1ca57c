import type { Static } from 'typebox';
import { conditions, observedGeneration } from '../base/meta.ts';
import { RolloutStatus } from '../rollout/index.ts';
import { PlanStatus } from '../base/placement.ts';
import { atomicList, choice, counter, digest, integer, labelName, optional, struct, text } from '../schema/index.ts';

export const expertPhases = ['Starting', 'Ready', 'Degraded', 'Unavailable', 'Scaled'] as const;

const MemoryState = struct('Keys and values that the engine holds, as estimated and as it reports.', {
  estimated: counter('Bytes that were reckoned for the tokens that it holds.'),
  measured: counter('Bytes that it holds them in.'),
});

const Latency = struct('Time until an answer in the last five minutes, waiting included; absent: it was not asked.', {
  p50Ms: integer('Half of the answers took no longer, ms.', 1, 10_000_000),
  p95Ms: integer('95 % of the answers took no longer, ms.', 1, 10_000_000),
});

const ExpertState = struct('State of one expert.', {
  name: labelName('Name of the expert.'),
  phase: choice(
    'Ready: it answers. Degraded: fewer of it than asked for do. Starting, Unavailable: see message. Scaled: none is asked for.',
    expertPhases,
  ),
  digest: optional(digest('Code and weights that answer, as they tell.')),
  endpoint: optional(text('Address inside the cluster.', { max: 512 })),
  replicas: integer('Pods that exist.', 0, 1000),
  ready: integer('Pods that answer.', 0, 1000),
  memory: optional(MemoryState),
  latency: optional(Latency),
  message: optional(text('Why not all of them do.', { max: 512 })),
});

export const artifactPhases = ['Resolving', 'Ready', 'Failed'] as const;

const Architecture = struct('Shape of the model, read from the weights.', {
  layers: integer('Layers.', 1, 100_000),
  heads: optional(integer('Attention heads, which tensorParallel has to divide.', 1, 100_000)),
  kvHeads: integer('Heads of keys and values.', 1, 100_000),
  headSize: integer('Elements of a head.', 1, 100_000),
  hiddenSize: integer('Elements between layers.', 1, 10_000_000),
  feedForwardSize: integer('Width of the feed-forward layers.', 1, 10_000_000),
  vocabulary: integer('Tokens that it knows.', 1, 100_000_000),
});

const ArtifactState = struct('State of the weights of one expert, or of its draft.', {
  name: text('Name of the expert; with /draft, its draft; with @ and a hash, weights of another revision than the spec asks for.', {
    max: 86,
    min: 1,
  }),
  uri: text('Address of the weights.', { max: 512 }),
  phase: choice('Ready: they were found and read. Resolving: they are being fetched or read. Failed: see message.', artifactPhases),
  digest: optional(digest('Of all files with their names.')),
  weightBytes: optional(counter('Bytes of the tensors, as they are stored.')),
  architecture: optional(Architecture),
  tokenizerHash: optional(digest('Of tokenizer.json.')),
  message: optional(text('Why they are not ready, and what to do; while they are fetched, how far that is.', { max: 512 })),
});

const WorkersState = struct('State of the workers; what autoscalers read.', {
  replicas: integer('Pods that exist.', 0, 10_000),
  ready: integer('Pods whose lease is fresh.', 0, 10_000),
  selector: text('Label selector that finds the pods.', { max: 512 }),
});

const SandboxesState = struct('Sandboxes that were made ahead.', {
  warm: integer('Those that wait ready.', 0, 100_000),
  starting: integer('Those that are being made ready.', 0, 100_000),
});

/** `ExpertPool.status`. */
export const ExpertPoolStatus = struct('What has become of the pool.', {
  observedGeneration: optional(observedGeneration),
  conditions: optional(conditions),
  experts: optional(atomicList('State of the experts.', ExpertState, { max: 16 })),
  artifacts: optional(atomicList('State of weights.', ArtifactState, { max: 32 })),
  workers: optional(WorkersState),
  sandboxes: optional(SandboxesState),
  plan: optional(PlanStatus),
  running: optional(integer('Tasks that run.', 0, 10_000_000)),
  queued: optional(integer('Tasks that wait.', 0, 10_000_000)),
  rollout: optional(RolloutStatus),
});
export type ExpertPoolStatus = Static<typeof ExpertPoolStatus>;
