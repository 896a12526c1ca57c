import { findCondition } from '@agentfleet/kube';
import type { Condition, ExpertPool, PlanStatus } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { estimateEngine, type Link } from '../../placement/index.ts';
import { shortOf } from '../../revisions/index.ts';
import { type Progress, decidePlacement, type PlacementSnapshot } from './decide.ts';
import { emptyBook, readBook } from './slots.ts';
import { box, device, gpuPool, onGpu, slice, snapshot } from './testing/box.ts';
import { hashIn, inRollout, planIn, revisionOfPool, withPool } from './testing/revisions.ts';
import { board, PluginBox, pluginNode } from './testing/plugin.ts';
import { everyPair, pairs, readPool, thirteen, wide } from './testing/wide.ts';
import { now, places, settle } from './testing/world.ts';

const gib = 2 ** 30;
const linked = (links: readonly Link[] = everyPair) => box(undefined, { book: { ...emptyBook, links } });
const world = (pools: readonly ExpertPool[], links?: readonly Link[], more: Partial<PlacementSnapshot> = {}): PlacementSnapshot =>
  snapshot({ pools, cluster: linked(links), ...more });
const planOf = ({ pools }: PlacementSnapshot, index = 0): PlanStatus | undefined => pools[index]?.status?.plan;
const said = ({ pools }: PlacementSnapshot, index = 0): Condition | undefined =>
  findCondition(pools[index]?.status?.conditions, 'PlacementFeasible');

/** Without a driver's word about these boards. */
function lose(before: PlacementSnapshot, ...lost: readonly number[]): PlacementSnapshot {
  const devices = [0, 1, 2, 3].filter((index) => !lost.includes(index)).map((index) => device(index));
  return { ...before, cluster: { ...before.cluster, slices: box(devices).slices } };
}

