import { Type, type Static } from 'typebox';
import { expertRoles } from '../api/expertpool/experts.ts';
import { harnessApis } from '../api/expertpool/harness.ts';
import { Price } from '../gateway/index.ts';
import { energyHeads } from '../inference/features.ts';
import { engineTypes } from '../inference/errors.ts';
import { isolationLevels } from '../keeper/info.ts';
import { traceConsents } from '../trace/index.ts';
import type { Assignment } from '../api/agenttask/status.ts';
import { closed } from '../object.ts';

const name = Type.String({ minLength: 1, maxLength: 253 });

/** Engines of experts as workers see them: those of our server, and models behind an API. */
export const expertEngines = [...engineTypes, 'OpenAI', 'Anthropic', 'Harness'] as const;

/** Facts that a worker needs about a chat model. */
export const ChatModel = closed({
  contextTokens: Type.Integer({ minimum: 1024, description: 'of a request with its answer' }),
  maxOutputTokens: Type.Integer({ minimum: 1, description: 'of one answer' }),
  toolCalls: Type.Enum(['Native', 'Json'], { description: 'Json: it has no tool calls and answers with one JSON object' }),
  price: Type.Optional(Price),
  model: Type.Optional(Type.String({ minLength: 1, description: 'its name at its provider, for traces' })),
  fallback: Type.Optional(Type.String({ minLength: 1, maxLength: 63, description: 'expert that answers when this one does not' })),
  timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, description: 'in which an answer is complete; absent: 300 at most' })),
});
export type ChatModel = Static<typeof ChatModel>;

const words = Type.Array(Type.String(), { minItems: 1 });

/** Way to run an agent program; words and values may hold templates, see `harnessTemplates`. */
export const HarnessBrief = closed({
  command: words,
  env: Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }), Type.String()),
  input: Type.Enum(['Template', 'Stdin']),
  api: Type.Enum([...harnessApis]),
  acts: Type.Enum(['Own', 'Tools']),
  model: Type.Optional(Type.String({ minLength: 1, description: 'the expert that answers its endpoint; absent: none' })),
  install: Type.Optional(
    closed({ command: words, timeoutSeconds: Type.Integer({ minimum: 1 }), network: Type.Enum(['None', 'Registries', 'Allowed']) }),
  ),
  rounds: Type.Integer({ minimum: 1 }),
  stallSeconds: Type.Integer({ minimum: 1 }),
});
export type HarnessBrief = Static<typeof HarnessBrief>;

/** Address at which one expert answers, and its role. */
export const ExpertEndpoint = closed({
  name,
  role: Type.Enum([...expertRoles]),
  engine: Type.Enum([...expertEngines]),
  chat: Type.Optional(ChatModel),
  harness: Type.Optional(HarnessBrief),
  domains: Type.Array(Type.String({ minLength: 1, maxLength: 63 }), { minItems: 1, description: '* is everything' }),
  url: Type.String({
    pattern: '^https?://',
    description:
      'origin, without a path; of the gateway for a chat model, whose `model` is the name; for a Harness where its model answers inside the sandbox',
  }),
});
export type ExpertEndpoint = Static<typeof ExpertEndpoint>;

/** An expert that the pool declares and that has no pods: it is not asked, and tasks report what is done without it. */
export const AbsentExpert = closed({ name, role: Type.Enum([...expertRoles]) });
export type AbsentExpert = Static<typeof AbsentExpert>;

/** State of a verifier's calibration: whether its probabilities count, where its EnergyModel asks for one. */
export const CalibrationBrief = closed({
  abstains: Type.Union([Type.String({ minLength: 1 }), Type.Null()], { description: 'why no probability counts; null: they count' }),
  digest: Type.Optional(Type.String({ description: 'of the calibration in force; probabilities of another one do not count' })),
  until: Type.Optional(Type.String({ description: 'RFC 3339; from then on it is stale' })),
});
export type CalibrationBrief = Static<typeof CalibrationBrief>;

const HeadThresholds = closed({
  head: Type.Enum([...energyHeads]),
  vetoBelowProbability: Type.Number({ minimum: 0, maximum: 1 }),
  warnBelowProbability: Type.Number({ minimum: 0, maximum: 1 }),
});

