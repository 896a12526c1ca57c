import * as fc from 'fast-check';
import { findCondition } from '@agentfleet/kube';
import type { DegradedState, EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { decidePlacement, type PlacementSnapshot } from './decide.ts';
import { restoreAfterMs } from './degraded.ts';
import { onGpu } from './testing/box.ts';
import { atRest, core, draftedPool, gpuOf, verifier, withSick } from './testing/degrading.ts';
import { now, settle } from './testing/world.ts';

const gib = 2 ** 30;
const numRuns = process.env['AGENTFLEET_FULL'] === '1' ? 400 : 15;

interface Fleet {
  readonly gpus: number;
  readonly coreGi: number;
  readonly others: readonly (readonly [role: string, gi: number, pinned: number | undefined])[];
  readonly apart: boolean;
  readonly consents: readonly string[];
  readonly cpu: boolean;
  /** GPU of the verifier, when it names one; null: there is no verifier. */
  readonly bench: number | null | undefined;
  /** GPUs that are sick, one set after another, and how long each lasts in seconds. */
  readonly course: readonly (readonly [sick: readonly number[], seconds: number])[];
}

const fleets = fc.integer({ min: 2, max: 4 }).chain((gpus): fc.Arbitrary<Fleet> => {
  const gpu = fc.integer({ min: 0, max: gpus - 1 });
  return fc.record({
    gpus: fc.constant(gpus),
    coreGi: fc.integer({ min: 27, max: 36 }),
    others: fc.array(
      fc.tuple(
        fc.constantFrom('Planner', 'Draft', 'Specialist'),
        fc.integer({ min: 2, max: 25 }),
        fc.option(gpu, { nil: undefined, freq: 3 }),
      ),
      { maxLength: 3 },
    ),
    apart: fc.boolean(),
    consents: fc.subarray(['NoDraft', 'SharedVerifier']),
    cpu: fc.boolean(),
    bench: fc.oneof(gpu, fc.constantFrom(null, undefined)),
    course: fc.array(fc.tuple(fc.uniqueArray(gpu, { maxLength: gpus }), fc.integer({ min: 1, max: 300 })), { minLength: 1, maxLength: 6 }),
  });
});

/** Names of one role are told apart by their order. */
function start({ gpus, coreGi, others, apart, consents, cpu, bench }: Fleet): PlacementSnapshot {
  const experts = others.map(([role, gi, slot], at) =>
    onGpu(`e${at}`, role, `${gi}Gi`, slot === undefined ? undefined : `dgx-1/gpu${slot}`),
  );
  const placement = { degradeTo: consents, ...(apart ? { antiAffinity: [{ expert: 'gen', from: ['EnergyModel'] }] } : {}) };
  const pool = draftedPool([core(`${coreGi}Gi`), ...experts], placement, { energyModelRef: { name: 'judge' } });
  const model = verifier({ ...(cpu ? { withoutGpu: 'CPU' } : {}), ...(typeof bench === 'number' ? { slot: `dgx-1/gpu${bench}` } : {}) });
  return atRest(gpus, { pools: [pool], models: bench === null ? [] : [model] });
}

const ownersOf = ({ pools, models }: PlacementSnapshot) => [...pools, ...models];
const degradedOf = (world: PlacementSnapshot): readonly DegradedState[] =>
  ownersOf(world).flatMap(({ status }) => status?.plan?.degraded ?? []);
const placed = (world: PlacementSnapshot): readonly string[] =>
  ownersOf(world).flatMap(({ status }) => (status?.plan?.assignments ?? []).map(({ item }) => item));

function overbooked(world: PlacementSnapshot, sick: readonly number[]): readonly string[] {
  const taken = new Map<string, number>();
  for (const { status } of ownersOf(world))
    for (const { slot, bytes } of status?.plan?.assignments ?? []) taken.set(slot, (taken.get(slot) ?? 0) + bytes);
  return [...taken].filter(([slot, bytes]) => !sick.includes(Number(slot.at(-1))) && bytes > 39.5 * gib).map(([slot]) => slot);
}

const isWhole = (world: PlacementSnapshot, { others }: Fleet): boolean => placed(world).length === others.length + 1 + world.models.length;

/** Whether somebody who wants the same and knows of no loss does not get it either. */
function isRefused(world: PlacementSnapshot, object: ExpertPool | EnergyModel): boolean {
  const { degraded: _, ...plan } = object.status?.plan ?? { hash: '', assignments: [] };
  const assignments = plan.assignments.map(({ withoutDraft: _draft, ...place }) => place);
  const anew = { ...object, status: { ...object.status, plan: { ...plan, assignments } } };
  const put = <T extends ExpertPool | EnergyModel>(all: readonly T[]): readonly T[] =>
    all.map((one) => ((one as object) === object ? (anew as T) : one));
  const decision = decidePlacement({ ...world, pools: put(world.pools), models: put(world.models) }, now);
  const told = decision.statuses.find(({ owner }) => owner.object === (anew as object));
  return told !== undefined && findCondition(told.status.conditions, 'PlacementFeasible')?.status !== 'True';
}

describe('whatever is lost and comes back', () => {
  test('no GPU is given away twice, nobody goes without what he did not agree to, and all is as it was in the end', () => {
    let degradedRuns = 0;
    fc.assert(
      fc.property(fleets, (fleet) => {
        let world = start(fleet);
        fc.pre(isWhole(world, fleet));
        expect(degradedOf(world)).toEqual([]);
        let at = now;
        for (const [sick, seconds] of fleet.course) {
          world = settle(withSick(world, fleet.gpus, sick), at);
          expect(overbooked(world, sick)).toEqual([]);
          const given = new Set<string>([...fleet.consents, ...(fleet.cpu ? ['CpuVerifier'] : [])]);
          expect(degradedOf(world).filter(({ mode }) => !given.has(mode))).toEqual([]);
          degradedRuns += Math.min(1, degradedOf(world).length);
          at += seconds * 1000;
        }
        const well = settle(withSick(world, fleet.gpus, []), at);
        const waited = settle(well, at + restoreAfterMs);
        // Owners are planned one by one: of two, one may have come to sit where the other one was.
        if (waited.models.length === 0) {
          expect(degradedOf(waited)).toEqual([]);
          expect(isWhole(waited, fleet)).toBe(true);
        }
        for (const object of ownersOf(waited))
          if (object.status?.plan?.degraded !== undefined) expect(isRefused(waited, object)).toBe(true);
        expect(settle(waited, at + 10 * restoreAfterMs)).toBe(waited);
      }),
      { numRuns },
    );
    // Not only fleets that nothing happens to.
    expect(degradedRuns).toBeGreaterThan(numRuns / 10);
  });

  test('room that comes and goes moves nobody who sits on a sound GPU', () => {
    fc.assert(
      fc.property(fleets, fc.integer({ min: 1, max: restoreAfterMs - 1 }), (fleet, ms) => {
        const world = start(fleet);
        fc.pre(isWhole(world, fleet));
        const sick = fleet.course[0]?.[0] ?? [];
        const lost = settle(withSick(world, fleet.gpus, sick), now);
        fc.pre(degradedOf(lost).length > 0);
        const flap = settle(withSick(lost, fleet.gpus, []), now + ms);
        const waiting = ownersOf(lost).filter(({ status }) => status?.plan?.degraded !== undefined);
        const items = waiting.flatMap(({ status }) => (status?.plan?.assignments ?? []).map(({ item }) => item));
        for (const item of items) if (!sick.includes(gpuOf(lost, item) ?? -1)) expect(gpuOf(flap, item)).toBe(gpuOf(lost, item));
      }),
      { numRuns },
    );
  });
});
