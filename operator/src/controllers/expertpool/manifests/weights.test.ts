import { weightsOf } from '../../../operands/index.ts';
import { describe, expect, test } from 'vitest';
import type { ExpertPool, ExpertPoolStatus } from '@agentfleet/protocol/api';
import type { Pod } from '../../../runtime/resources.ts';
import { newPool } from '../../agenttask/testing/objects.ts';
import { decidePool } from '../decide.ts';
import { poolStatus } from '../status.ts';
import { newSnapshot } from '../testing/snapshots.ts';
import { artifactsCondition, weightsViews, type FetchProgress } from './weights.ts';

const sha = (sign: string): string => `sha256:${sign.repeat(64)}`;
const architecture = { layers: 28, kvHeads: 4, headSize: 128, hiddenSize: 3584, feedForwardSize: 18_944, vocabulary: 152_064 };
const found = {
  format: 'agentfleet.dev/weights/v1',
  digest: sha('a'),
  bytes: 15_000,
  files: 9,
  weightBytes: 14_000,
  architecture,
  tokenizerHash: sha('b'),
};

const core = {
  name: 'core',
  role: 'Generalist',
  engine: { type: 'VLLM', vLLM: { image: 'vllm:1', maxNumSeqs: 8, extraArgs: ['--seed=7'] } },
  artifact: { uri: 'pvc://models/coder' },
};
const python = {
  name: 'py',
  role: 'Specialist',
  domains: ['python'],
  engine: { type: 'Adapter', adapter: { base: 'core', rank: 32 } },
  artifact: { uri: 'pvc://models/py' },
};
const storage = { uri: 's3://models/all', endpoint: 'https://s3.example.com', credential: 'store' };
const credentials = [
  { name: 'store', secretRef: { name: 's3', key: 'token' }, hosts: ['s3.example.com'] },
  { name: 'hub', secretRef: { name: 'hub', key: 'token' }, hosts: ['hub.example.com'] },
];

/** Of pools that have no other revisions and no pods. */
const facts = { others: [], pods: [], progress: new Map<string, FetchProgress>(), images: { agent: 'agent:1' } };
type Facts = Partial<Parameters<typeof weightsViews>[0]>;
const views = (pool: ExpertPool, more: Facts = {}) => weightsViews({ ...facts, pool: newSnapshot(pool).pool, ...more });

/** The pod of the job of an item, as it ended. */
function jobPod(pool: ExpertPool, name: string, message: object | undefined, phase: Pod['status'] & object = { phase: 'Succeeded' }): Pod {
  const { job } = views(pool).find(({ item }) => item.name === name)!;
  const state = message === undefined ? {} : { terminated: { exitCode: 0, message: JSON.stringify(message) } };
  return {
    metadata: {
      name: `job-${name.replace('/', '-')}`,
      namespace: 'platform',
      labels: job.object.metadata.labels,
    },
    status: { ...phase, containerStatuses: [{ name: 'weights', ready: false, restartCount: 0, state }] },
  };
}

function decided(pool: ExpertPool, pods: readonly Pod[], more: Facts = {}) {
  const weights = views(pool, { pods, ...more });
  const snapshot = newSnapshot(pool, { pods, weights });
  const decision = decidePool(snapshot);
  const status = poolStatus(snapshot, decision.obstacles, 0);
  const named = (kind: string) => decision.apply.filter(({ object }) => object.kind === kind).map(({ object }) => object);
  return { decision, status, named, conditionValue: artifactsCondition(weights), weights };
}

/** Where the plan puts the engine. */
const plan = {
  hash: 'a',
  mode: 'DRA',
  assignments: [{ item: 'core', slot: 'dgx-1/gpu0', uuid: 'GPU-0', bytes: 2 ** 36, admitted: true }],
  rejected: [],
  skippedModes: [],
} as const;

const withStatus = (pool: ExpertPool, artifacts: ExpertPoolStatus['artifacts']): ExpertPool =>
  ({ ...pool, status: { plan, ...pool.status, ...(artifacts === undefined ? {} : { artifacts }) } }) as unknown as ExpertPool;

