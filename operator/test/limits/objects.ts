import {
  agentTask,
  agentTaskOrder,
  energyModel,
  expertPool,
  expertScale,
  poolGrant,
  poolRights,
  rolloutPolicy,
} from '@agentfleet/protocol/api';
import type { AgentTask, AgentTaskOrder, EnergyModel, ExpertPool, ExpertScale, PoolGrant, RolloutPolicy } from '@agentfleet/protocol/api';
import { execBounds, maxFileBytes } from '@agentfleet/protocol/keeper';
import { atLimit, longName, type Choices, type Node } from './atLimit.ts';

const apiVersion = 'agentfleet.dev/v1alpha1';

/** Names as long as labels let them be, and a namespace. */
export const longest = { name: longName(63, 1), namespace: longName(63, 2), order: longName(253, 3), className: longName(253, 0) };

/** Twenty characters for one: requests are no more than limits. */
const bytes = '1Gi'.padStart(20, '0');

const containerResources = (path: string): Choices =>
  Object.fromEntries(
    ['requests', 'limits'].map((part) => [
      `${path}.${part}`,
      () => ({ cpu: '1'.padStart(20, '0'), memory: bytes, 'ephemeral-storage': bytes }),
    ]),
  );

/** Returns values that a pod takes: the schema does not know the forms of keys and values of labels, of classes, and of images. */
const sandbox = (path: string): Choices => ({
  ...containerResources(`${path}.resources`),
  [`${path}.image`]: () => `registry.invalid/${Array.from({ length: 2 }, () => 'i'.repeat(100)).join('/')}:${'t'.repeat(100)}`,
  [`${path}.workspaceSizeLimit`]: () => '512Ti'.padStart(20, '0'),
  [`${path}.storage`]: () => undefined,
  [`${path}.tolerations[].key`]: (at) => `${longName(253, at)}/${longName(63, at)}`,
  [`${path}.tolerations[].operator`]: () => 'Equal',
  [`${path}.tolerations[].effect`]: () => 'NoExecute',
  [`${path}.tolerations[].value`]: (at) => longName(63, at),
  [`${path}.podMetadata.annotations{}`]: (at) => longName(4096, at),
});

/** One argument at its limit; sixteen times 64 of them would be no object that etcd takes. */
const argument = (at: number): string => (at === 0 ? longName(8192) : String(at));

/** Two checks with a schema, and commands. */
export const artifacts = 2;
const ofArtifact =
  (value: unknown): ((at: number) => unknown) =>
  (at) =>
    at < artifacts ? value : undefined;
const ofCommand =
  (value: unknown): ((at: number) => unknown) =>
  (at) =>
    at < artifacts ? undefined : value;
const checks: Choices = {
  'spec.checks[].type': (at) => (at < artifacts ? 'Artifact' : 'Command'),
  'spec.checks[].command': ofCommand(Array.from({ length: 64 }, (_, at) => argument(at))),
  'spec.checks[].timeoutSeconds': ofCommand(execBounds.maxTimeoutSeconds),
  'spec.checks[].format': (at) => (at < artifacts ? 'Auto' : 'NodeTest'),
  'spec.checks[].path': ofArtifact(longName(512)),
  'spec.checks[].minBytes': ofArtifact(maxFileBytes),
  'spec.checks[].contains': ofArtifact(Array.from({ length: 16 }, (_, at) => longName(512, at))),
  'spec.checks[].jsonSchema': ofArtifact(longName(16_384)),
};

const shared: Choices = {
  'spec.poolRef.name': () => longest.name,
  'spec.poolRef.namespace': () => longest.namespace,
  'spec.dependsOn': () => undefined,
  'spec.policy.profile': () => 'Default',
  'spec.profile': () => longName(63, 0),
  'spec.setup[].command[]': argument,
  ...checks,
  'spec.policy.minIsolation': () => 'Container',
  'spec.attempts.rules[].class': (at) => classes[at],
  'spec.attempts.rules[].action': () => 'Fail',
  'spec.snapshots.policy': () => 'EveryStep',
  'spec.suspend': () => false,
  'spec.cancel': () => 'None',
  ...sandbox('spec.sandbox'),
};

const spec = agentTask.spec as unknown as { readonly properties: Readonly<Record<string, Node>> };
const rules = (spec.properties['attempts'] as { properties: { rules: { items: { properties: { class: { enum: string[] } } } } } })
  .properties;
