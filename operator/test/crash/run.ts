// operator, test/crash: one run of a scenario under crashes and watch lag. May import operator, kube and protocol.
import type { Lag } from './lag.ts';
import { normalise } from './normalise.ts';
import type { Scenario } from './scenario.ts';
import { World, type Verdict, type Write } from './world.ts';

/** Disturbances of a run. */
export interface Plan {
  readonly injection?: (n: number) => Verdict | undefined;
  readonly lag?: (life: number, world: World) => Lag | undefined;
}

/** Outcome of a run. */
export interface Result {
  readonly writes: readonly Write[];
  readonly reconciles: number;
  /** The state without what differs between any two runs. */
  readonly state: readonly string[];
  /** Broken promises; empty: none. */
  readonly faults: readonly string[];
  /** Number of times that the operator was started. */
  readonly starts: number;
}

/** Seconds for which nothing may be written when all is done. */
const idleSeconds = 30;

/** Runs a scenario to where nothing moves any more. Rejects when it does not come to its end. */
export async function run(scenario: Scenario, plan: Plan = {}): Promise<Result> {
  const { controllerSet = 'tasks', pool = {} } = scenario;
  const { lag } = plan;
  const injection = plan.injection ?? (() => undefined);
  await using world = await World.start({
    controllerSet,
    seed: 1,
    pool: pool ?? undefined,
    injection,
    ...(lag === undefined ? {} : { lag }),
  });
  await world.startOperator();
  await scenario.prepare?.(world);
  await world.rest();
  const before = await world.reconciles();
  world.count();
  await scenario.act(world);
  await world.rest();
  const settled = world.written.length;
  await world.pass(idleSeconds, 5);
  const late = world.written.slice(settled).map(({ method, path }) => `wrote when all was done: ${method} ${path}`);
  await world.rest();
  scenario.ends(world);
  return {
    writes: world.written,
    reconciles: (await world.reconciles()) - before,
    state: normalise(world.history),
    faults: [...world.checker.faults, ...world.checker.leftovers(), ...late],
    starts: world.starts,
  };
}
