import type { Node } from './fields.ts';
import { fullPlan, gpu } from './planExample.ts';
import { fullRollout, fullRolloutStatus } from './rolloutExamples.ts';

const apiVersion = 'agentfleet.dev/v1alpha1';
const sha = `sha256:${'ab'.repeat(32)}`;

/** The least that a task needs. */
export const minimalTask: Node = {
  apiVersion,
  kind: 'AgentTask',
  metadata: { name: 'minimal' },
  spec: {
    goal: 'Make the failing tests pass.',
    workspace: { type: 'Git', git: { url: 'https://example.com/acme/parser', ref: 'main' } },
    checks: [{ name: 'unit', command: ['npm', 'test'] }],
  },
};

/** A sandbox with every field. */
export const fullSandbox: Node = {
  image: 'registry.example.com/tools:1',
  resources: {
    requests: { cpu: '500m', memory: '512Mi', 'ephemeral-storage': '1Gi' },
    limits: { cpu: 2, memory: '1Gi', 'ephemeral-storage': '2Gi' },
  },
  workspaceSizeLimit: '2Gi',
  runtimeClassName: 'gvisor',
  nodeSelector: { 'example.com/pool': 'agents' },
  tolerations: [{ key: 'agents', operator: 'Equal', value: 'only', effect: 'NoExecute', tolerationSeconds: 60 }],
  priorityClassName: 'low',
  podMetadata: { labels: { team: 'parser' }, annotations: { 'example.com/note': 'hello' } },
};

/** A task with every field, and the workspace of one type. */
export function fullTask(workspace: Node): Node {
  return {
    apiVersion,
    kind: 'AgentTask',
    metadata: { name: 'full' },
    spec: {
      poolRef: { name: 'coding', namespace: 'platform' },
      profile: 'careful',
      dependsOn: [{ name: 'schema' }],
      priority: 10,
      goal: 'Make the failing tests pass.',
      workspace,
      setup: [{ name: 'deps', command: ['npm', 'ci'], timeoutSeconds: 300, network: 'Allowed' }],
      checks: [{ name: 'unit', type: 'Command', command: ['npm', 'test'], timeoutSeconds: 300, format: 'TAP', expect: 'FailThenPass' }],
      protect: { mode: 'Default', paths: ['tests/**'] },
      policy: {
        profile: 'Strict',
        network: { mode: 'Allowed', hosts: [{ host: 'mirror.example.com', port: 8443 }] },
        approvals: { require: ['Destructive'], timeoutSeconds: 600, onTimeout: 'Reject' },
        minIsolation: 'Landlock',
      },
      budget: { wallSeconds: 1800, toolCalls: 200, whenExceeded: 'Fail' },
      deadlineSeconds: 3600,
      attempts: {
        max: 2,
        backoff: { seconds: 5, factor: 3, capSeconds: 60 },
        rules: [{ class: 'CheckFailed', action: 'RollbackAndRetry' }],
      },
      sandbox: { ...fullSandbox, storage: { storageClassName: 'fast', size: '10Gi', volumeSnapshotClassName: 'keep' } },
      snapshots: { policy: 'EveryStep', checkpointSeconds: 60 },
      rollback: { whenFailed: 'RestoreLastGreen', revertScript: false },
      suspend: true,
      cancel: 'Stop',
      retention: { sandboxSeconds: 60, snapshotsSeconds: 3600 },
      ttlSecondsAfterFinished: 3600,
    },
  };
}

export const workspaces: Readonly<Record<string, Node>> = {
  Git: {
    type: 'Git',
    git: { url: 'https://example.com/acme/parser', ref: 'main', subPath: 'packages/parser', credential: 'source', depth: 1 },
  },
  Inline: { type: 'Inline', inline: { files: [{ path: 'src/a.py', content: 'x = 1\n', mode: 0o755 }] } },
  ConfigMap: { type: 'ConfigMap', configMap: { name: 'files' } },
};

export const condition = {
  type: 'Ready',
  status: 'True',
  observedGeneration: 1,
  lastTransitionTime: '2026-01-01T00:00:00Z',
  reason: 'Running',
  message: 'runs',
};
const usage = { tokensIn: 1, tokensOut: 2, toolCalls: 3, cpuMillis: 4, wallSeconds: 5, candidates: 6, vetoes: 7, backtracks: 8 };
export const time = '2026-01-01T00:00:00Z';