const classes = rules.rules.items.properties.class.enum;

/** Servers of tools: the pool's hold credentials for their hosts, and tasks name the same. */
const serverUrl = (at: number): string => `https://${longName(253, at)}/`.padEnd(512, 'm');
const toolServers: Choices = {
  'spec.tools.deny[]': (at) => `s__${longName(97, at)}`,
  'spec.tools.mcpServers[].name': (at) => longName(32, at),
  'spec.tools.mcpServers[].url': serverUrl,
  'spec.tools.mcpServers[].headers[].credential': () => longName(63, 0),
};

const repository = `https://${'h'.repeat(63)}.invalid/`;

/** Choices of each kind of workspace; each has the fields of one alternative. */
const workspaces: Readonly<Record<'Git' | 'Inline' | 'ConfigMap', Choices>> = {
  Git: {
    'spec.workspace.type': () => 'Git',
    'spec.workspace.git.url': () => repository.padEnd(2048, 'r'),
    'spec.workspace.git.credential': () => undefined,
    'spec.output.git.credential': () => undefined,
    'spec.workspace.inline': () => undefined,
    'spec.workspace.configMap': () => undefined,
  },
  Inline: {
    'spec.workspace.type': () => 'Inline',
    'spec.workspace.git': () => undefined,
    'spec.output': () => undefined,
    // Names count twice, as the API server keeps whose each file is; with four bytes each there would be no room for a status.
    'spec.workspace.inline.files[].path': (at) => longName(512, at),
    'spec.workspace.inline.files[].content': (at) => (at < 2 ? longName(262_144, at) : ''),
    'spec.workspace.configMap': () => undefined,
  },
  ConfigMap: {
    'spec.workspace.type': () => 'ConfigMap',
    'spec.workspace.git': () => undefined,
    'spec.output': () => undefined,
    'spec.workspace.inline': () => undefined,
  },
};

export type Workspace = keyof typeof workspaces;

/** The largest task of a kind of workspace; `more` overrules what is chosen here. */
export function largestTask(workspace: Workspace, more: Choices = {}): AgentTask {
  const metadata = { name: longest.name, namespace: longest.namespace };
  const choices = { ...shared, ...toolServers, ...workspaces[workspace], ...more };
  return { apiVersion, kind: 'AgentTask', metadata, spec: atLimit(agentTask.spec as unknown as Node, choices, 'spec') } as AgentTask;
}

/** Values that make the other fields of tasks as large as they may be, where a task could not run with them. */
export const beyondRunning: Choices = {
  'spec.poolRef.name': () => longName(253, 0),
  'spec.dependsOn': () => Array.from({ length: 16 }, (_, at) => ({ name: longName(253, at) })),
  'spec.workspace.git.credential': () => longName(63, 0),
  'spec.output.git.credential': () => longName(63, 0),
  'spec.sandbox.image': () => 'i'.repeat(512),
  'spec.sandbox.storage': () => ({
    storageClassName: longest.className,
    size: '1Pi'.padStart(20, '0'),
    volumeSnapshotClassName: longest.className,
  }),
};

/** An order with the longest names, in a user's name. */
export function largestOrder(type: 'Approve' | 'Answer' | 'Cancel' | 'Message', requester: string): AgentTaskOrder {
  const choices: Choices = {
    'spec.type': () => type,
    'spec.requester': () => requester,
    ...(type === 'Answer' || type === 'Message' ? {} : { 'spec.message': none }),
    ...(type === 'Cancel' || type === 'Message' ? { 'spec.action': none } : {}),
    ...(type === 'Message' ? {} : { 'spec.snapshot': none }),
    'spec.rolloutRef': none,
    'spec.revision': none,
  };
  const metadata = { name: longest.order, namespace: longest.namespace };
  return {
    apiVersion,
    kind: 'AgentTaskOrder',
    metadata,
    spec: atLimit(agentTaskOrder.spec as unknown as Node, choices, 'spec'),
  } as AgentTaskOrder;
}

/** An order about a rollout with the longest name. */
export function largestRolloutOrder(): AgentTaskOrder {
  const metadata = { name: longest.order, namespace: longest.namespace };
  const rolloutRef = { kind: 'EnergyModel' as const, name: longest.className };
  return { apiVersion, kind: 'AgentTaskOrder', metadata, spec: { rolloutRef, revision: 'aaaaaaaaaa', type: 'Reject', requester: 'ann' } };
}

