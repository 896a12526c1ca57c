import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PlacementSnapshot } from './decide.ts';
import { gpuPool, onGpu } from './testing/box.ts';
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
