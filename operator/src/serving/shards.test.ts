import type { PlanStatus } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { seatDeployment, seatOf, type PlannedStatus } from './seat.ts';
import { serverDeployment } from './server.ts';
import { withEngine, type EnginePod } from './vllm/index.ts';

const server = serverDeployment({
  labels: { app: 'core' },
  image: 'inference:1',
  replicas: 1,
  environment: {},
  resources: undefined,
  fallback: { limits: { memory: '1Gi' } },
});

const enginePod = (shards: number, resources: EnginePod['resources'] = { requests: { cpu: '1', memory: '8Gi' } }): EnginePod => ({
  demand: {
    modelPath: '/models/core',
    pool: 'coding',
    expert: 'core',
    digest: 'sha256:ab',
    maxModelLength: 8192,
    maxSequences: 16,
    kvCacheBytes: 1,
    shards,
    adapters: undefined,
    draft: { modelPath: '/models/draft', tokens: 5 },
    sleep: true,
    extraArgs: [],
  },
  image: 'vllm:1',
  resources,
  volumes: [],
  mounts: [],
  before: [],
  startSeconds: 60,
  drainSeconds: 60,
});

interface Rendered {
  readonly replicas: number;
  readonly template: {
    readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
    readonly spec: {
      readonly resourceClaims?: unknown;
      readonly nodeSelector?: unknown;
      readonly volumes: readonly object[];
      readonly initContainers: readonly {
        readonly args: readonly string[];
        readonly env: readonly { readonly name: string; readonly value?: string }[];
        readonly resources: Readonly<Record<string, unknown>>;
      }[];
      readonly containers: readonly { readonly resources: Readonly<Record<string, unknown>> }[];
    };
  };
}

const place = (index: number, more: object = {}) => ({
  item: 'core',
  slot: `dgx-1/gpu${index}`,
  uuid: `GPU-${index}`,
  bytes: 1,
  claim: `slot-dgx-1-gpu${index}-0123456789`,
  admitted: true,
  ...more,
});
const planned = (mode: PlanStatus['mode'], assignments = [place(0), place(1)]): PlannedStatus => ({
  plan: { ...(mode === undefined ? {} : { mode }), assignments },
});
const rendered = (status: PlannedStatus, shards = 2): Rendered =>
  seatDeployment(withEngine(server, enginePod(shards)), seatOf(true, status, 'core', { shards })) as Rendered;