/** A grant with the longest names, of everything. */
export function largestGrant(): PoolGrant {
  const metadata = { name: longest.order, namespace: longest.namespace };
  const choices: Choices = { 'spec.from[].name': () => longest.className, 'spec.allow[]': (at) => poolRights[at] };
  return { apiVersion, kind: 'PoolGrant', metadata, spec: atLimit(poolGrant.spec as unknown as Node, choices, 'spec') } as PoolGrant;
}

/** A scale with the longest names. */
export function largestScale(): ExpertScale {
  const metadata = { name: longest.order, namespace: longest.namespace };
  const choices: Choices = { 'spec.poolRef.name': () => longest.className };
  return { apiVersion, kind: 'ExpertScale', metadata, spec: atLimit(expertScale.spec as unknown as Node, choices, 'spec') } as ExpertScale;
}

const storageHost = longName(253, 0);

/** A server behind an API. */
function largestEndpoint(path: string): object {
  return {
    baseURL: `https://${storageHost}/${path}`.padEnd(512, 'p'),
    model: 'm'.repeat(256),
    credential: longName(63, 1),
    caBundleRef: { name: longest.className, key: longName(253, 0) },
    proxyURL: `http://${longName(253, 1)}.${longName(245, 1)}:65535`,
    contextTokens: 16_777_216,
    maxOutputTokens: 1_048_576,
    toolCalls: 'Native',
    price: { input: '999999999.999999', cachedInput: '999999999.999999', output: '999999999.999999' },
    requestsPerMinute: 1_000_000,
    concurrency: 1024,
    timeoutSeconds: 3600,
  };
}

/** An agent program whose words are as long as they may be. */
function largestHarness(): object {
  const command = Array.from({ length: 32 }, () => '{{goal}}'.padEnd(1024, 'w'));
  const env = Array.from({ length: 32 }, (_, at) => ({ name: `V${at}`.padEnd(128, '_'), value: 'v'.repeat(1024) }));
  const install = { command, network: 'Registries' };
  const numbers = { rounds: 10, stallSeconds: 3600 };
  return { type: 'Harness', harness: { command, env, input: 'Template', api: 'Responses', model: longName(63, 5), install, ...numbers } };
}

/** Roles and engines that each may be there once, then specialists. */
const roles = ['Generalist', 'Draft', 'Planner', 'Embedder', 'Policy'];
const engines: readonly object[] = [
  { type: 'Replay', replay: { configMap: { name: longest.className } } },
  { type: 'Llama', llama: { threads: 64, contextTokens: 8192 } },
  ...['Planner', 'Embedder', 'Policy'].map(() => ({ type: 'Builtin' })),
  { type: 'OpenAI', api: largestEndpoint('v1/') },
  { type: 'Anthropic', api: largestEndpoint('') },
  largestHarness(),
];

const none = (): undefined => undefined;