export const fullRun: Node = {
  attempt: 1,
  epoch: 3,
  progress: { done: 1, total: 4, message: 'edits src/a.py' },
  plan: [{ id: '1.2', kind: 'Step', intent: 'fix the bound', state: 'Running', p: '0.75', snapshot: 's0001', attempts: 1 }],
  snapshots: { initial: 's0000', lastGreen: 's0001', current: 's0002', count: 3, engine: 'CAS', checkpointURI: 's3://agents/x' },
  usage,
  signals: {
    risk: '0.2',
    energy: '-1.25',
    margin: '0.5',
    entropyNats: '1.5',
    pSuccess: '0.8',
    k: 4,
    deliberate: true,
    degraded: ['draft: proposals are not weighed'],
  },
  experts: [{ role: 'Generalist', name: 'gen', digest: sha }],
  pendingApproval: { action: sha, summary: 'remove build/', evidence: 'risk 0.9', expires: time },
  isolation: { level: 'Landlock', network: 'Enforced', landlockABI: 7, userNamespace: false, runtimeClass: 'gvisor' },
  auditRoot: 'ab'.repeat(32),
  artifacts: [{ name: 'patch.diff', uri: 's3://agents/x/patch.diff', sha256: 'ab'.repeat(32), bytes: 512 }],
  patch: '--- a/x\n+++ b/x\n',
  rollback: { snapshot: 's0000', verified: true, manifestDigest: sha, irreversible: ['sent a request'] },
  quiescedAt: '2026-01-01T00:00:00Z',
  outcome: {
    result: 'Failed',
    class: 'CheckFailed',
    reason: 'ChecksFailed',
    message: '1 of 3 fails',
    checks: [{ name: 'unit', passed: 2, failed: 1, skipped: 0, seconds: 3 }],
  },
};

/** A status of a task with every field. */
export const fullTaskStatus: Node = {
  observedGeneration: 1,
  phase: 'Running',
  finished: 'false',
  queue: { position: 2 },
  conditions: [condition],
  clock: { startedAt: time, pausedSeconds: 5, pausedAt: time },
  assignment: {
    attempt: 1,
    epoch: 3,
    worker: 'worker-0',
    workerNamespace: 'platform',
    sandbox: 'full-1',
    warm: false,
    since: time,
    directive: 'Run',
    revision: 'bbbbbbbbbb',
    rollout: 'bbbbbbbbbb-t1',
  },
  attempts: [{ number: 1, startedAt: time, endedAt: time, class: 'CheckFailed', reason: 'ChecksFailed', usage }],
  totals: { usage },
  rollback: { orderRef: { name: 'undo' }, snapshot: 's0000', verified: true, at: time },
  storage: { claim: 'full-1', volumeSnapshot: 'full-0' },
  approvals: [{ action: sha, decision: 'Approved', orderRef: { name: 'yes' }, requester: 'admin', at: time }],
  run: fullRun,
};

/** Orders of every type, with the fields that go with it. */
export const orders: Readonly<Record<string, Node>> = Object.fromEntries(
  Object.entries({
    Approve: { action: sha },
    Reject: { action: sha, reason: 'too risky' },
    Cancel: {},
  }).map(([type, fields]) => [
    type,
    {
      apiVersion,
      kind: 'AgentTaskOrder',
      metadata: { name: type.toLowerCase() },
      spec: { taskRef: { name: 'full' }, type, requester: 'admin', ...fields },
    },
  ]),
);

export const fullOrderStatus: Node = { observedGeneration: 1, state: 'Accepted', message: 'ok', at: time, conditions: [condition] };

/** The least that a pool needs. */
export const minimalPool: Node = {
  apiVersion,
  kind: 'ExpertPool',
  metadata: { name: 'minimal' },
  spec: { experts: [{ name: 'gen', role: 'Generalist', engine: { type: 'Synth' } }] },
};

