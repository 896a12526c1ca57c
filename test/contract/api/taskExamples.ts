// test, contract/api: examples of AgentTask and AgentTaskOrder. May import any package.
import type { Node } from './fields.ts';

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
};

/** A template of a pool with every field. */
export const fullTemplate: Node = {
  ...fullSandbox,
  nodeSelector: { 'example.com/pool': 'agents' },
  tolerations: [{ key: 'agents', operator: 'Equal', value: 'only', effect: 'NoExecute' }],
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
      checks: [
        { name: 'unit', type: 'Command', command: ['npm', 'test'], timeoutSeconds: 300, format: 'TAP', expect: 'FailThenPass' },
        {
          name: 'report',
          type: 'Artifact',
          path: 'out/report.json',
          minBytes: 2,
          contains: ['total'],
          jsonSchema: '{"type":"object"}',
        },
        { name: 'owner', type: 'Review' },
      ],
      whenAlreadyTrue: 'Work',
      protect: { mode: 'Default', paths: ['tests/**'], except: ['scripts/build.sh'] },
      policy: {
        profile: 'Strict',
        network: { mode: 'Allowed', hosts: [{ host: 'mirror.example.com', port: 8443 }] },
        approvals: { require: ['Destructive'], timeoutSeconds: 600 },
        minIsolation: 'Landlock',
      },
      tools: {
        deny: ['fetch'],
        mcpServers: [{ name: 'docs', url: 'https://mcp.example.com/mcp', required: true }],
      },
      budget: { wallSeconds: 1800, toolCalls: 200, tokens: 90_000, cost: '2.5' },
      deadlineSeconds: 3600,
      attempts: {
        max: 2,
        backoff: { seconds: 5 },
        rules: [{ class: 'CheckFailed', action: 'RollbackAndRetry' }],
      },
      sandbox: { ...fullSandbox, storage: { storageClassName: 'fast', size: '10Gi', volumeSnapshotClassName: 'keep' } },
      snapshots: { policy: 'EveryStep', checkpointSeconds: 60 },
      rollback: { whenFailed: 'RestoreLastGreen' },
      suspend: true,
      cancel: 'Stop',
      ...(workspace['type'] === 'Git' && {
        output: { git: { branch: 'fixes/parser', credential: 'push', pullRequest: { title: 'Repair the parser', forge: 'Gitea' } } },
      }),
      trace: { consent: 'Training' },
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
const spent = { tokensIn: 1, tokensOut: 2, cost: '0.000012', toolCalls: 3 };
const usage = { ...spent, tokensCached: 1, cpuMillis: 4, wallSeconds: 5, candidates: 6, vetoes: 7, backtracks: 8 };
export const time = '2026-01-01T00:00:00Z';

export const fullRun: Node = {
  attempt: 1,
  epoch: 3,
  progress: { done: 1, total: 4, message: 'edits src/a.py' },
  plan: [{ id: '1.2', kind: 'Step', intent: 'fix the bound', state: 'Running' }],
  snapshots: { initial: 's0000', lastGreen: 's0001', checkpointURI: 's3://agents/x' },
  usage,
  signals: {
    energy: '-1.25',
    pSuccess: '0.8',
    degraded: ['draft: proposals are not weighed'],
  },
  experts: [{ role: 'Generalist', name: 'gen', digest: sha }],
  pendingApproval: { action: sha, kind: 'Question', summary: 'remove build/', question: 'which one?', evidence: 'risk 0.9', expires: time },
  isolation: { level: 'Landlock', network: 'Enforced', runtimeClass: 'gvisor' },
  auditRoot: 'ab'.repeat(32),
  artifacts: [{ name: 'patch.diff', uri: 's3://agents/x/patch.diff', sha256: 'ab'.repeat(32), bytes: 512 }],
  shadow: {
    rollout: 'bbbbbbbbbb-t1',
    answered: 8,
    failed: 1,
    dropped: 2,
    candidates: 4,
    sameCandidates: 3,
    bothVetoed: 1,
    onlyStableVetoed: 0,
    onlyShadowVetoed: 1,
    neitherVetoed: 2,
    stableBins: [1, 0, 1, 0, 0, 0, 0, 0, 1, 1],
    shadowBins: [1, 1, 0, 0, 0, 0, 0, 0, 0, 2],
  },
  answer: 'the port was taken',
  messagesTaken: ['7f4a1f0e-2f4b-4b2e-9a52-0d5cf1a3c0de'],
  patch: '--- a/x\n+++ b/x\n',
  output: {
    branch: 'fixes/parser',
    commit: 'ab'.repeat(20),
    pullRequest: 'https://example.com/acme/parser/pulls/7',
    reason: 'AccessDenied',
    message: 'the token may not open pull requests',
  },
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
  queue: { position: 2, since: time },
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
    sandboxReadyAt: time,
    directive: 'Run',
    budget: { tokens: 90_000, cost: '2.5' },
    revision: 'bbbbbbbbbb',
    verifierRevision: 'cccccccccc',
    rollout: 'bbbbbbbbbb-t1',
    shadow: 'bbbbbbbbbb-t1',
  },
  sandbox: { uid: '7f4a1f0e-2f4b-4b2e-9a52-0d5cf1a3c0de', address: '10.244.0.7' },
  attempts: [{ number: 1, startedAt: time, endedAt: time, class: 'CheckFailed', reason: 'ChecksFailed', started: true, usage: spent }],
  totals: { usage },
  storage: { claim: 'full-1', volumeSnapshot: 'full-0' },
  messages: [{ id: '7f4a1f0e-2f4b-4b2e-9a52-0d5cf1a3c0de', requester: 'admin', text: 'use port 8080', snapshot: 's0003' }],
  approvals: [
    {
      action: sha,
      decision: 'Answered',
      answer: 'the newest',
      reason: 'it is small',
      orderRef: { name: 'yes' },
      requester: 'admin',
      at: time,
    },
  ],
  run: fullRun,
};

/** Orders of every type, with the fields that go with it. */
export const orders: Readonly<Record<string, Node>> = Object.fromEntries(
  Object.entries({
    Approve: { action: sha },
    Reject: { action: sha, reason: 'too risky' },
    Answer: { action: sha, message: 'the newest' },
    Message: { message: 'use port 8080', snapshot: 's0003' },
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

/** An order about a rollout. */
export const rolloutOrder: Node = {
  apiVersion,
  kind: 'AgentTaskOrder',
  metadata: { name: 'rollout' },
  spec: { rolloutRef: { kind: 'ExpertPool', name: 'full' }, revision: 'bbbbbbbbbb', type: 'Approve', requester: 'admin' },
};

export const fullOrderStatus: Node = { state: 'Accepted', message: 'ok', at: time };