describe('an engine on several GPUs', () => {
  test('has one entry and one claim for each, all of one name, and starts on all of them', () => {
    const rest = settle(world([readPool('p', [wide('core', '15Gi')])]));
    const plan = planOf(rest);
    expect(places(plan)).toEqual(['core dgx-1/gpu0', 'core dgx-1/gpu1']);
    expect(plan?.assignments).toMatchObject([
      { uuid: 'GPU-7a', bytes: 15 * gib, admitted: true },
      { uuid: 'GPU-1c', bytes: 15 * gib, admitted: true },
    ]);
    expect(rest.claims.map(({ metadata }) => metadata.name).sort()).toEqual(plan?.assignments.map(({ claim }) => claim).sort());
    expect(new Set(rest.claims.map(({ metadata }) => metadata.name)).size).toBe(2);
    expect(said(rest)).toMatchObject({ status: 'True', message: '1 engines on 2 GPUs, mode DRA' });
  });

  test('takes its bytes on each of them: who is beside it has what is left', () => {
    const rest = settle(world([readPool('p', [wide('core', '30Gi')])]));
    const beside = ['gpu0', 'gpu1', 'gpu2'].map((slot) => gpuPool(slot, [onGpu('gen', 'Generalist', '8Gi', `dgx-1/${slot}`)]));
    const after = settle({ ...rest, pools: [...rest.pools, ...beside] });
    expect([1, 2, 3].map((index) => said(after, index)?.reason)).toEqual(['NotEnoughMemory', 'NotEnoughMemory', 'Placed']);
    expect(planOf(after)).toEqual(planOf(rest));
  });

  test.each([
    ['without any link', [], ['NotJoined', 'NotJoined', 'NotJoined', 'NotJoined']],
    ['of three that only pairs join', pairs([0, 1], [1, 2], [2, 3]), ['NotJoined', 'NotJoined', 'NotJoined', 'NotJoined']],
  ] as const)('is refused %s, with the cure', (_, links, reasons) => {
    const rest = settle(world([readPool('p', [wide('core', '9Gi', 3)], {}, { ...thirteen, heads: 42, kvHeads: 42 })], links));
    expect(planOf(rest)?.assignments).toEqual([]);
    expect(planOf(rest)?.rejected?.map(({ reason }) => reason)).toEqual(reasons);
    expect(said(rest)).toMatchObject({ status: 'False', reason: 'NotJoined' });
    expect(said(rest)?.message).toContain('declare them in data.links of ConfigMap agentfleet-slots of the operator');
    expect(rest.claims).toEqual([]);
  });

  test('stays on all of them while its driver has published a part of its pool', () => {
    const rest = settle(world([readPool('p', [wide('core', '30Gi', 3)], {}, { ...thirteen, heads: 42, kvHeads: 42 })]));
    expect(planOf(rest)?.assignments).toHaveLength(3);
    const slices = rest.cluster.slices.map(({ metadata, spec }) => ({
      metadata,
      spec: { ...spec, pool: { ...spec.pool, resourceSliceCount: 2 } },
    }));
    expect(settle({ ...rest, cluster: { ...rest.cluster, slices } }).pools).toEqual(rest.pools);
  });

  test('needs no link where the user lets them count for nothing', () => {
    const rest = settle(world([readPool('p', [wide('core', '9Gi')], { placement: { nvlink: 'Ignore' } })], []));
    expect(planOf(rest)?.assignments).toHaveLength(2);
  });

  test('goes where it is named, and nowhere else', () => {
    const at = (slots: readonly string[]) => settle(world([readPool('p', [wide('core', '9Gi', 2, { slots })])]));
    expect(places(planOf(at(['dgx-1/gpu3', 'dgx-1/gpu1'])))).toEqual(['core dgx-1/gpu1', 'core dgx-1/gpu3']);
    expect(said(at(['dgx-1/gpu3', 'dgx-1/gpu7']))).toMatchObject({ status: 'False', reason: 'UnknownSlot' });
  });

  test('is refused a number of GPUs that its heads are not divided by, whatever its budget, with those that divide them', () => {
    const rest = settle(world([readPool('p', [wide('core', '9Gi', 3)])]));
    expect(said(rest)).toMatchObject({ status: 'False', reason: 'NotDivisible' });
    expect(said(rest)?.message).toBe(
      'expert core: engine.vLLM.tensorParallel is 3, and the heads of its config.json are 40 (num_attention_heads): take one of 1, 2, 4, 5, 8',
    );
    expect(planOf(rest)?.rejected).toEqual([{ item: 'core', reason: 'NotDivisible' }]);
    const few = settle(world([readPool('p', [wide('core', '9Gi', 3)], {}, { ...thirteen, heads: 24, kvHeads: 4 })]));
    expect(said(few)?.message).toContain('24 and 4 (num_attention_heads, num_key_value_heads): take one of 1, 2, 4, 8');
    const many = settle(world([readPool('p', [wide('core', '9Gi', 8)], {}, { ...thirteen, heads: 28, kvHeads: 4 })]));
    expect(said(many)?.message).toContain('28 and 4 (num_attention_heads, num_key_value_heads): take one of 1, 2, 4');
  });

  test('is refused a draft of another vocabulary, or one that is not divided, as vLLM would be started in vain', () => {
    const speculative = { draft: { uri: 'pvc://models/small' }, numTokens: 4 };
    const withDraft = (vocabulary: number, heads = 40, gpus = 1) => {
      const pool = readPool('p', [wide('core', '9Gi', gpus, { speculative })]);
      const artifacts = [
        ...(pool.status?.artifacts ?? []),
        { name: 'core/draft', uri: 'pvc://models/small', phase: 'Ready', weightBytes: 2 ** 30 },
      ];
      const last = artifacts.map((one) =>
        one.name === 'core/draft' ? { ...one, architecture: { ...thirteen, vocabulary, heads, kvHeads: heads } } : one,
      );
      return settle(world([{ ...pool, status: { ...pool.status, artifacts: last } } as unknown as ExpertPool]));
    };
    expect(said(withDraft(thirteen.vocabulary))).toMatchObject({ status: 'True' });
    expect(said(withDraft(32_000))).toMatchObject({ status: 'False', reason: 'DraftVocabulary' });
    expect(said(withDraft(thirteen.vocabulary, 40, 2))).toMatchObject({ status: 'True' });
    expect(said(withDraft(thirteen.vocabulary, 13, 2))).toMatchObject({ status: 'False', reason: 'NotDivisible' });
    expect(said(withDraft(thirteen.vocabulary, 13, 2))?.message).toContain('expert core, its draft: engine.vLLM.tensorParallel is 2');
    expect(said(withDraft(32_000))?.message).toContain('its draft knows 32000 tokens and it 32016 (vocab_size of config.json)');
  });

  test('needs on each of them its share of what is reckoned from its weights', () => {
    const auto = (tensorParallel: number): number => {
      const one = wide('core', 'Auto', tensorParallel, { resources: { memory: { budget: 'Auto', kvTokens: 4096 } } });
      return (planOf(settle(world([readPool('p', [one])])))?.assignments[0]?.bytes ?? 0) / 1.05;
    };
    // 24.2 GiB of weights and 3.1 of keys and values; activations, graphs and the process are on each, and what GPUs talk through.
    expect(auto(1) / gib).toBeCloseTo(29.2, 0);
    const rest = estimateEngine({
      architecture: thirteen,
      weightBytes: 0,
      tokens: 0,
      maxSequences: 16,
      shards: 2,
    }).total;
    expect((auto(2) - rest) / gib).toBeCloseTo(((1.03 * 26_031_738_880) / 2 + (4096 * 2 * 40 * 40 * 128 * 2) / 2) / gib, 6);
  });

  test('waits until its heads are known', () => {
    const rest = settle(world([gpuPool('p', [wide('core', '9Gi')])]));
    expect(said(rest)).toMatchObject({ status: 'False', reason: 'SizeUnknown' });
    expect(said(rest)?.message).toContain('status.artifacts[].architecture.heads');
    expect(planOf(rest)?.assignments).toEqual([]);
  });

  test('that is to have another number of GPUs keeps those that it has when there is no room', () => {
    const rest = settle(world([readPool('p', [wide('core', '9Gi')]), gpuPool('q', [onGpu('gen', 'Generalist', '38Gi', 'dgx-1/gpu3')])]));
    const [pool, other] = rest.pools as [ExpertPool, ExpertPool];
    const four = { ...pool, spec: { ...pool.spec, experts: [wide('core', '9Gi', 4)] } } as unknown as ExpertPool;
    const after = settle({ ...rest, pools: [four, other] });
    expect(planOf(after)?.assignments).toEqual(planOf(rest)?.assignments);
    expect(said(after)).toMatchObject({ status: 'False', reason: 'NotEnoughMemory' });
    expect(planOf(settle({ ...after, pools: [four] }))?.assignments).toHaveLength(4);
  });
});