/** Address at which the EnergyModel of a pool answers `/v1/score`, and what follows from its answers. */
export const VerifierEndpoint = closed({
  name,
  url: Type.String({ pattern: '^https?://', description: 'origin, without a path' }),
  batchMax: Type.Integer({ minimum: 1, maximum: 64 }),
  timeoutMillis: Type.Integer({ minimum: 1 }),
  vetoBelowProbability: Type.Number({ minimum: 0, maximum: 1 }),
  warnBelowProbability: Type.Number({ minimum: 0, maximum: 1 }),
  whenUnavailable: Type.Enum(['FailClosed', 'Degrade']),
  heads: Type.Optional(Type.Array(HeadThresholds, { description: 'heads that are measured by thresholds of their own' })),
  calibration: Type.Optional(CalibrationBrief),
});
export type VerifierEndpoint = Static<typeof VerifierEndpoint>;

/** Bounds from which on more is computed; entropies and margins in nats. */
export const ComputeBrief = closed({
  entropyFastNats: Type.Number({ minimum: 0 }),
  margin: Type.Number({ minimum: 0 }),
  riskThreshold: Type.Number({ minimum: 0, maximum: 1 }),
  kBase: Type.Integer({ minimum: 1, maximum: 64 }),
  kMax: Type.Integer({ minimum: 1, maximum: 64 }),
  earlyExitMargin: Type.Number({ minimum: 0 }),
});
export type ComputeBrief = Static<typeof ComputeBrief>;

const HostPort = closed({ host: name, port: Type.Integer({ minimum: 1, maximum: 65_535 }) });

/** Destinations that commands with `network: Registries` may reach, and the settings that send package managers there. */
export const EgressBrief = closed({
  registries: Type.Array(HostPort),
  environment: Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }), Type.String()),
  clusterRanges: Type.Optional(
    Type.Array(Type.String(), { description: 'pods, services and nodes, in CIDR form, where they are no private addresses' }),
  ),
});
export type EgressBrief = Static<typeof EgressBrief>;

const seconds = Type.Integer({ minimum: 1 });

/** An MCP server that tasks may name. */
export const McpServerBrief = closed({
  name,
  url: Type.String({ pattern: '^https?://' }),
  headers: Type.Array(closed({ name, credential: name, prefix: Type.String() }, { description: 'credential: see `credentials`' })),
  timeoutSeconds: seconds,
  readOnly: Type.Boolean(),
});
export type McpServerBrief = Static<typeof McpServerBrief>;

/** Settings of the tools that models have. */
export const ToolsBrief = closed({
  deny: Type.Array(Type.String({ minLength: 1 }), { description: 'names of tools that nobody has' }),
  timeouts: closed({ bash: Type.Optional(seconds) }),
  mcpServers: Type.Array(McpServerBrief),
});
export type ToolsBrief = Static<typeof ToolsBrief>;

/** Destination of artifacts. */
export const ArtifactPlace = Type.Union([
  closed({
    type: Type.Literal('S3'),
    uri: Type.String({ pattern: '^s3://', description: 'bucket and prefix' }),
    endpoint: Type.String({ pattern: '^https?://' }),
    region: Type.String({ minLength: 1 }),
    forcePathStyle: Type.Boolean(),
    credentialFile: Type.Optional(
      Type.String({ pattern: '^/', description: 'file with the access key id, a colon and the secret key; absent: anonymous' }),
    ),
    encryptionKeyFile: Type.Optional(
      Type.String({ pattern: '^/', description: 'file with the base64 of the 32 bytes that checkpoints and logs are encrypted with' }),
    ),
  }),
  closed({ type: Type.Literal('Volume'), path: Type.String({ pattern: '^/', description: 'folder of a mounted volume' }), claim: name }),
]);
export type ArtifactPlace = Static<typeof ArtifactPlace>;

const revision = Type.String({ pattern: '^[0-9a-f]{10}$', description: 'as `status.assignment` names it' });

