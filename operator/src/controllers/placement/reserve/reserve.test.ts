import type { Condition, ExpertPool, PlanStatus } from '@agentfleet/protocol/api';
import { findCondition } from '@agentfleet/kube';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Progress } from '../decide.ts';
import { gpuModel, gpuPool, onGpu } from '../testing/box.ts';
import { board, PluginBox, pluginNode } from '../testing/plugin.ts';
import { places, conditionValue } from '../testing/world.ts';

const shared = (more: Readonly<Record<string, unknown>> = {}, namespace = 'platform', name = 'p'): ExpertPool =>
  gpuPool(name, [onGpu('gen', 'Generalist', '5Gi', 'dgx-1/gpu0'), onGpu('py', 'Specialist', '5Gi', 'dgx-1/gpu0')], more, namespace);

const plan = ({ snapshot }: PluginBox, index = 0): PlanStatus | undefined => snapshot.pools[index]?.status?.plan;

const said = ({ snapshot }: PluginBox): Condition | undefined => findCondition(snapshot.pools[0]?.status?.conditions, 'PlacementFeasible');

describe('several engines on a GPU of the device plugin', () => {
  let box: PluginBox;
  beforeEach(() => {
    box = new PluginBox({ pools: [shared()] }).rest();
  });

  test('share the board that one pod holds, by the uuid that it reports', () => {
    expect(plan(box)).toMatchObject({ mode: 'Reservation' });
    expect(plan(box)?.assignments).toEqual(
      ['gen', 'py'].map((item) => ({
        item,
        slot: 'dgx-1/gpu0',
        uuid: board(0),
        holder: 'pod-2',
        bytes: 5 * 2 ** 30,
        slotBytes: expect.any(Number) as number,
        admitted: true,
      })),
    );
    expect(box.holders).toHaveLength(1);
    expect(box.snapshot.cluster.book.bindings).toEqual([{ slot: 'dgx-1/gpu0', uuid: board(0), pciBusID: '0000:00:00.0' }]);
    expect(box.snapshot.cluster.book.probes).toMatchObject([{ node: 'dgx-1', answer: 'Works' }]);
    expect(said(box)?.message).toMatch(/^2 engines on 1 GPUs, mode Reservation; not DRA: /);
  });

  test('do not start before it is held', () => {
    box = new PluginBox({ pools: [shared()] });
    box.free = [];
    box.rest();
    expect(box.holders).toHaveLength(1);
    expect(plan(box)?.assignments).toMatchObject([{ admitted: false }, { admitted: false }]);
    expect(plan(box)?.assignments.every(({ uuid, holder }) => uuid === undefined && holder === undefined)).toBe(true);
    expect(said(box)?.status).toBe('True');
    expect(said(box)?.message).toMatch(/mode Reservation; dgx-1\/gpu0 not held yet; not DRA: /);
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'Insufficient nvidia.com/gpu' }];
    box.pods = box.pods.map((pod) => ({ ...pod, status: { phase: 'Pending', conditions } }));
    box.rest();
    expect(said(box)).toMatchObject({
      status: 'False',
      reason: 'SlotNotHeld',
      message: 'dgx-1/gpu0: the pod slot-dgx-1-gpu0 that is to hold it does not get on: Unschedulable: Insufficient nvidia.com/gpu',
    });
  });

  test('start one after another', () => {
    const progress = (): Progress => 'Starting';
    box = new PluginBox({ pools: [shared()], progress }).rest();
    expect(plan(box)?.assignments.map(({ item, admitted }) => [item, admitted])).toEqual([
      ['gen', true],
      ['py', false],
    ]);
  });

  test('leave a node that is drained, and the pod that holds their GPU there ends after them', () => {
    const pool = gpuPool('p', [onGpu('gen', 'Generalist', '5Gi'), onGpu('py', 'Specialist', '5Gi')]);
    const nodes = (closed: boolean) => [{ ...pluginNode(), spec: { unschedulable: closed } }, pluginNode('one', 4, 'dgx-2')];
    box = new PluginBox({ pools: [pool] }, { nodes: nodes(false) }).rest();
    const before = plan(box);
    expect(before?.assignments.every(({ slot, admitted }) => slot.startsWith('dgx-1/') && admitted)).toBe(true);
    const [held] = box.holders;
    box.inUse.add(held?.metadata.uid ?? '');
    box.snapshot = { ...box.snapshot, cluster: { ...box.snapshot.cluster, nodes: nodes(true) } };
    expect(plan(box.rest())).toEqual(before);
    box.snapshot = { ...box.snapshot, runs: (_, { slot }) => slot.startsWith('dgx-2/') };
    box.rest();
    expect(plan(box)).toMatchObject({ mode: 'Reservation' });
    expect(plan(box)?.assignments.every(({ slot, admitted, holder }) => slot.startsWith('dgx-2/') && admitted && holder)).toBe(true);
    expect(box.holders).toContainEqual(held);
    box.inUse.clear();
    box.rest();
    expect(box.holders.map(({ spec }) => JSON.stringify(spec)).join(' ')).not.toContain('dgx-1');
  });

  test('wait when the pod that holds it is lost, and start with the next one on the same board', () => {
    const [lost] = box.holders;
    box.lose(lost!);
    box.step(false);
    // They may be on a GPU that belongs to another pod by now.
    expect(plan(box)?.assignments.map(({ admitted, uuid, holder }) => [admitted, uuid, holder])).toEqual([
      [false, board(0), undefined],
      [false, board(0), undefined],
    ]);
    box.kubelet();
    box.rest();
    expect(plan(box)?.assignments).toMatchObject([
      { admitted: true, holder: 'pod-3', uuid: board(0) },
      { admitted: true, holder: 'pod-3', uuid: board(0) },
    ]);
  });

  test('wait for a human when the next pod got another board', () => {
    const [lost] = box.holders;
    box.lose(lost!);
    box.free = [board(3)];
    box.rest();
    expect(conditionValue(box.decide(), 'p') ?? said(box)).toMatchObject({
      status: 'False',
      reason: 'SlotRebound',
      message: expect.stringContaining(`agentfleet.dev/approve-slot=dgx-1/gpu0=<uuid>`) as string,
    });
    expect(plan(box)?.assignments).toMatchObject([
      { admitted: false, uuid: board(0) },
      { admitted: false, uuid: board(0) },
    ]);
    expect(box.snapshot.cluster.book.bindings).toMatchObject([{ uuid: board(0) }]);
    const book = { ...box.snapshot.cluster.book, approved: new Map([['dgx-1/gpu0', board(3)]]) };
    box.snapshot = { ...box.snapshot, cluster: { ...box.snapshot.cluster, book } };
    box.rest();
    expect(plan(box)?.assignments).toMatchObject([
      { admitted: true, uuid: board(3) },
      { admitted: true, uuid: board(3) },
    ]);
    expect(box.snapshot.cluster.book.bindings).toMatchObject([{ uuid: board(3) }]);
  });

  test('keep their board while the device plugin is restarted and counts none', () => {
    const before = plan(box);
    box.snapshot = { ...box.snapshot, cluster: { ...box.snapshot.cluster, nodes: [pluginNode('one', 0)] } };
    box.rest();
    expect(plan(box)?.assignments).toEqual(before?.assignments);
    expect(box.holders).toHaveLength(1);
  });

  test('of another namespace get no place beside them; a model of theirs does', () => {
    const model = gpuModel('judge', { slot: 'dgx-1/gpu0', memory: { budget: '5Gi' } });
    box.snapshot = { ...box.snapshot, pools: [...box.snapshot.pools, shared({}, 'other', 'q')], models: [model] };
    box.rest();
    expect(plan(box, 1)?.assignments).toEqual([]);
    expect(plan(box, 1)?.rejected?.[0]).toMatchObject({ slot: 'dgx-1/gpu0', reason: 'HeldElsewhere' });
    expect(box.snapshot.models[0]?.status?.plan?.assignments).toMatchObject([{ uuid: board(0), holder: 'pod-2', admitted: true }]);
    expect(box.holders).toHaveLength(1);
    expect(box.holders[0]?.metadata.ownerReferences?.map(({ kind, controller }) => [kind, controller])).toEqual([
      ['EnergyModel', true],
      ['ExpertPool', false],
    ]);
  });

  test('let it go when the last of them is gone, and not before', () => {
    box.inUse.add('pod-2');
    const [pool] = box.snapshot.pools;
    const spec = { ...pool!.spec, experts: pool!.spec.experts.map((expert) => ({ ...expert, resources: {} })) };
    box.snapshot = { ...box.snapshot, pools: [{ ...pool!, spec }] };
    box.rest();
    expect(box.holders).toHaveLength(1);
    box.inUse.clear();
    box.rest();
    expect(box.holders).toEqual([]);
    expect(box.snapshot.cluster.book.bindings).toEqual([]);
  });

  test('of a slot never have two that hold it, though the next tenant is of another namespace', () => {
    const before = box.snapshot.pools;
    box.snapshot = { ...box.snapshot, pools: [shared({}, 'other', 'q')] };
    box.inUse.add('pod-2');
    box.rest();
    expect(box.holders.map(({ metadata }) => metadata.namespace)).toEqual(['platform']);
    // What another namespace holds is not theirs.
    expect(plan(box)?.assignments).toMatchObject([{ admitted: false }, { admitted: false }]);
    box.inUse.clear();
    box.rest();
    expect(box.holders.map(({ metadata }) => metadata.namespace)).toEqual(['other']);
    expect(plan(box)?.assignments).toMatchObject([{ admitted: true }, { admitted: true }]);
    expect(before).toHaveLength(1);
  });

  test('do not get the board that another slot has: a plugin that shares GPUs is no reservation', () => {
    const two = gpuPool('p', [onGpu('gen', 'Generalist', '5Gi', 'dgx-1/gpu0'), onGpu('py', 'Specialist', '5Gi', 'dgx-1/gpu1')]);
    box = new PluginBox({ pools: [two] });
    box.free = [board(0), board(0)];
    box.rest();
    expect(plan(box)?.assignments).toMatchObject([
      { item: 'gen', admitted: true, uuid: board(0) },
      { item: 'py', admitted: false },
    ]);
    const reported = said(box);
    expect(reported?.message).toContain(`was given ${board(0)}, which dgx-1/gpu0 has`);
  });

  test('learn why when the pod cannot say which board it has', () => {
    box.lose(box.holders[0]!);
    box.step(false);
    box.tell(box.holders[0]!, 'Running', { error: 'MIG is on' });
    box.rest();
    const reported = said(box);
    expect(reported).toMatchObject({ reason: 'SlotNotHeld', message: expect.stringContaining('MIG is on') as string });
  });
});

