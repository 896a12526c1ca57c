// test, contract/api: examples of ExpertPool, ExpertScale and PoolGrant. May import any package.
import { condition, fullSandbox, fullTemplate } from './taskExamples.ts';
import { withValue, type Node } from './fields.ts';
import { fullPlan, gpu } from './planExample.ts';
import { fullRolloutStatus } from './rolloutExamples.ts';

const apiVersion = 'agentfleet.dev/v1alpha1';
const sha = `sha256:${'ab'.repeat(32)}`;

/** A model behind an API with every field. */
const fullSpending = { windowSeconds: 3600, tokens: 5_000_000, cost: '100', perNamespace: { tokens: 2_000_000, cost: '40.5' } };

const fullEndpoint = {
  baseURL: 'https://claude.example.com',
  model: 'm',
  credential: 'llm',
  caBundleRef: { name: 'authorities', key: 'ca.crt' },
  proxyURL: 'http://proxy.example.com:3128',
  contextTokens: 2_000_000,
  maxOutputTokens: 512,
  toolCalls: 'Json',
  price: { input: '3.00', cachedInput: '0.3', output: '15' },
  requestsPerMinute: 60,
  concurrency: 8,
  timeoutSeconds: 120,
};

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
      selector: { matchLabels: { team: 'a' } },
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
      {
        name: 'py',
        role: 'Specialist',
        domains: ['python'],
        engine: { type: 'Replay', replay: { configMap: { name: 'tape' }, format: 'Proposals' } },
      },
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
            tensorParallel: 2,
            slots: ['dgx-1/gpu2', 'dgx-1/gpu3'],
            toolCallParser: 'hermes',
            extraArgs: ['--seed=7'],
          },
        },
        artifact: { uri: 'hf://example/coder@main', digest: sha },
        speculative: { draft: { uri: 's3://models/draft', digest: sha }, numTokens: 4 },
        residency: 'Always',
        warmup: { timeoutSeconds: 600 },
      },
      {
        name: 'rust',
        role: 'Specialist',
        domains: ['rust'],
        engine: { type: 'Adapter', adapter: { base: 'core', rank: 32 } },
        artifact: { uri: 'pvc://models/rust' },
      },
      {
        name: 'chat',
        role: 'Specialist',
        engine: { type: 'OpenAI', api: { ...fullEndpoint, baseURL: 'https://llm.example.com/v1' } },
        fallback: 'other',
      },
      { name: 'other', role: 'Specialist', engine: { type: 'Anthropic', api: fullEndpoint } },
      {
        name: 'program',
        role: 'Generalist',
        engine: {
          type: 'Harness',
          harness: {
            command: ['mini', '--yolo', '--model', 'openai/{{model}}', '--task', '{{goal}}'],
            env: [{ name: 'LLM_KEY', value: '{{key}}' }],
            input: 'Template',
            api: 'Chat',
            acts: 'Tools',
            model: 'chat',
            install: { command: ['pip', 'install', 'mini-swe-agent'], network: 'Registries' },
            rounds: 3,
            stallSeconds: 120,
          },
        },
      },
    ],
    gateway: { replicas: 3, resources: fullSandbox['resources'] },
    modelCache: {
      size: '100Gi',
      storageClassName: 'fast',
      accessMode: 'ReadWriteMany',
      hub: { host: 'hub.example.com', credential: 'hub' },
    },
    workers: { replicas: 2, concurrency: 4, resources: fullSandbox['resources'] },
    sandbox: {
      template: fullTemplate,
      snapshotEngine: 'CAS',
      userNamespace: 'Always',
      startTimeoutSeconds: 300,
      warm: [{ namespace: 'team-a', replicas: 2, maxAgeSeconds: 600 }],
    },
    policy: {
      minIsolation: 'Seccomp',
      allowUnenforcedNetwork: true,
      profiles: ['Default', 'Permissive'],
      maxBudget: { wallSeconds: 3600, toolCalls: 500, tokens: 2_000_000, cost: '12.50' },
      maxDeadlineSeconds: 7200,
      maxRetentionSeconds: 86_400,
      allowedHosts: [
        { host: 'git.corp.example.com', port: 443 },
        { host: '10.1.2.3', port: 8443 },
      ],
      traceConsent: { default: 'Internal', most: 'Training' },
    },
    tools: {
      deny: ['ask_human'],
      timeouts: { bash: 900 },
      mcpServers: [
        {
          name: 'docs',
          url: 'https://mcp.example.com/mcp',
          headers: [{ name: 'Authorization', credential: 'docs', prefix: 'Bearer ' }],
          timeoutSeconds: 30,
          readOnly: true,
        },
      ],
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
      { name: 'llm', secretRef: { name: 'llm', key: 'token' }, hosts: ['llm.example.com', 'claude.example.com'] },
      { name: 'hub', secretRef: { name: 'hub', key: 'token' }, hosts: ['hub.example.com'] },
      { name: 'docs', secretRef: { name: 'docs', key: 'token' }, hosts: ['mcp.example.com'] },
      {
        name: 'git',
        secretRef: { name: 'git', key: 'token' },
        hosts: ['git.example.com'],
        repositories: ['git.example.com/team/', 'git.example.com/tools/build.git'],
      },
    ],
    limits: { maxRunning: 10, maxQueued: 100, perNamespace: 5, queueTimeoutSeconds: 3600, spending: fullSpending },
    energyModelRef: { name: 'judge' },
    rolloutPolicyRef: { name: 'full' },
    placement: {
      mode: 'DRA',
      nvlink: 'Required',
      antiAffinity: [{ expert: 'gen', from: ['*', 'EnergyModel', 'py'] }],
    },
    profiles: [
      {
        name: 'careful',
        compute: { entropyFastNats: '1.5', margin: '2.0', kBase: 3, kMax: 12 },
      },
    ],
  },
};