/** The experts of one revision, where several stand side by side. */
export const ExpertArm = closed({ revision, experts: Type.Array(ExpertEndpoint), absent: Type.Array(AbsentExpert) });
export type ExpertArm = Static<typeof ExpertArm>;

/** The verifier of one revision, where several stand side by side. */
export const VerifierArm = closed({ revision, verifier: VerifierEndpoint });
export type VerifierArm = Static<typeof VerifierArm>;

/** A revision that answers requests of tasks too, and is not heard. */
export const ShadowBrief = closed({
  rollout: Type.String({
    minLength: 1,
    maxLength: 32,
    description: 'tasks whose assignment names it are those whose requests are copied',
  }),
  revision,
  percent: Type.Integer({ minimum: 1, maximum: 100, description: 'of the requests' }),
  maxInFlight: Type.Integer({ minimum: 1, maximum: 64, description: 'copies of one worker at a time; more are dropped' }),
  experts: Type.Array(ExpertEndpoint, { description: 'those that the stable revision does not serve too' }),
  verifier: Type.Union([VerifierEndpoint, Type.Null()]),
});
export type ShadowBrief = Static<typeof ShadowBrief>;

/** Content of the key `pool.json`. */
export const PoolBrief = closed({
  format: Type.Literal('agentfleet.dev/pool/v1'),
  pool: closed({ name, namespace: name }),
  namespaces: Type.Array(name, { description: 'whose tasks the workers watch, sorted' }),
  experts: Type.Array(ExpertEndpoint),
  absent: Type.Array(AbsentExpert, { description: 'declared, but without pods: replicas is 0, or its engine has no image' }),
  verifier: Type.Union([VerifierEndpoint, Type.Null()], { description: 'null: the pool has none' }),
  profiles: Type.Record(Type.String(), ComputeBrief, { description: 'by name; there is always one called default' }),
  egress: EgressBrief,
  gateway: Type.Optional(
    closed(
      { audience: Type.String({ minLength: 1, description: 'of the tokens that it takes' }) },
      { description: 'absent: no expert is a chat model' },
    ),
  ),
  credentials: Type.Array(
    closed({
      name,
      hosts: Type.Array(name),
      repositories: Type.Optional(
        Type.Array(Type.String({ minLength: 1 }), { description: 'see `isForRepository`; absent: all of the hosts' }),
      ),
      file: Type.String({ pattern: '^/' }),
    }),
    { description: 'what may be sent to which hosts, and for which repositories' },
  ),
  storage: ArtifactPlace,
  minIsolation: Type.Enum([...isolationLevels]),
  allowUnenforcedNetwork: Type.Boolean(),
  allowedHosts: Type.Optional(
    Type.Array(HostPort, {
      description: 'the only hosts that tasks may list and that may lead to private addresses; absent: any host, public addresses only',
    }),
  ),
  tools: Type.Optional(ToolsBrief),
  maxRetentionSeconds: Type.Optional(
    Type.Integer({ minimum: 1, description: 'longest that anything of a task is kept after its end; absent: artifacts stay for ever' }),
  ),
  maxBudget: closed(
    {
      wallSeconds: Type.Optional(Type.Integer({ minimum: 1 })),
      toolCalls: Type.Optional(Type.Integer({ minimum: 1 })),
      tokens: Type.Optional(Type.Integer({ minimum: 1 })),
      cost: Type.Optional(Type.String({ pattern: '^[0-9]+(\\.[0-9]+)?$', description: 'in the currency of the prices' })),
    },
    { description: 'what a task gets that names no bound, and the most that one may name' },
  ),
  arms: Type.Optional(
    Type.Array(ExpertArm, { description: 'revisions of the experts that tasks may be assigned to; absent: there is one only' }),
  ),
  verifierArms: Type.Optional(
    Type.Array(VerifierArm, { description: 'revisions of the verifier, each with its own calibration; absent: there is one only' }),
  ),
  shadow: Type.Optional(ShadowBrief),
  traceConsent: Type.Optional(Type.Enum([...traceConsents], { description: 'of tasks that do not say; absent: None' })),
  ablations: Type.Optional(Type.Array(name, { description: 'what tasks of experiments may ask to be left out; absent: nothing' })),
});
export type PoolBrief = Static<typeof PoolBrief>;

