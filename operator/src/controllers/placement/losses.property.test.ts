import * as fc from 'fast-check';
import { findCondition } from '@agentfleet/kube';
import { expect, test } from 'vitest';
import { nodeOfSlot, ranks } from '../../placement/index.ts';
import type { Node } from '../../runtime/resources.ts';
import { slimNode } from '../../runtime/transforms.ts';
import type { PlacementSnapshot } from './decide.ts';
import { rankOf } from './owners.ts';
import { box, device, gpuPool, onGpu, slice, snapshot } from './testing/box.ts';
import { atRest, gpuOf, verifier, withSick } from './testing/losses.ts';
import { now, settle } from './testing/world.ts';

const gib = 2 ** 30;
const numRuns = process.env['AGENTFLEET_FULL'] === '1' ? 400 : 25;

interface Fleet {
  readonly gpus: number;
  readonly others: readonly (readonly [role: string, gi: number, pinned: number | undefined])[];
  readonly apart: boolean;
  readonly judged: boolean;
  /** GPUs that are sick, one set after another. */
  readonly course: readonly (readonly number[])[];
}

const fleets = fc.integer({ min: 2, max: 4 }).chain((gpus): fc.Arbitrary<Fleet> => {
  const gpu = fc.integer({ min: 0, max: gpus - 1 });
  const role = fc.constantFrom('Planner', 'Draft', 'Specialist');
  const pinned = fc.option(gpu, { nil: undefined, freq: 3 });
  return fc.record({
    gpus: fc.constant(gpus),
    others: fc.array(fc.tuple(role, fc.integer({ min: 2, max: 25 }), pinned), { maxLength: 3 }),
    apart: fc.boolean(),
    judged: fc.boolean(),
    course: fc.array(fc.uniqueArray(gpu, { maxLength: gpus }), { minLength: 1, maxLength: 6 }),
  });
});

/** Names of one role are distinguished by their order. */
function start({ gpus, others, apart, judged }: Fleet): PlacementSnapshot {
  const experts = others.map(([role, gi, slot], at) =>
    onGpu(`e${at}`, role, `${gi}Gi`, slot === undefined ? undefined : `dgx-1/gpu${slot}`),
  );
  const placement = apart ? { antiAffinity: [{ expert: 'gen', from: ['EnergyModel'] }] } : {};
  const pool = gpuPool('p', [onGpu('gen', 'Generalist', '30Gi'), ...experts], { placement, energyModelRef: { name: 'judge' } });
  return atRest(gpus, { pools: [pool], models: judged ? [verifier()] : [] });
}

const places = ({ pools, models }: PlacementSnapshot) => [...pools, ...models].flatMap(({ status }) => status?.plan?.assignments ?? []);

function overbooked(world: PlacementSnapshot, sick: readonly number[]): readonly string[] {
  const taken = new Map<string, number>();
  for (const { slot, bytes } of places(world)) taken.set(slot, (taken.get(slot) ?? 0) + bytes);
  return [...taken].filter(([slot, bytes]) => !sick.includes(Number(slot.at(-1))) && bytes > 39.5 * gib).map(([slot]) => slot);
}

test('whatever is lost and comes back: no GPU is given away twice, and a pool alone is whole in the end', () => {
  let evictions = 0;
  fc.assert(
    fc.property(fleets, (fleet) => {
      const first = start(fleet);
      const all = fleet.others.length + 1 + first.models.length;
      fc.pre(places(first).length === all);
      let world = first;
      for (const sick of fleet.course) {
        world = settle(withSick(world, fleet.gpus, sick), now);
        expect(overbooked(world, sick)).toEqual([]);
        if (fleet.apart && fleet.judged) expect(gpuOf(world, 'gen') ?? -1).not.toBe(gpuOf(world, 'judge') ?? -2);
        if (places(world).length < all) evictions += 1;
      }
      const well = settle(withSick(world, fleet.gpus, []), now);
      // Owners are planned one by one: of two, one may have come to sit where the other one was.
      if (well.models.length === 0) expect(places(well)).toHaveLength(all);
      expect(settle(well, now)).toBe(well);
    }),
    { numRuns },
  );
  // Not only fleets that nothing happens to.
  expect(evictions).toBeGreaterThan(0);
});

const machines = ['dgx-1', 'dgx-2'] as const;

interface Drains {
  readonly others: readonly (readonly [role: 'Planner' | 'Draft' | 'Specialist', gi: number, pinned: string | undefined])[];
  readonly nvlink: 'Preferred' | 'Required';
  readonly judged: boolean;
  /** Nodes that are cordoned, nodes that are not ready, and engines whose pods go, by number, one step after another. */
  readonly course: readonly {
    readonly cordoned: readonly string[];
    readonly away: readonly string[];
    readonly evicted: readonly number[];
  }[];
}

const drains: fc.Arbitrary<Drains> = fc.record({
  others: fc.array(
    fc.tuple(
      fc.constantFrom('Planner', 'Draft', 'Specialist'),
      fc.integer({ min: 2, max: 30 }),
      fc.constantFrom(undefined, undefined, undefined, 'dgx-1/gpu0', 'dgx-2/gpu0'),
    ),
    { minLength: 1, maxLength: 4 },
  ),
  nvlink: fc.constantFrom('Preferred', 'Required'),
  judged: fc.boolean(),
  course: fc.array(
    fc.record({
      cordoned: fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...machines.map((name) => [name])) }, fc.subarray([...machines])),
      away: fc.subarray([...machines], { maxLength: 1 }),
      evicted: fc.uniqueArray(fc.nat({ max: 5 }), { maxLength: 6 }),
    }),
    { minLength: 1, maxLength: 6 },
  ),
});