/** The same without a gateway, for other experts. */
export const withoutGateway = withValue(fullPool, 'spec.gateway', undefined);

export const fullPoolStatus: Node = {
  observedGeneration: 1,
  conditions: [condition],
  experts: [
    {
      name: 'gen',
      phase: 'Starting',
      digest: sha,
      endpoint: 'http://full-gen.platform.svc:8000',
      replicas: 1,
      ready: 0,
      memory: { estimated: 1000, measured: 1500 },
      latency: { p50Ms: 20, p95Ms: 300 },
      message: 'starts',
    },
  ],
  artifacts: [
    {
      name: 'core/draft',
      uri: 's3://models/draft',
      phase: 'Ready',
      digest: sha,
      weightBytes: 900,
      architecture: { layers: 2, heads: 4, kvHeads: 2, headSize: 64, hiddenSize: 256, feedForwardSize: 1024, vocabulary: 32_000 },
      tokenizerHash: sha,
      message: 'ok',
    },
  ],
  workers: { replicas: 2, ready: 1, selector: 'agentfleet.dev/pool=full' },
  sandboxes: { warm: 2, starting: 1 },
  plan: fullPlan,
  running: 3,
  queued: 4,
  rollout: fullRolloutStatus,
};

/** A scale with every field. */
export const fullScale: Node = {
  apiVersion,
  kind: 'ExpertScale',
  metadata: { name: 'scale' },
  spec: { poolRef: { name: 'full' }, expert: 'gen', replicas: 3 },
};

export const fullScaleStatus: Node = {
  observedGeneration: 1,
  conditions: fullPoolStatus['conditions'],
  granted: 2,
  replicas: 2,
  ready: 1,
  selector: 'agentfleet.dev/pool=full',
};

/** A grant with every field. */
export const fullGrant: Node = {
  apiVersion,
  kind: 'PoolGrant',
  metadata: { name: 'grant' },
  spec: { from: [{ namespace: 'agentfleet-pools', name: 'coding' }, { namespace: 'platform' }], allow: ['Warm', 'Default'] },
};