/** A pool with every field. */
export const fullPool: Node = {
  apiVersion,
  kind: 'ExpertPool',
  metadata: { name: 'full' },
  spec: {
    default: true,
    allowedNamespaces: {
      from: 'Selector',
      selector: { matchLabels: { team: 'a' }, matchExpressions: [{ key: 'stage', operator: 'In', values: ['dev'] }] },
    },
    experts: [
      {
        name: 'gen',
        role: 'Generalist',
        domains: ['*'],
        engine: { type: 'Synth' },
        replicas: 2,
        resources: { ...(fullSandbox['resources'] as Node), ...gpu },
      },
      { name: 'py', role: 'Specialist', domains: ['python'], engine: { type: 'Replay', replay: { configMap: { name: 'tape' } } } },
      { name: 'draft', role: 'Draft', engine: { type: 'Llama', llama: { threads: 2, contextTokens: 1024 } } },
      { name: 'planner', role: 'Planner', engine: { type: 'Builtin' } },
      {
        name: 'core',
        role: 'Specialist',
        domains: ['go'],
        engine: {
          type: 'VLLM',
          vLLM: {
            image: 'registry.example.com/vllm:0.14',
            maxModelLen: 8192,
            maxNumSeqs: 32,
            kvCacheBytes: '8Gi',
            sleepAfterSeconds: 60,
            drainSeconds: 60,
            extraArgs: ['--seed=7'],
          },
        },
        artifact: { uri: 'hf://example/coder@main', digest: sha, format: 'Safetensors', tokenizerHash: sha },
        speculative: { draft: { uri: 's3://models/draft', digest: sha, format: 'Safetensors', tokenizerHash: sha }, numTokens: 4 },
        residency: 'Always',
        warmup: { timeoutSeconds: 600 },
      },
      {
        name: 'rust',
        role: 'Specialist',
        domains: ['rust'],
        engine: { type: 'Adapter', adapter: { base: 'core', rank: 32 } },
        artifact: { uri: 'pvc://models/rust', format: 'Safetensors' },
      },
    ],
    modelCache: {
      size: '100Gi',
      storageClassName: 'fast',
      accessMode: 'ReadWriteMany',
      hub: { host: 'hub.example.com', credential: 'hub' },
    },
    workers: { replicas: 2, concurrency: 4, resources: fullSandbox['resources'] },
    sandbox: {
      template: fullSandbox,
      snapshotEngine: 'CAS',
      userNamespace: 'Always',
      warm: [{ namespace: 'team-a', replicas: 2, maxAgeSeconds: 600 }],
    },
    policy: {
      minIsolation: 'Seccomp',
      allowUnenforcedNetwork: true,
      profiles: ['Default', 'Permissive'],
      maxBudget: { wallSeconds: 3600, toolCalls: 500 },
    },
    storage: {
      uri: 's3://agents/fleet',
      endpoint: 'https://s3.example.com:9000',
      region: 'eu-1',
      forcePathStyle: true,
      credential: 'store',
      encryption: { credential: 'seal' },
    },
    credentials: [
      { name: 'store', secretRef: { name: 's3', key: 'token' }, hosts: ['s3.example.com'] },
      { name: 'seal', secretRef: { name: 'seal', key: 'key' }, hosts: [] },
      { name: 'hub', secretRef: { name: 'hub', key: 'token' }, hosts: ['hub.example.com'] },
    ],
    limits: { maxRunning: 10, maxQueued: 100, perNamespace: 5 },
    energyModelRef: { name: 'judge' },
    rollout: fullRollout,
    placement: {
      mode: 'DRA',
      nvlink: 'Required',
      antiAffinity: [{ expert: 'gen', from: ['*', 'EnergyModel', 'py'] }],
      dryRun: true,
      allowUnaccounted: true,
    },
    profiles: [
      {
        name: 'careful',
        compute: { entropyFastNats: '1.5', margin: '2.0', riskThreshold: '0.4', kBase: 3, kMax: 12, earlyExitMargin: '2.5' },
      },
    ],
  },
};

export const fullPoolStatus: Node = {
  observedGeneration: 1,
  conditions: [condition],
  experts: [
    {
      name: 'gen',
      role: 'Generalist',
      phase: 'Starting',
      digest: sha,
      endpoint: 'http://full-gen.platform.svc:8000',
      replicas: 1,
      ready: 0,
      message: 'starts',
    },
  ],
  artifacts: [
    {
      name: 'core/draft',
      uri: 's3://models/draft',
      phase: 'Ready',
      digest: sha,
      bytesTotal: 1000,
      bytesDone: 1000,
      weightBytes: 900,
      architecture: { layers: 2, kvHeads: 2, headSize: 64, hiddenSize: 256, feedForwardSize: 1024, vocabulary: 32_000 },
      tokenizerHash: sha,
      message: 'ok',
    },
  ],
  workers: { replicas: 2, ready: 1, selector: 'agentfleet.dev/pool=full' },
  sandboxes: { warm: 2, starting: 1, claimed: 3 },
  plan: fullPlan,
  proposedPlan: fullPlan,
  running: 3,
  queued: 4,
  rollout: fullRolloutStatus,
};

/** A verifier with every field. */
export const fullModel: Node = {
  apiVersion,
  kind: 'EnergyModel',
  metadata: { name: 'full' },
  spec: {
    artifact: { uri: 'builtin://features-v1', digest: sha, format: 'JSON' },
    lambda: '0.8',
    heads: [{ name: 'Code', lambda: '0.5' }],
    scoring: { batchMax: 8, timeoutMillis: 500 },
    resources: { replicas: 2, container: fullSandbox['resources'], ...gpu },
    thresholds: { source: 'Calibration', vetoBelowProbability: '0.1', warnBelowProbability: '0.2', whenUnavailable: 'Degrade' },
    calibration: { method: 'Isotonic', minSamples: 200, maxAgeSeconds: 86_400 },
    gates: { auc: '0.8', ece: '0.05', minSamples: 150 },
  },
};

export const fullModelStatus: Node = {
  observedGeneration: 1,
  conditions: [condition],
  phase: 'Ready',
  endpoint: 'http://full-verifier.platform.svc:8000',
  digest: sha,
  replicas: 2,
  ready: 2,
  plan: fullPlan,
  thresholdsInForce: {
    vetoBelowProbability: '0.1',
    warnBelowProbability: '0.2',
    heads: [{ name: 'Shell', vetoBelowProbability: '0.2', warnBelowProbability: '0.5' }],
  },
  calibration: {
    digest: sha,
    samples: 400,
    heads: [{ name: 'Shell', auc: '0.9', ece: '0.02', samples: 400 }],
    knots: [{ head: 'Shell', energy: '-1.5', probability: '0.97' }],
    fittedAt: '2030-01-01T00:00:00Z',
  },
};