describe('the pod of an engine on several GPUs', () => {
  test('names one claim for each of them, all in the container of the engine and none beside it', () => {
    const { template, replicas } = rendered(planned('DRA'));
    expect(replicas).toBe(1);
    expect(template.spec.resourceClaims).toEqual([
      { name: 'gpu', resourceClaimName: 'slot-dgx-1-gpu0-0123456789' },
      { name: 'gpu1', resourceClaimName: 'slot-dgx-1-gpu1-0123456789' },
    ]);
    const [engine] = template.spec.initContainers;
    expect(engine?.resources['claims']).toEqual([
      { name: 'gpu', request: 'gpu' },
      { name: 'gpu1', request: 'gpu' },
    ]);
    expect(engine?.env).toContainEqual({ name: 'CUDA_DEVICE_ORDER', value: 'PCI_BUS_ID' });
    expect(template.spec.containers.every(({ resources }) => resources['claims'] === undefined)).toBe(true);
    expect(template.metadata.annotations).toEqual({
      'agentfleet.dev/slot': 'dgx-1/gpu0,dgx-1/gpu1',
      'agentfleet.dev/gpu-uuid': 'GPU-0,GPU-1',
    });
  });

  test('asks the device plugin for as many, or names their boards', () => {
    const whole = rendered(planned('WholeGPU', [place(0, { uuid: undefined }), place(1, { uuid: undefined })])).template;
    expect(whole.spec.initContainers[0]?.resources['limits']).toMatchObject({ 'nvidia.com/gpu': '2' });
    expect(whole.spec).toMatchObject({ nodeSelector: { 'kubernetes.io/hostname': 'dgx-1' } });
    expect(whole.metadata.annotations).toEqual({ 'agentfleet.dev/slot': 'dgx-1/gpu0,dgx-1/gpu1' });
    const { spec, metadata } = rendered(planned('Reservation', [place(0, { holder: 'pod-1' }), place(1, { holder: 'pod-2' })])).template;
    expect(spec.initContainers[0]?.env).toContainEqual({ name: 'NVIDIA_VISIBLE_DEVICES', value: 'GPU-0,GPU-1' });
    expect(metadata.annotations).toMatchObject({ 'agentfleet.dev/gpu-holder': 'pod-1,pod-2' });
  });

  test('gets how many there are, and that its draft is on all of them', () => {
    const args = rendered(planned('DRA')).template.spec.initContainers[0]?.args ?? [];
    expect(args[args.indexOf('--tensor-parallel-size') + 1]).toBe('2');
    expect(args.join(' ')).toContain('"draft_tensor_parallel_size":2');
    expect(args).toContain('--enable-sleep-mode');
    expect(rendered(planned('DRA', [place(0)]), 1).template.spec.initContainers[0]?.args).not.toContain('--tensor-parallel-size');
  });

  test('has shared memory for its processes, bounded, and asked for as memory', () => {
    const shm = (shards: number) => {
      const { volumes, initContainers } = withEngine(server, enginePod(shards)).template.spec ?? {};
      return { volume: volumes?.find(({ name }) => name === 'shm')?.emptyDir, memory: initContainers?.[0]?.resources };
    };
    expect(shm(2)).toEqual({
      volume: { medium: 'Memory', sizeLimit: '2Gi' },
      memory: { requests: { cpu: '1', memory: String(10 * 2 ** 30) }, limits: {} },
    });
    expect(shm(8).volume).toEqual({ medium: 'Memory', sizeLimit: '8Gi' });
    // Of an engine on one GPU nothing changes.
    expect(shm(1)).toEqual({ volume: { medium: 'Memory' }, memory: { requests: { cpu: '1', memory: '8Gi' } } });
    const of = (resources: EnginePod['resources']) =>
      withEngine(server, enginePod(2, resources)).template.spec?.initContainers?.[0]?.resources;
    expect(of({ requests: { memory: '8Gi' }, limits: { memory: '9Gi', cpu: '4' } })).toEqual({
      requests: { memory: String(10 * 2 ** 30) },
      limits: { memory: String(11 * 2 ** 30), cpu: '4' },
    });
    // A limit alone is a request as well.
    expect(of({ limits: { memory: '9Gi' } })).toEqual({ requests: {}, limits: { memory: String(11 * 2 ** 30) } });
    expect(of({ requests: { cpu: '1' } })).toEqual({ requests: { cpu: '1', memory: String(2 * 2 ** 30) }, limits: {} });
  });

  test('is not there before all of them are its own', () => {
    expect(rendered(planned('DRA', [place(0), place(1, { admitted: false })])).replicas).toBe(0);
    const open = seatOf(true, planned('Reservation', [place(0), place(1, { uuid: undefined })]), 'core', { shards: 2 });
    expect(open).toMatchObject({ kind: 'Unseated', moves: true, message: 'dgx-1/gpu1 is not held yet' });
  });

  test('is not changed while the plan in force is for another number', () => {
    for (const [assignments, shards] of [
      [[place(0)], 2],
      [[place(0), place(1)], 4],
      [[place(0), place(1)], 1],
    ] as const)
      expect(seatOf(true, planned('DRA', [...assignments]), 'core', { shards })).toEqual({
        kind: 'Unseated',
        reason: undefined,
        message: `it needs ${shards} GPUs, and the plan in force has ${assignments.length} for it`,
      });
  });
});