interface Template {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly initContainers: readonly {
          readonly name: string;
          readonly args: readonly string[];
          readonly env: readonly object[];
          readonly [field: string]: unknown;
        }[];
        readonly containers: readonly { readonly env: readonly { readonly name: string; readonly value: string }[] }[];
        readonly volumes: readonly object[];
      };
    };
  };
}
const podOf = (object: unknown): Template['spec']['template']['spec'] => (object as Template).spec.template.spec;
const envOf = (object: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(podOf(object).containers[0]?.env.map(({ name, value }) => [name, value]) ?? []);

describe('weights that are not known yet', () => {
  const pool = newPool({ experts: [core, python] });

  test('are read by a job, and nothing loads them meanwhile', () => {
    const { named, status, conditionValue } = decided(pool, []);
    const jobs = named('Job');
    expect(jobs.map(({ metadata }) => metadata.name)).toEqual([
      expect.stringMatching(/^coding-weights-core-/) as string,
      expect.stringMatching(/^coding-weights-py-/) as string,
    ]);
    expect(podOf(jobs[0]).volumes).toEqual([
      { name: expect.stringMatching(/^claim-/) as string, persistentVolumeClaim: { claimName: 'models', readOnly: true } },
    ]);
    expect(envOf(jobs[0])).toEqual({
      AGENTFLEET_WEIGHTS_URI: 'pvc://models/coder',
      AGENTFLEET_WEIGHTS_FOLDER: '/weights/claims/models/coder',
    });
    expect(named('Deployment').map(({ metadata }) => metadata.name)).toEqual(['coding-workers']);
    expect(conditionValue).toMatchObject({ status: 'False', reason: 'Resolving' });
    expect(status.artifacts?.map(({ name, phase }) => [name, phase])).toEqual([
      ['core', 'Resolving'],
      ['py', 'Resolving'],
    ]);
  });

  test('are fetched into a volume of the pool, with what may read them, and report how far they are', () => {
    const hub = { host: 'hub.example.com', credential: 'hub' };
    const fetched = newPool({
      experts: [{ ...core, artifact: { uri: 'hf://org/coder@main' }, speculative: { draft: { uri: 's3://models/draft' } } }],
      modelCache: { size: '100Gi', hub },
      storage,
      credentials,
    });
    const running = jobPod(fetched, 'core', undefined, { phase: 'Running', podIP: '10.0.0.9' });
    const { named, status } = decided(fetched, [running], {
      progress: new Map([[running.metadata.name, { bytesDone: 5, bytesTotal: 10 }]]),
    });
    const [first, second] = named('Job');
    expect(envOf(first)).toMatchObject({
      AGENTFLEET_HUB: 'https://hub.example.com',
      AGENTFLEET_CREDENTIAL_FILE: '/etc/agentfleet/credential/value',
    });
    expect(envOf(second)).toMatchObject({ AGENTFLEET_S3_ENDPOINT: 'https://s3.example.com', AGENTFLEET_S3_REGION: 'us-east-1' });
    expect(JSON.stringify(podOf(second).volumes)).toContain('"secretName":"s3","items":[{"key":"token","path":"value"}]');
    expect(named('PersistentVolumeClaim').map(({ metadata, spec }) => [metadata.name, spec])).toEqual([
      ['coding-models', { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '100Gi' } } }],
    ]);
    expect(status.artifacts?.[0]).toMatchObject({ phase: 'Resolving', message: '5 of 10 bytes are there' });
  });

  test('that cannot be found are a fault with the cure; those that a moment keeps away are asked for again', () => {
    const lost = {
      format: found.format,
      fault: 'NotFound',
      message: '/weights/claims/models/coder is empty: correct the folder in the uri',
    };
    const { status, decision, conditionValue } = decided(pool, [jobPod(pool, 'core', lost, { phase: 'Failed' })]);
    expect(conditionValue).toMatchObject({ status: 'False', reason: 'WeightsNotFound', stalled: true });
    expect(decision.obstacles).toEqual([{ reason: 'WeightsNotFound', message: lost.message, expert: 'core' }]);
    expect(status.conditions?.find(({ type }) => type === 'ArtifactsReady')).toMatchObject({ status: 'False', reason: 'WeightsNotFound' });
    const away = { ...lost, fault: 'Unreachable', message: 'the hub does not answer' };
    const again = [jobPod(pool, 'core', away, { phase: 'Failed' }), { ...jobPod(pool, 'core', undefined, { phase: 'Pending' }) }];
    expect(decided(pool, again).conditionValue).toMatchObject({ reason: 'Resolving' });
    expect(decided(pool, again.slice(0, 1)).conditionValue).toMatchObject({ reason: 'WeightsUnreachable' });
  });
});