describe('a node that hands out GPUs by environment', () => {
  test('is asked once, by one pod, before a mode is taken', () => {
    const box = new PluginBox({ pools: [shared()] });
    box.visible = undefined;
    box.rest();
    expect(plan(box)?.assignments).toEqual([]);
    const reported = said(box);
    expect(reported).toMatchObject({ reason: 'NoMode', message: expect.stringContaining('the probe pod has not answered') as string });
    box.visible = 4;
    box.kubelet();
    box.rest();
    expect(plan(box)?.mode).toBe('Reservation');
    expect(box.pods).toHaveLength(1);
    expect(box.probes).toBe(1);
  });

  test('is not asked when no pod would hold a GPU there', () => {
    const box = new PluginBox({ pools: [shared({ placement: { mode: 'WholeGPU' } })] }).rest();
    expect(box.probes).toBe(0);
    expect(new PluginBox({ pools: [shared()] }, { runtimeClass: false }).rest().probes).toBe(0);
  });

  test('and refuses is reported, and the next mode is taken', () => {
    const alone = gpuPool('p', [onGpu('gen', 'Generalist', '5Gi')]);
    const box = new PluginBox({ pools: [alone] });
    box.visible = 0;
    box.rest();
    expect(plan(box)).toMatchObject({ mode: 'WholeGPU' });
    expect(plan(box)?.assignments).toMatchObject([{ admitted: true }]);
    expect(plan(box)?.assignments[0]?.uuid).toBeUndefined();
    expect(said(box)?.message).toContain('hands out no GPU by environment');
    expect(box.holders).toEqual([]);
  });

  test('and where the pod never starts is asked again after a while, and never waited for without an end', () => {
    const box = new PluginBox({ pools: [shared({ placement: { mode: 'Reservation' } })] });
    box.visible = undefined;
    box.rest();
    box.now += 200_000;
    box.rest();
    expect(box.snapshot.cluster.book.probes).toMatchObject([{ answer: 'Silent' }]);
    expect(box.pods).toEqual([]);
    const reported = said(box);
    expect(reported?.message).toContain('did not get on');
    box.now += 600_000;
    box.visible = 4;
    box.rest();
    expect(plan(box)?.mode).toBe('Reservation');
    expect(box.probes).toBe(2);
  });

  test('is asked again in its next life, and who runs there runs on', () => {
    const box = new PluginBox({ pools: [shared()] }).rest();
    const before = plan(box);
    box.visible = undefined;
    box.snapshot = { ...box.snapshot, cluster: { ...box.snapshot.cluster, nodes: [pluginNode('two')] } };
    box.rest();
    expect(box.probes).toBe(2);
    expect(plan(box)).toEqual(before);
    box.visible = 4;
    box.kubelet();
    box.rest();
    expect(box.probes).toBe(2);
    expect(box.snapshot.cluster.book.probes).toHaveLength(1);
    expect(plan(box)).toEqual(before);
  });
});

test('engines that have a place on another GPU keep nothing of the first', () => {
  const box = new PluginBox({ pools: [shared()] }).rest();
  const [pool] = box.snapshot.pools;
  const experts = pool!.spec.experts.map((expert) => ({ ...expert, resources: { ...expert.resources, slot: 'dgx-1/gpu1' } }));
  box.snapshot = { ...box.snapshot, pools: [{ ...pool!, spec: { ...pool!.spec, experts } }] };
  box.rest();
  expect(places(plan(box))).toEqual(['gen dgx-1/gpu1', 'py dgx-1/gpu1']);
  expect(box.holders.map(({ metadata }) => metadata.name)).toEqual(['slot-dgx-1-gpu1']);
  // The board of a slot without tenants is free: the plugin gives any.
  expect(box.snapshot.cluster.book.bindings.map(({ slot }) => slot)).toEqual(['dgx-1/gpu1']);
});
