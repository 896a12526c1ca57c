import type { ExpertPool } from '@agentfleet/protocol/api';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PlacementSnapshot } from './decide.ts';
import type { Assignment } from './problem.ts';
import { box, device, gpuPool, onGpu, snapshot } from './testing/box.ts';
import { inRollout, revisionOfPool, withPool } from './testing/revisions.ts';
import { settle } from './testing/world.ts';

const gib = 2 ** 30;
const usable = 39.5 * gib;
const numRuns = process.env['AGENTFLEET_FULL'] === '1' ? 3000 : 60;

const names = ['gen', 'go', 'js', 'py', 'rs'];

interface Engine {
  readonly budget: number;
  readonly slot: string | undefined;
  readonly turns: boolean;
  readonly there: boolean;
}

const slots = ['dgx-1/gpu0', 'dgx-1/gpu1'];
const engine: fc.Arbitrary<Engine> = fc.record({
  budget: fc.integer({ min: 1, max: 24 }),
  slot: fc.option(fc.constantFrom(...slots), { nil: undefined }),
  turns: fc.boolean(),
  there: fc.boolean(),
});
const engines = fc.tuple(...names.map(() => engine));

/** What happens next: to the pool, to the boards, and whose pods stay for a while. */
const step = fc.record({
  what: fc.constantFrom('Change', 'Promote', 'Back', 'Board', 'Wait'),
  next: engines,
  boards: fc.constantFrom([0, 1], [0, 1], [0], [1]),
  stays: fc.integer({ min: 0, max: 31 }),
  crowd: fc.integer({ min: 0, max: 12 }),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function pool(all: readonly Engine[], rollout: boolean): ExpertPool {
  const experts = all.flatMap(({ budget, slot, turns, there }, index) => {
    if (!there && index > 0) return [];
    const role = index === 0 ? 'Generalist' : 'Specialist';
    return [{ ...onGpu(names[index] ?? '', role, `${budget}Gi`, slot), ...(turns ? { residency: 'Swap' } : {}) }];
  });
  return gpuPool('p', experts, rollout ? { rollout: { strategy: 'Canary', drainSeconds: 60 } } : {});
}

const sum = (all: readonly number[]): number => all.reduce((total, one) => total + one, 0);

/** Bytes that can be on a slot at once: whoever of those that take turns is awake, the others of its pool there are asleep. */
function atWorst(assignments: readonly Assignment[]): number {
  const always = assignments.filter(({ awakeBytes }) => awakeBytes === undefined).map(({ bytes }) => bytes);
  const awake = assignments.flatMap(({ awakeBytes }) => awakeBytes ?? []);
  const asleep = awake.map((bytes) => Math.min(bytes, 1.5 * gib));
  const each = awake.map((bytes, index) => bytes + sum(asleep.filter((_, other) => other !== index)));
  return sum(always) + Math.max(0, ...each);
}

/** No slot has more than it holds, whoever is awake; and what the ledger counts is what there can be. */
function holds(world: PlacementSnapshot): void {
  for (const slot of slots) {
    const here = world.pools.map(({ status }) => (status?.plan?.assignments ?? []).filter((place) => place.slot === slot));
    const counted = sum(here.flatMap((all) => all.map(({ bytes }) => bytes)));
    expect(sum(here.map(atWorst))).toBe(counted);
    expect(counted).toBeLessThanOrEqual(usable);
  }
}

const inFile = (world: PlacementSnapshot): ExpertPool => {
  const found = world.pools.find(({ metadata }) => metadata.name === 'p');
  if (found === undefined) throw new RangeError('no pool');
  return found;
};

class Course {
  world: PlacementSnapshot;
  served: readonly ExpertPool[] = [];
  #stable: ExpertPool;
  #canary: ExpertPool | undefined;
  readonly #rollout: boolean;

  constructor(first: readonly Engine[], rollout: boolean) {
    this.#rollout = rollout;
    this.#stable = pool(first, rollout);
    this.world = snapshot({ cluster: box([0, 1].map((index) => device(index))) });
    this.#tell(this.#stable, this.#stable);
  }

  go({ what, next, boards, stays, crowd }: Step): void {
    const present: PlacementSnapshot['present'] = (_, { item }) => (stays & (1 << names.indexOf(item.split('.')[0] ?? ''))) !== 0;
    this.world = { ...this.world, present };
    if (what === 'Board') this.#boards(boards, crowd);
    if (what === 'Change') this.#change(pool(next, this.#rollout));
    if (what === 'Promote' && this.#canary !== undefined) this.#stable = this.#canary;
    if (what === 'Promote' || what === 'Back') this.#canary = undefined;
    this.#tell(inFile(this.world), this.#canary ?? this.#stable);
  }

  #boards(boards: readonly number[], crowd: number): void {
    const { slices } = box(boards.map((index) => device(index)));
    const others = this.world.pools.filter(({ metadata }) => metadata.name === 'p');
    const more = crowd === 0 ? [] : [gpuPool('a', [onGpu('x', 'Generalist', `${crowd}Gi`)])];
    const known = this.world.pools.filter(({ metadata }) => metadata.name === 'a');
    this.world = { ...this.world, cluster: { ...this.world.cluster, slices }, pools: [...others, ...(known.length > 0 ? known : more)] };
  }

  #change(next: ExpertPool): void {
    if (this.#rollout) this.#canary = next;
    else this.#stable = next;
  }

  #tell(from: ExpertPool, spec: ExpertPool): void {
    this.served = [...this.served, spec];
    const [stable, canary] = [revisionOfPool(this.#stable), this.#canary && revisionOfPool(this.#canary)];
    const status = { phase: canary === undefined || canary === stable ? 'Idle' : 'Canary', stable, ...(canary && { canary }) } as const;
    const told = this.#rollout ? inRollout(from, spec, status) : { ...from, spec: spec.spec };
    this.world = settle(withPool(this.world, told, ...this.served));
  }
}

describe('whatever comes and goes', () => {
  test.each([false, true])('no slot holds more than it has, whoever is awake (rollouts: %s)', (rollout) => {
    fc.assert(
      fc.property(engines, fc.array(step, { maxLength: 6 }), (first, steps) => {
        const course = new Course(first, rollout);
        holds(course.world);
        for (const next of steps) {
          course.go(next);
          holds(course.world);
        }
      }),
      { numRuns },
    );
  });
});