describe('weights of one uri', () => {
  const artifact = { uri: 'hf://org/coder@main' };
  const modelCache = { size: '100Gi' };
  const fast = { ...core, name: 'fast', role: 'Specialist', speculative: { draft: artifact } };
  const pool = newPool({
    experts: [
      { ...core, artifact },
      { ...fast, artifact: { ...artifact, digest: sha('a') } },
    ],
    modelCache,
  });
  const phases = ({ weights }: ReturnType<typeof decided>) => weights.map(({ state }) => state.phase);

  test('have one job, whoever asks for them, which knows a digest only when all demand it', () => {
    const { named } = decided(pool, []);
    expect(named('Job')).toHaveLength(1);
    expect(envOf(named('Job')[0])).not.toHaveProperty('AGENTFLEET_WEIGHTS_DIGEST');
    const pinned = { ...artifact, digest: sha('a') };
    const alike = newPool({
      experts: [
        { ...core, artifact: pinned },
        { ...core, name: 'fast', artifact: pinned },
      ],
      modelCache,
    });
    expect(decided(alike, []).named('Job').map(envOf)).toMatchObject([{ AGENTFLEET_WEIGHTS_DIGEST: sha('a') }]);
    expect(phases(decided(pool, [jobPod(pool, 'core', found)]))).toEqual(['Ready', 'Ready', 'Ready']);
  });

  test('are refused to the expert that demands others, and read again for it alone', () => {
    const now = decided(pool, [jobPod(pool, 'core', { ...found, digest: sha('f') })]);
    expect(phases(now)).toEqual(['Ready', 'Failed', 'Ready']);
    expect(now.decision.obstacles).toEqual([
      { reason: 'WeightsDigestMismatch', message: expect.stringContaining(`artifact.digest is ${sha('a')}`) as string, expert: 'fast' },
    ]);
    expect(now.named('Job')).toHaveLength(1);
  });

  test('need no job for another expert once they are known, and what was read last holds', () => {
    const first = newPool({ experts: [{ ...core, artifact }], modelCache });
    const { artifacts } = decided(first, [jobPod(first, 'core', found)]).status;
    expect(phases(decided(withStatus(pool, artifacts), []))).toEqual(['Ready', 'Ready', 'Ready']);
    const moved = withStatus(
      pool,
      artifacts?.map((state) => ({ ...state, digest: sha('e') })),
    );
    expect(phases(decided(moved, []))).toEqual(['Ready', 'Resolving', 'Ready']);
    const digests = decided(moved, [jobPod(moved, 'core', found)]).weights.map(({ state }) => state.digest);
    expect(new Set(digests)).toEqual(new Set([sha('a')]));
  });
});

test('a job whose pod the API server does not let in names the obstacle and the cure', () => {
  const pool = newPool({ experts: [core] });
  const [{ job }] = views(pool) as [ReturnType<typeof views>[number]];
  const refused = 'FailedCreate: Error creating: pods "coding-weights-core-1" is forbidden: exceeded quota: compute';
  const now = decided(pool, [], { notes: new Map([[job.object.metadata.name, refused]]) });
  expect(now.conditionValue).toEqual({
    status: 'False',
    reason: 'PodsNotReady',
    message: `core: pods cannot be made: ${refused}; change what it names, or make room below it, and it is tried again`,
  });
  expect(now.status.artifacts?.[0]?.message).toContain('exceeded quota');
});