const nodesIn = (cordoned: readonly string[], away: readonly string[]): readonly Node[] =>
  machines.map((name) => {
    const taints = away.includes(name) ? [{ key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' }] : [];
    return slimNode({ metadata: { name }, spec: { unschedulable: cordoned.includes(name), taints } });
  });

/** A fleet on two nodes, with the node on which pods of each engine are. */
class Drained {
  world: PlacementSnapshot;
  readonly pods = new Map<string, string>();
  readonly #roles: ReadonlyMap<string, keyof typeof rankOf>;

  constructor({ others, nvlink, judged }: Drains) {
    const experts = others.map(([role, gi, slot], at) => onGpu(`e${at}`, role, `${gi}Gi`, slot));
    const pool = gpuPool('p', [onGpu('gen', 'Generalist', '30Gi'), ...experts], {
      placement: { nvlink },
      energyModelRef: { name: 'judge' },
    });
    const slices = machines.map((name, at) => slice([device(2 * at), device(2 * at + 1)], name));
    const cluster = box([], { slices, nodes: nodesIn([], []) });
    this.#roles = new Map([['gen', 'Generalist'], ...others.map(([role], at) => [`e${at}`, role] as const)]);
    this.world = settle(snapshot({ pools: [pool], models: judged ? [verifier()] : [], cluster, runs: this.runs }));
    this.kubelet([], []);
  }

  readonly runs: PlacementSnapshot['runs'] = (_, { item, slot }) => this.pods.get(item) === nodeOfSlot(slot);

  rank(item: string): number {
    const role = this.#roles.get(item);
    return ranks.indexOf(role === undefined ? 'Verifier' : rankOf[role]);
  }

  nodes(): ReadonlyMap<string, string> {
    return new Map(places(this.world).map(({ item, slot }) => [item, nodeOfSlot(slot)]));
  }

  slots(): ReadonlyMap<string, string> {
    return new Map(places(this.world).map(({ item, slot }) => [item, slot]));
  }

  settle(cordoned: readonly string[], away: readonly string[]): void {
    const cluster = { ...this.world.cluster, nodes: nodesIn(cordoned, away) };
    this.world = settle({ ...this.world, cluster });
    expect(settle(this.world)).toBe(this.world);
  }

  /** Pods come up where plans put them and the node takes them, and end where no plan has them. */
  kubelet(cordoned: readonly string[], away: readonly string[]): void {
    const planned = this.nodes();
    for (const [item, node] of this.pods) if (planned.get(item) !== node) this.pods.delete(item);
    for (const [item, node] of planned) if (![...cordoned, ...away].includes(node)) this.pods.set(item, node);
  }

  /** The condition of who has the engine. */
  word(item: string): string | undefined {
    const { pools, models } = this.world;
    const [owner] = item === 'judge' ? models : pools;
    return findCondition(owner?.status?.conditions, 'PlacementFeasible')?.reason;
  }
}

test('whatever nodes are drained: who runs stays, who has no pods there goes or waits, and a flap moves nobody', () => {
  const seen = { moved: 0, waited: 0, pushed: 0 };
  fc.assert(
    fc.property(drains, (fleet) => {
      const course = new Drained(fleet);
      const all = fleet.others.length + 1 + course.world.models.length;
      fc.pre(course.slots().size === all);
      for (const { cordoned, away, evicted } of fleet.course) {
        const before = course.slots();
        const well = before.size === all && [...before.keys()].every((item) => course.word(item) === 'Placed');
        for (const at of evicted) course.pods.delete([...before.keys()][at] ?? '');
        const drained = [...before]
          .filter(([item, slot]) => cordoned.includes(nodeOfSlot(slot)) && !course.pods.has(item))
          .map(([item]) => item);
        course.settle(cordoned, away);
        const after = course.slots();
        expect(overbooked(course.world, [])).toEqual([]);
        if (drained.length === 0 && well) expect(after).toEqual(before);
        const moved = drained.filter((item) => after.get(item) !== before.get(item));
        for (const [item, slot] of before) {
          if (drained.includes(item)) {
            if (after.get(item) === slot) expect(course.word(item)).toBe('NodeCordoned');
            // It is never without a place, and never on another one that takes no pods.
            else expect([...cordoned, ...away]).not.toContain(nodeOfSlot(after.get(item) ?? cordoned[0] ?? ''));
            continue;
          }
          // NVLink joins it to one that went, or that came back.
          const follows = ['Draft', ...(cordoned.includes(nodeOfSlot(slot)) ? [] : ['Core'])].includes(ranks[course.rank(item)] ?? '');
          const joined = fleet.nvlink === 'Required' && follows;
          if ([...cordoned, ...away].includes(nodeOfSlot(slot)) && !joined) expect(after.get(item)).toBe(slot);
          if (after.has(item)) continue;
          expect(moved.some((other) => course.rank(other) > course.rank(item))).toBe(true);
          seen.pushed += 1;
        }
        seen.moved += moved.length;
        seen.waited += drained.length - moved.length;
        course.kubelet(cordoned, away);
      }
      course.settle([], []);
      if (course.world.models.length === 0) expect(course.slots().size).toBe(all);
    }),
    { numRuns: 2 * numRuns },
  );
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
});
