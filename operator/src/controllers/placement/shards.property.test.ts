import type { ExpertPool } from '@agentfleet/protocol/api';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { usableBytes } from '../../placement/index.ts';
import type { PlacementSnapshot } from './decide.ts';
import { emptyBook } from './slots.ts';
import { box, device, onGpu, snapshot } from './testing/box.ts';
import { pairs, readPool, wide } from './testing/wide.ts';
import { places, settle } from './testing/world.ts';

const numRuns = process.env['AGENTFLEET_FULL'] === '1' ? 2000 : 60;

const gib = 2 ** 30;
const counts = [2, 2, 4] as const;

interface Engine {
  readonly shards: number;
  readonly gib: number;
  readonly named: boolean;
}

const engine = fc.record({
  shards: fc.constantFrom(1, 1, ...counts),
  gib: fc.integer({ min: 2, max: 34 }),
  named: fc.integer({ min: 0, max: 3 }).map((number) => number === 0),
});
const gpus = [0, 1, 2, 3] as const;
const everyTwo = gpus.flatMap((a) => gpus.filter((b) => b > a).map((b) => [a, b] as const));
type Step = { readonly adds: readonly Engine[] } | { readonly lost: readonly number[] } | { readonly removes: number };
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ adds: fc.array(engine, { minLength: 1, maxLength: 3 }) }),
  fc.record({ lost: fc.subarray([...gpus], { maxLength: 2 }) }),
  fc.record({ removes: fc.nat() }),
);

/** One engine of a pool: on one GPU, or on several. */
function expertOf({ shards, gib: size, named }: Engine, index: number): Readonly<Record<string, unknown>> {
  const name = `e${index}`;
  const role = index === 0 ? 'Generalist' : 'Specialist';
  if (shards === 1) return onGpu(name, role, `${size}Gi`, named ? `dgx-1/gpu${size % 4}` : undefined);
  const slots = gpus.slice(4 - shards).map((gpu) => `dgx-1/gpu${gpu}`);
  return { ...wide(name, `${size}Gi`, shards, named ? { slots } : {}), role };
}

function next(world: PlacementSnapshot, change: Step, count: number): PlacementSnapshot {
  if ('adds' in change)
    return { ...world, pools: [...world.pools, readPool(`p${String(count).padStart(2, '0')}`, change.adds.map(expertOf))] };
  if ('removes' in change)
    return { ...world, pools: world.pools.filter((_, index) => index !== change.removes % (world.pools.length + 1)) };
  const devices = gpus.filter((index) => !change.lost.includes(index)).map((index) => device(index));
  return { ...world, cluster: { ...world.cluster, slices: box(devices).slices } };
}

const wanted = ({ spec }: ExpertPool): ReadonlyMap<string, number> =>
  new Map(spec.experts.map(({ name, engine: of }) => [name, of.type === 'VLLM' ? (of.vLLM.tensorParallel ?? 1) : 1]));

/** No slot has more than it holds, and no engine a part of what it needs. */
function check({ pools }: PlacementSnapshot, joined: ReadonlySet<string>): void {
  const taken = new Map<string, number>();
  for (const pool of pools) {
    const all = pool.status?.plan?.assignments ?? [];
    for (const { slot, bytes } of all) taken.set(slot, (taken.get(slot) ?? 0) + bytes);
    for (const [item, shards] of wanted(pool)) {
      const own = all.filter((place) => place.item === item);
      expect([0, shards]).toContain(own.length);
      expect(new Set(own.map(({ slot }) => slot)).size).toBe(own.length);
      expect(new Set(own.map(({ admitted }) => admitted)).size).toBeLessThan(2);
      for (const a of own) for (const b of own) if (a.slot < b.slot) expect(joined).toContain(`${a.slot} ${b.slot}`);
    }
  }
  for (const bytes of taken.values()) expect(bytes).toBeLessThanOrEqual(usableBytes(40 * gib));
}

/** An engine that comes or goes moves no other that has its boards. */
function stays(before: PlacementSnapshot, after: PlacementSnapshot, lost: readonly string[]): void {
  for (const { metadata, status } of before.pools) {
    const found = after.pools.find((pool) => pool.metadata.name === metadata.name);
    const had = status?.plan?.assignments ?? [];
    if (found === undefined || had.length === 0 || had.some(({ slot }) => lost.includes(slot))) continue;
    expect(places(found.status?.plan)).toEqual(expect.arrayContaining([...places(status?.plan)]));
  }
}

test('whatever comes, goes or is lost: engines on several GPUs have all of them or none, and no other’s memory', () => {
  fc.assert(
    fc.property(fc.subarray(everyTwo), fc.array(step, { minLength: 1, maxLength: 7 }), (links, steps) => {
      const joined = new Set(links.map(([a, b]) => `dgx-1/gpu${a} dgx-1/gpu${b}`));
      let lost: readonly string[] = [];
      let world = snapshot({ cluster: box(undefined, { book: { ...emptyBook, links: pairs(...links) } }) });
      for (const [count, change] of steps.entries()) {
        const after = settle(next(world, change, count));
        check(after, joined);
        if ('lost' in change) lost = change.lost.map((gpu) => `dgx-1/gpu${gpu}`);
        else stays(world, after, lost);
        world = after;
      }
    }),
    { numRuns },
  );
});