describe('a job that failed', () => {
  const modelCache = { size: '100Gi', hub: { host: 'hub.example.com' } };
  const spec = { experts: [{ ...core, artifact: { uri: 'hf://org/coder@main' } }], modelCache, storage, credentials };
  const pool = newPool(spec);
  const pods = [jobPod(pool, 'core', { format: found.format, fault: 'NoRoom', message: 'the volume is full' }, { phase: 'Failed' })];
  const jobIn = (...of: Parameters<typeof decided>): string | undefined => decided(...of).named('Job')[0]?.metadata.name;

  test('is made anew after a while, when it is still the same', () => {
    expect(decided(pool, pods).conditionValue).toMatchObject({ reason: 'WeightsNoRoom' });
    expect(jobIn(pool, pods)).toBe(jobIn(pool, []));
    expect(decided(pool, pods).named('Job')[0]).toMatchObject({ spec: { backoffLimit: 3, ttlSecondsAfterFinished: 600 } });
  });

  test.each<[string, ExpertPool, Facts]>([
    ['room', newPool({ ...spec, modelCache: { ...modelCache, size: '200Gi' } }), {}],
    ['a credential', newPool({ ...spec, modelCache: { ...modelCache, hub: { ...modelCache.hub, credential: 'hub' } } }), {}],
    ['another hub', newPool({ ...spec, modelCache: { ...modelCache, hub: { host: 'other.example.com' } } }), {}],
    ['another version', pool, { images: { agent: 'agent:2' } }],
    ['a proxy', pool, { settings: { proxy: { url: 'http://proxy:3128', except: [] } } }],
  ])('is another one, of which nothing is known, with %s', (_, changed, more) => {
    expect(jobIn(changed, pods, more)).not.toBe(jobIn(pool, pods));
    expect(decided(changed, pods, more).conditionValue).toMatchObject({ reason: 'Resolving' });
  });
});

