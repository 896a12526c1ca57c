import type { ExpertPool } from '@agentfleet/protocol/api';
import { findCondition, type Condition } from '@agentfleet/kube';
import { describe, expect, test } from 'vitest';
import type { Deployment, Pod } from '../../runtime/objects.ts';
import { enginesAnnotation } from '../../serving/index.ts';
import { presentOn, progressOf } from './observe.ts';
import { gpuModel, gpuPool, onGpu } from './testing/box.ts';
import { PluginBox, pluginNode } from './testing/plugin.ts';

const three = [
  onGpu('gen', 'Generalist', '9Gi', 'dgx-1/gpu0'),
  onGpu('js', 'Specialist', '9Gi', 'dgx-1/gpu1'),
  onGpu('py', 'Specialist', '9Gi', 'dgx-1/gpu1'),
];
const monopod = { placement: { mode: 'Monopod' } };

/** Nobody injects GPUs by environment. */
const rest = (pools: readonly ExpertPool[], more: object = {}): PluginBox =>
  new PluginBox({ pools }, { runtimeClass: false, ...more }).rest();
const plan = (box: PluginBox, index = 0) => box.snapshot.pools[index]?.status?.plan;
const said = (box: PluginBox, index = 0): Condition | undefined =>
  findCondition(box.snapshot.pools[index]?.status?.conditions, 'PlacementFeasible');

describe('one pod for all engines of a pool', () => {
  test('is taken where several share a GPU and nobody hands out GPUs by environment', () => {
    const box = rest([gpuPool('p', three)]);
    expect(plan(box)).toMatchObject({ mode: 'Monopod' });
    expect(plan(box)?.skippedModes?.map(({ mode }) => mode)).toEqual(['DRA', 'Reservation', 'WholeGPU']);
    expect(said(box)).toMatchObject({ status: 'True', message: '3 engines on 2 GPUs, mode Monopod' });
    expect([box.holders, box.probes]).toEqual([[], 0]);
    // Where each has a GPU of its own there is no need for it.
    expect(plan(rest([gpuPool('p', three.slice(0, 2))]))?.mode).toBe('WholeGPU');
  });

  test('starts all of them at once: the order is that of their supervisor', () => {
    const box = new PluginBox({ pools: [gpuPool('p', three)], progress: () => 'Starting' }, { runtimeClass: false }).rest();
    expect(plan(box)?.assignments.map(({ item, admitted, uuid }) => [item, admitted, uuid])).toEqual([
      ['gen', true, undefined],
      ['js', true, undefined],
      ['py', true, undefined],
    ]);
  });

  test.each([
    [
      'an engine of another image',
      [{ ...onGpu('gen', 'Generalist', '9Gi'), engine: { type: 'VLLM', vLLM: {} } }],
      {},
      /engine VLLM.*own servers only/,
    ],
    ['an image of its own', [{ ...onGpu('gen', 'Generalist', '9Gi'), engine: { type: 'Llama', llama: {} } }], {}, /engine Llama/],
    [
      'an adapter',
      [...three, { name: 'lora', role: 'Specialist', engine: { type: 'Adapter', adapter: { base: 'gen' } } }],
      {},
      /expert lora has the engine Adapter/,
    ],
    [
      'several pods of an engine',
      [{ ...onGpu('gen', 'Generalist', '9Gi'), replicas: 2 }],
      {},
      /2 replicas.*set spec\.experts\[\]\.replicas to 1/,
    ],
    ['revisions', three, { rollout: {} }, /spec\.rollout is set.*remove it/],
  ])('is refused in words for %s', (_why, experts, spec, words) => {
    const box = rest([gpuPool('p', experts, { ...monopod, ...spec })]);
    expect(said(box)).toMatchObject({ status: 'False', reason: 'NoMode', message: expect.stringMatching(words) as string });
    expect(plan(box)?.skippedModes).toMatchObject([{ mode: 'Monopod', reason: expect.stringMatching(words) as string }]);
    expect(plan(box)?.assignments).toEqual([]);
    expect(box.probes).toBe(0);
  });

  test('is refused for slots of several nodes', () => {
    const experts = [onGpu('gen', 'Generalist', '9Gi', 'dgx-1/gpu0'), onGpu('js', 'Specialist', '9Gi', 'dgx-2/gpu0')];
    const box = rest([gpuPool('p', experts, monopod)], { nodes: [pluginNode(), pluginNode('two', 4, 'dgx-2')] });
    expect(said(box)).toMatchObject({ reason: 'NoMode', message: expect.stringContaining('the slots are of 2 nodes') as string });
  });

  test('shares its GPUs with no other pool, and no model is one', () => {
    const box = rest([gpuPool('a', three, monopod), gpuPool('b', [onGpu('gen', 'Generalist', '9Gi', 'dgx-1/gpu0')])]);
    expect(plan(box)?.mode).toBe('Monopod');
    expect(said(box, 1)?.status).toBe('False');
    expect(plan(box, 1)?.assignments).toEqual([]);
    const alone = new PluginBox({ models: [gpuModel('judge', { memory: { budget: '9Gi' } })] }, { runtimeClass: false }).rest();
    expect(alone.snapshot.models[0]?.status?.plan?.mode).toBe('WholeGPU');
  });

  test('keeps what runs when an engine comes that cannot be in it', () => {
    const box = rest([gpuPool('p', three, monopod)]);
    const [pool] = box.snapshot.pools;
    const vllm = {
      name: 'big',
      role: 'Specialist',
      replicas: 1,
      engine: { type: 'VLLM', vLLM: {} },
      resources: { memory: { budget: '9Gi' } },
    };
    const grown = { ...pool, spec: { ...pool?.spec, experts: [...(pool?.spec.experts ?? []), vllm] } } as unknown as ExpertPool;
    box.snapshot = { ...box.snapshot, pools: [grown] };
    box.rest();
    expect(said(box)).toMatchObject({ status: 'False', reason: 'NoMode' });
    expect(plan(box)?.assignments.map(({ item, admitted }) => [item, admitted])).toEqual([
      ['gen', true],
      ['js', true],
      ['py', true],
    ]);
  });
});

describe('how far an engine in that pod is', () => {
  const place = { item: 'js', slot: 'dgx-1/gpu1', bytes: 1, admitted: true };
  const of = (engines: string, ready = 1): Deployment => ({
    metadata: { name: 'p-monopod', generation: 1 },
    spec: { replicas: 1, template: { metadata: { annotations: { [enginesAnnotation]: engines } } } },
    status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: ready },
  });

  test('is told by the one Deployment, for those whose place it has', () => {
    expect(progressOf(of('gen=dgx-1/gpu0:7081 js=dgx-1/gpu1:7082'), place, 1)).toBe('Ready');
    expect(progressOf(of('js=dgx-1/gpu1:7081', 0), place, 1)).toBe('Starting');
    expect(progressOf(of('js=dgx-1/gpu0:7081'), place, 1)).toBe('Absent');
    expect(progressOf(of('gen=dgx-1/gpu1:7081'), place, 1)).toBe('Absent');
  });

  test('and its memory is its own as long as a pod has it on its slot', () => {
    const pod = (engines: string): Pod => ({ metadata: { name: 'p', annotations: { [enginesAnnotation]: engines } } });
    expect(presentOn(place, [], [pod('gen=dgx-1/gpu0:7081 js=dgx-1/gpu1:7082')])).toBe(true);
    expect(presentOn(place, [], [pod('gen=dgx-1/gpu1:7081')])).toBe(false);
    expect(presentOn(place, [of('js=dgx-1/gpu1:7081')], [])).toBe(true);
  });
});