describe('an engine on several GPUs starts', () => {
  const admitted = (at: PlacementSnapshot): readonly string[] =>
    at.pools.flatMap(({ status }) =>
      (status?.plan?.assignments ?? []).flatMap(({ item, slot, admitted }) => (admitted ? [`${item} ${slot}`] : [])),
    );
  const named = { slots: ['dgx-1/gpu0', 'dgx-1/gpu1'] };

  test('when all of them are free, and keeps the free ones for itself until then', () => {
    const ready = new Set<string>();
    const progress = (_: unknown, { item }: { item: string }): Progress => (ready.has(item) ? 'Ready' : 'Starting');
    const first = settle(world([gpuPool('a', [onGpu('early', 'Generalist', '5Gi', 'dgx-1/gpu1')])], everyPair, { progress }));
    const late = gpuPool('z', [onGpu('late', 'Specialist', '5Gi', 'dgx-1/gpu0')]);
    const both = settle({ ...first, pools: [...first.pools, readPool('p', [wide('core', '9Gi', 2, named)]), late] });
    expect(admitted(both)).toEqual(['early dgx-1/gpu1']);
    ready.add('early');
    const next = settle(both);
    expect(admitted(next)).toEqual(['early dgx-1/gpu1', 'core dgx-1/gpu0', 'core dgx-1/gpu1']);
    ready.add('core');
    expect(admitted(settle(next))).toContain('late dgx-1/gpu0');
  });

  test('never on one of them alone', () => {
    const rest = settle(world([readPool('p', [wide('core', '9Gi', 2, named)])]));
    // A board in the place of another one has another claim: its turn comes again, for all of it.
    const swapped = [0, 1, 2, 3].map((index) => device(index, {}, index === 1 ? 'GPU-new' : undefined));
    const book = { ...rest.cluster.book, approved: new Map([['dgx-1/gpu1', 'GPU-new']]) };
    const changed = { ...rest, cluster: { ...rest.cluster, slices: box(swapped).slices, book }, progress: (): Progress => 'Absent' };
    const { plan } = decidePlacement(changed, now).statuses[0]?.status ?? {};
    expect(new Set(plan?.assignments.map((place) => place.admitted)).size).toBe(1);
    const busy = settle({ ...changed, pools: [...changed.pools, gpuPool('a', [onGpu('gen', 'Generalist', '1Gi', 'dgx-1/gpu1')])] });
    expect(new Set(planOf(busy)?.assignments.map((place) => place.admitted)).size).toBe(1);
  });
});