const poolChoices: Choices = {
  ...toolServers,
  'spec.default': () => false,
  'spec.experts[].artifact': none,
  'spec.experts[].speculative': none,
  'spec.experts[].residency': none,
  'spec.experts[].warmup': none,
  'spec.experts[].resources.slot': none,
  'spec.experts[].resources.memory': none,
  'spec.modelCache': none,
  'spec.placement': none,
  'spec.rolloutPolicyRef': none,
  'spec.allowedNamespaces.from': () => 'Selector',
  'spec.allowedNamespaces.selector.matchLabels{}': (at) => longName(63, at),
  'spec.experts[].role': (at) => (at === 7 ? 'Generalist' : (roles[at] ?? 'Specialist')),
  'spec.experts[].engine': (at) => engines[at] ?? { type: 'Synth' },
  // Those behind an API have no pods, and fall back to each other.
  'spec.experts[].fallback': (at) => (at === 5 || at === 6 ? longName(63, 11 - at) : undefined),
  'spec.experts[].replicas': (at) => (at >= 5 && at <= 7 ? 1 : 100),
  'spec.gateway.replicas': () => 32,
  ...containerResources('spec.gateway.resources'),
  ...containerResources('spec.experts[].resources'),
  ...containerResources('spec.workers.resources'),
  'spec.policy.minIsolation': () => 'Container',
  // Values that the largest task asks for.
  'spec.sandbox.snapshotEngine': () => 'Auto',
  'spec.sandbox.userNamespace': () => 'Auto',
  'spec.sandbox.warm[].namespace': (at) => (at === 0 ? longest.namespace : longName(63, 100 + at)),
  ...sandbox('spec.sandbox.template'),
  'spec.storage.uri': () => `s3://${'b'.repeat(63)}/`.padEnd(1024, 'p'),
  'spec.storage.endpoint': () => `https://${storageHost}:`.padEnd(507, '0') + '9000/',
  'spec.storage.region': () => 'r'.repeat(63),
  'spec.storage.forcePathStyle': () => true,
  'spec.storage.credential': () => longName(63, 0),
  'spec.storage.encryption.credential': () => longName(63, 31),
  'spec.credentials[]': (at) => ({
    name: longName(63, at),
    secretRef: { name: longName(253, at), key: longName(253, at) },
    hosts: at === 31 ? [] : Array.from({ length: 32 }, (_, host) => longName(253, host)),
    // All of them as long would be more than etcd takes.
    ...(at === 30 && { repositories: Array.from({ length: 64 }, (_, n) => `git.example.com/${n}-`.padEnd(512, 'r')) }),
  }),
  'spec.energyModelRef.name': () => longest.name,
};

/** The largest pool; its workers and experts are as many as they may be. */
export function largestPool(more: Choices = {}): ExpertPool {
  const metadata = { name: longest.name, namespace: longest.namespace };
  const choices = { ...poolChoices, ...more };
  const spec = atLimit(expertPool.spec as unknown as Node, choices, 'spec') as ExpertPool['spec'];
  // A model behind an API has no pods that would have resources.
  const experts = spec.experts.map(({ resources, ...rest }) =>
    ['OpenAI', 'Anthropic', 'Harness'].includes(rest.engine.type) ? rest : { ...rest, ...(resources && { resources }) },
  );
  return { apiVersion, kind: 'ExpertPool', metadata, spec: { ...spec, experts } };
}

const heads = ['Code', 'Shell', 'Editor'];

const modelChoices: Choices = {
  'spec.artifact.uri': () => 'builtin://'.padEnd(253, 'm'),
  'spec.heads[].name': (at) => heads[at],
  'spec.rolloutPolicyRef': none,
  'spec.resources.slot': none,
  'spec.resources.memory': none,
  ...containerResources('spec.resources.container'),
};

/** The largest model. */
export function largestModel(more: Choices = {}): EnergyModel {
  const metadata = { name: longest.name, namespace: longest.namespace };
  const choices = { ...modelChoices, ...more };
  return { apiVersion, kind: 'EnergyModel', metadata, spec: atLimit(energyModel.spec as unknown as Node, choices, 'spec') } as EnergyModel;
}

/** The largest policy: sixteen gates, one of each form. */
export function largestPolicy(): RolloutPolicy {
  const metadata = { name: longest.name, namespace: longest.namespace };
  const query = (at: number, value: unknown): unknown => (at === 0 ? value : undefined);
  const choices: Choices = {
    'spec.strategy': () => 'ShadowThenCanary',
    'spec.gates[].metric': (at) => ['Query', 'GoldenLoss', 'LatencyRatio'][at] ?? 'ErrorRate',
    'spec.gates[].atLeast': (at) => query(at, '-999999999.999999999'),
    'spec.gates[].query': (at) => query(at, longName(2048, at)),
    'spec.gates[].atMost': (at) => (at === 0 ? '-999999999.999999999' : '1'),
    'spec.gates[].minSamples': (at) => (at === 0 ? undefined : 10_000_000),
    'spec.gates[].templateRef': (at) => (at === 1 ? { name: longest.className } : undefined),
    'spec.promotion.windows[].days[]': (at) => weekdays[at],
    'spec.promotion.windows[].start': () => '23:59',
    'spec.prometheus.url': () => `https://${longName(253, 0)}/`.padEnd(512, 'p'),
  };
  const spec = atLimit(rolloutPolicy.spec as unknown as Node, choices, 'spec');
  return { apiVersion, kind: 'RolloutPolicy', metadata, spec } as RolloutPolicy;
}

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];