describe('weights that were found', () => {
  const pool = withStatus(newPool({ experts: [core, python] }), undefined);
  const adapter = { ...found, digest: sha('c'), architecture: null, tokenizerHash: null };
  const pods = [jobPod(pool, 'core', found), jobPod(pool, 'py', adapter)];

  test('are loaded by an engine beside our server, which looks at them first and outlives it', () => {
    const { named, status, conditionValue } = decided(pool, pods);
    expect(conditionValue).toMatchObject({ status: 'True' });
    expect(status.artifacts?.[0]).toEqual({
      name: 'core',
      uri: 'pvc://models/coder',
      phase: 'Ready',
      digest: sha('a'),
      weightBytes: 14_000,
      architecture,
      tokenizerHash: sha('b'),
    });
    expect(named('Job')).toEqual([]);
    const [engine] = named('Deployment');
    const { initContainers, terminationGracePeriodSeconds } = podOf(engine);
    expect(initContainers.map(({ name, restartPolicy }) => [name, restartPolicy])).toEqual([
      ['weights', undefined],
      ['engine', 'Always'],
    ]);
    expect(initContainers[0]?.env).toContainEqual({ name: 'AGENTFLEET_WEIGHTS_DIGEST', value: sha('a') });
    // 56 KiB of keys and values for each of 8,192 tokens; two ranks for one adapter, the greatest of them.
    expect(initContainers[1]?.args.join(' ')).toBe(
      `/weights/claims/models/coder --served-model-name coding.core coding.core@${sha('a')} --host :: --port 8000 --max-model-len 8192 ` +
        '--max-num-seqs 8 --kv-cache-memory-bytes 469762048 --max-num-batched-tokens 2048 --enable-prefix-caching --max-logprobs 20 --logprobs-mode raw_logprobs ' +
        '--structured-outputs-config.backend xgrammar --enable-lora --max-loras 1 --max-lora-rank 32 --seed=7',
    );
    expect(terminationGracePeriodSeconds).toBe(135);
    expect(envOf(engine)).toMatchObject({
      AGENTFLEET_ENGINE: 'VLLM',
      AGENTFLEET_UPSTREAM: 'http://127.0.0.1:8000',
      AGENTFLEET_DRAIN_SECONDS: '120',
    });
  });

  test('of an adapter are loaded by the engine of its base, asked through a server of its own', () => {
    const { named } = decided(pool, pods);
    const [, server] = named('Deployment');
    expect(envOf(server)).toMatchObject({
      AGENTFLEET_ENGINE: 'VLLM',
      AGENTFLEET_UPSTREAM: 'http://coding-expert-core.platform.svc:8000',
      AGENTFLEET_MODEL: 'coding.core',
      // Other weights have another name: the engine would take them for those that it has.
      AGENTFLEET_ADAPTER: `coding.py.${weightsOf(pool).find(({ name }) => name === 'py')?.hash ?? ''}=/weights/claims/models/py`,
    });
    expect(podOf(server).initContainers).toBeUndefined();
    const walls = named('NetworkPolicy').find(({ metadata }) => metadata.name === 'coding-experts');
    expect(JSON.stringify(walls)).toContain('"egress":[{"to":[{"podSelector"');
    expect(JSON.stringify(named('Service')[0])).toContain('"port":8000');
  });

  test('need their pods no more, until something else is asked for', () => {
    const artifacts = decided(pool, pods).status.artifacts;
    const later = withStatus(pool, artifacts);
    expect(
      decided(later, [])
        .named('Deployment')
        .map(({ metadata }) => metadata.name),
    ).toContain('coding-expert-core');
    expect(decided(later, []).named('Deployment')).toEqual(decided(pool, pods).named('Deployment'));
    expect(decided(later, [], { images: { agent: 'agent:2' } }).named('Job')).toEqual([]);
    const pinned = withStatus(newPool({ experts: [{ ...core, artifact: { ...core.artifact, digest: sha('f') } }, python] }), artifacts);
    expect(decided(pinned, []).named('Job')).toHaveLength(1);
    const moved = withStatus(newPool({ experts: [{ ...core, artifact: { uri: 'pvc://models/other' } }, python] }), artifacts);
    expect(decided(moved, []).status.artifacts?.[0]).toMatchObject({ phase: 'Resolving', uri: 'pvc://models/other' });
  });

  test('are not loaded with a command line that placement could not reckon with', () => {
    const words = { ...core, engine: { type: 'VLLM', vLLM: { image: 'vllm:1', extraArgs: ['--gpu_memory_utilization=0.9'] } } };
    const { decision, named } = decided(withStatus(newPool({ experts: [words] }), undefined), [jobPod(pool, 'core', found)]);
    expect(decision.obstacles).toEqual([
      { reason: 'EngineArgumentRefused', message: expect.stringContaining('is set by the operator') as string, expert: 'core' },
    ]);
    expect(named('Deployment').map(({ metadata }) => metadata.name)).toEqual(['coding-workers']);
  });

  test('of another revision stay known while it has pods', () => {
    const artifacts = decided(pool, pods).status.artifacts;
    const newer = withStatus(newPool({ experts: [{ ...core, artifact: { uri: 'pvc://models/next' } }, python] }), artifacts);
    const known = views(newer, { others: pool.spec.experts });
    expect(known.map(({ item, state }) => [item.name, state.name.replace(/@.*/, '@'), state.phase])).toEqual([
      ['core', 'core', 'Resolving'],
      ['py', 'py', 'Ready'],
      ['core', 'core@', 'Ready'],
    ]);
    const back = withStatus(
      pool,
      known.map(({ state }) => state),
    );
    expect(views(back).map(({ state }) => state.phase)).toEqual(['Ready', 'Ready']);
  });

  test('of a draft have to have the tokenizer of their target', () => {
    const speculative = withStatus(
      newPool({ experts: [{ ...core, speculative: { draft: { uri: 'pvc://models/small' }, numTokens: 4 } }] }),
      undefined,
    );
    const reported = (tokenizerHash: string): readonly Pod[] => [
      jobPod(speculative, 'core', found),
      jobPod(speculative, 'core/draft', { ...found, digest: sha('d'), tokenizerHash }),
    ];
    const { decision, named } = decided(speculative, reported(sha('e')));
    expect(decision.obstacles[0]).toMatchObject({ reason: 'WeightsTokenizerMismatch', expert: 'core' });
    expect(named('Deployment').map(({ metadata }) => metadata.name)).toEqual(['coding-workers']);
    const [engine] = decided(speculative, reported(sha('b'))).named('Deployment');
    expect(podOf(engine).initContainers.map(({ name }) => name)).toEqual(['weights', 'weights-draft', 'engine']);
    expect(podOf(engine).initContainers[2]?.args.join(' ')).toContain('{"model":"/weights/claims/models/small","num_speculative_tokens":4');
  });
});