describe('a group that loses one of its boards', () => {
  const core = wide('core', '30Gi');

  test('moves as a whole where there is room', () => {
    const rest = settle(world([readPool('p', [core])]));
    const after = settle(lose(rest, 1));
    expect(new Set(places(planOf(after)))).toEqual(new Set(['core dgx-1/gpu0', 'core dgx-1/gpu2']));
    expect(planOf(after)?.assignments.every(({ admitted }) => admitted)).toBe(true);
  });

  test('waits as a whole where there is none, and no engine takes what is sound of it', () => {
    const pool = readPool('p', [core, onGpu('py', 'Specialist', '5Gi', 'dgx-1/gpu1')]);
    const rest = settle(world([pool], pairs([0, 1])));
    const gone = settle(lose(rest, 1));
    expect(planOf(gone)?.assignments).toEqual(planOf(rest)?.assignments);
    expect(said(gone)).toMatchObject({ status: 'False', reason: 'SlotGone' });
    const late = gpuPool('q', [onGpu('gen', 'Generalist', '20Gi', 'dgx-1/gpu0')]);
    const asked = settle({ ...gone, pools: [...gone.pools, late] });
    expect(said(asked, 1)).toMatchObject({ status: 'False', reason: 'NotEnoughMemory' });
    // The board is back, and nothing has been started again.
    expect(planOf(settle({ ...gone, cluster: rest.cluster }))?.assignments).toEqual(planOf(rest)?.assignments);
  });

  test('keeps its sound board while another engine of its pool finds a place for what that lost', () => {
    const pool = readPool('p', [core, onGpu('py', 'Specialist', '8Gi')]);
    const start = settle(world([pool, gpuPool('q', [onGpu('gen', 'Generalist', '20Gi', 'dgx-1/gpu3')])], pairs([0, 1])));
    expect(places(planOf(start))).toEqual(['core dgx-1/gpu0', 'core dgx-1/gpu1', 'py dgx-1/gpu2']);
    const after = settle(lose(start, 1, 2));
    expect(places(planOf(after))).toEqual(['core dgx-1/gpu0', 'core dgx-1/gpu1', 'py dgx-1/gpu3']);
    expect(said(after)).toMatchObject({ status: 'False', reason: 'SlotGone' });
    expect(planOf(settle({ ...after, cluster: start.cluster }))?.assignments.filter(({ item }) => item === 'core')).toEqual(
      planOf(start)?.assignments.filter(({ item }) => item === 'core'),
    );
  });
});