/** The part of an assignment that names who works and who judges. */
type Named = Pick<Assignment, 'revision' | 'verifierRevision' | 'rollout'>;

/**
 * The brief with the experts and the verifier of the revisions that an assignment names; those that serve everybody where it
 * names none. In words when the brief does not have them: the task must not be worked on by others, because its end is
 * counted for them. Pure.
 */
export function assignedBrief(brief: PoolBrief, assignment: Named): PoolBrief | string {
  const judged = withVerifier(brief, assignment);
  const { revision } = assignment;
  if (typeof judged === 'string' || revision === undefined) return judged;
  const arm = brief.arms?.find((known) => known.revision === revision);
  return arm === undefined ? unknown(revision) : { ...judged, experts: arm.experts, absent: arm.absent };
}

/** A task that is counted for no arm may be judged by the verifier of all others: its own went with its rollout. */
function withVerifier(brief: PoolBrief, { verifierRevision, rollout }: Named): PoolBrief | string {
  if (verifierRevision === undefined) return brief;
  const arm = brief.verifierArms?.find((known) => known.revision === verifierRevision);
  if (arm !== undefined) return { ...brief, verifier: arm.verifier };
  return rollout === undefined ? brief : unknown(`${verifierRevision} of the verifier`);
}

function unknown(revision: string): string {
  return `the brief of the pool does not name revision ${revision}; it is given with the next attempt`;
}

/** Labels of all objects that the operator makes. */
export const labels = {
  /** `sandbox`, `worker`, `expert`, `verifier`, `gateway`. */
  component: 'agentfleet.dev/component',
  task: 'agentfleet.dev/task',
  pool: 'agentfleet.dev/pool',
  expert: 'agentfleet.dev/expert',
  /** Hash of what a server serves, where several revisions stand side by side. */
  revision: 'agentfleet.dev/revision',
  /** The EnergyModel that a pod serves. */
  model: 'agentfleet.dev/energy-model',
  /** `true` on a sandbox that waits for a task; gone when one has taken it. */
  warm: 'agentfleet.dev/warm',
} as const;

/** Key of the brief inside its ConfigMap. */
export const briefKey = 'pool.json';

/**
 * A worker's Lease has the name of its pod and these times, in seconds. A worker that could not renew for
 * `selfStop` stops its tasks; for the operator it is lost after `duration`, which is longer.
 */
export const workerLease = { duration: 20, renew: 5, selfStop: 14 } as const;

/** Environment of a worker, set by the operator. */
export const workerEnvironment = {
  podName: 'POD_NAME',
  podNamespace: 'POD_NAMESPACE',
  podUid: 'POD_UID',
  serviceAccount: 'AGENTFLEET_SERVICE_ACCOUNT',
  /** Name of the ConfigMap with the brief. */
  brief: 'AGENTFLEET_POOL_CONFIGMAP',
  /** Uid of the ExpertPool: no other cluster that stores in the same place has it. */
  poolUid: 'AGENTFLEET_POOL_UID',
  concurrency: 'AGENTFLEET_CONCURRENCY',
} as const;

/** Port of probes and metrics of a worker. */
export const workerPort = 7090;

/** Port of the HTTP server of an expert or a verifier. */
export const expertPort = 7080;

/** Keeps a sandbox pod until none of its containers runs, so that the next sandbox is the only one. */
export const sandboxFinalizer = 'agentfleet.dev/sandbox';

/** Folder of the credentials of a pool in its workers: one file per credential, named like it. */
export const credentialsDir = '/etc/agentfleet/credentials';

/** Optional ConfigMap in the namespace of a pool; its key `ca.crt` is trusted by the workers beside the usual authorities. */
export const authoritiesConfigMap = 'agentfleet-ca';
export const authoritiesFile = '/etc/agentfleet/ca/ca.crt';

/** Folder at which the pool's own volume is mounted in its workers when it has no object storage. */
export const artifactsDir = '/var/lib/agentfleet/artifacts';