describe('GPUs of a device plugin', () => {
  const plan = ({ snapshot: at }: PluginBox): PlanStatus | undefined => at.pools[0]?.status?.plan;
  const plugin = (links: readonly Link[], mode = 'Auto'): PluginBox => {
    const pool = readPool('p', [wide('core', '9Gi')], { placement: { mode } });
    return new PluginBox({ pools: [pool] }, { book: { ...emptyBook, links }, nodes: [pluginNode()] }).rest();
  };

  test('are held one by one for it, and all of it waits when one is lost', () => {
    const two = plugin(everyPair);
    expect(plan(two)?.mode).toBe('Reservation');
    expect(plan(two)?.assignments).toMatchObject([
      { uuid: board(0), holder: 'pod-2', admitted: true },
      { uuid: board(1), holder: 'pod-3', admitted: true },
    ]);
    expect(two.holders).toHaveLength(2);
    two.lose(two.holders[1]!);
    two.step(false);
    expect(plan(two)?.assignments.map(({ admitted }) => admitted)).toEqual([false, false]);
    two.kubelet();
    two.rest();
    expect(plan(two)?.assignments.map(({ admitted }) => admitted)).toEqual([true, true]);
  });

  test('are any two of the node: which ones is the choice of the plugin, so that all have to be joined', () => {
    expect(plan(plugin(everyPair, 'WholeGPU'))).toMatchObject({ mode: 'WholeGPU', assignments: [{ item: 'core' }, { item: 'core' }] });
    const some = plugin(pairs([0, 1], [2, 3]), 'WholeGPU');
    expect(plan(some)?.assignments).toEqual([]);
    expect(plan(some)?.rejected?.map(({ reason }) => reason)).toEqual(Array.from({ length: 4 }, () => 'NotJoined'));
  });
});

describe('a canary of an engine on several GPUs', () => {
  const rollout = { rolloutPolicyRef: { name: 'careful' } };
  const first = readPool('p', [wide('core', '15Gi')], rollout);
  const next = readPool('p', [wide('core', '15Gi', 2, { domains: ['go'] })], rollout);
  const tried = (others: readonly ExpertPool[], links = everyPair): PlanStatus => {
    const stable = inRollout(first, first, { phase: 'Idle', stable: revisionOfPool(first) });
    const before = settle(withPool(world(others, links), stable, first));
    const open = { phase: 'Loading' as const, stable: revisionOfPool(first), canary: revisionOfPool(next) };
    const now = before.pools.find(({ metadata }) => metadata.name === 'p')!;
    const after = settle(withPool(before, inRollout(now, next, open), first));
    expect(planIn(after, 'p').assignments).toEqual(expect.arrayContaining([...planIn(before, 'p').assignments]));
    return planIn(after, 'p');
  };
  const canary = `core.${hashIn(next, 'core')}`;
  const slotsOf = ({ assignments }: PlanStatus): readonly string[] =>
    assignments.flatMap(({ item, slot }) => (item === canary ? [slot] : []));

  test('takes as many, beside the one that serves', () => {
    const plan = tried([]);
    expect(slotsOf(plan)).toEqual(['dgx-1/gpu0', 'dgx-1/gpu1']);
    expect(plan.assignments.every(({ admitted }) => admitted)).toBe(true);
  });

  test('goes elsewhere as a whole where only one of them has room', () => {
    const full = gpuPool('a', [onGpu('gen', 'Generalist', '20Gi', 'dgx-1/gpu1')]);
    const slots = slotsOf(tried([full]));
    expect(slots).toHaveLength(2);
    expect(slots).not.toContain('dgx-1/gpu1');
  });

  test('comes not at all where it has no room as a whole', () => {
    const full = [1, 2, 3].map((gpu) => gpuPool(`a${gpu}`, [onGpu('gen', 'Generalist', gpu === 1 ? '20Gi' : '30Gi', `dgx-1/gpu${gpu}`)]));
    const plan = tried(full);
    expect(slotsOf(plan)).toEqual([]);
    expect(plan.rejected?.filter(({ item }) => item === canary)[0]).toMatchObject({ reason: 'NotEnoughMemory' });
    expect(shortOf(plan, [canary])).toMatch(/^no place on a GPU beside what serves: core\.\w+: dgx-1\/gpu\d lacks \d+ bytes/);
  });
});

test('a board that was put into another node is no GPU of its old one', () => {
  const { bindings } = decidePlacement(snapshot({ cluster: box([device(0), device(1)]) }), now);
  const book = readBook({ metadata: {}, data: { bindings: bindings ?? '' } });
  const nodes = ['dgx-1', 'dgx-2'].map((name) => ({ metadata: { name } }));
  const cluster = box([], { slices: [slice([device(0)]), slice([device(1)], 'dgx-2')], nodes, book });
  const rest = settle(snapshot({ pools: [readPool('p', [wide('core', '10Gi')], { placement: { nvlink: 'Ignore' } })], cluster }), now);
  expect(places(planOf(rest))).toEqual([]);
});
