import { afterAll, describe, expect, test } from 'vitest';
import { seededRandom } from '@agentfleet/kube/testing';
import { sample } from './enumerate.ts';
import { judge } from './judge.ts';
import { Lag, type LagPlan } from './lag.ts';
import { run, type Plan, type Result } from './run.ts';
import type { Scenario } from './scenario.ts';
import { companions } from './scenarios/companions.ts';
import { courses } from './scenarios/courses.ts';
import { spending } from './scenarios/spending.ts';
import { endings } from './scenarios/endings.ts';
import { fleet } from './scenarios/fleet.ts';

const full = process.env['AGENTFLEET_FULL'] === '1';
const seed = Number(process.env['AGENTFLEET_SEED'] ?? 1);
const timeoutMs = full ? 3_600_000 : 300_000;

/**
 * Runs of a scenario with late watches, and with first lists of the past: at every change, and in the full size. All that
 * there are would be 25,000, most of which hold back nothing that matters; another AGENTFLEET_SEED takes others.
 */
const runs = full ? { late: 160, past: 80 } : { late: 5, past: 3 };

/** What is seen late is decided late: a refused write is tried again every twentieth of a second until the cache shows why. */
const allowance = { writes: 60, reconciles: 2000 };

const ofTasks = [
  'agenttasks',
  'pods',
  'agenttaskorders',
  'expertpools',
  'configmaps',
  'leases',
  'persistentvolumeclaims',
  'volumesnapshots',
] as const;

const kindsOf = ({ controllerSet }: Scenario): readonly string[] => [
  ...ofTasks,
  ...(controllerSet === 'all' ? ['deployments', 'services', 'networkpolicies', 'rolebindings', 'namespaces', 'energymodels'] : []),
];

/**
 * A first list of pods may not be of the past: a sandbox that it does not show counts as lost. Therefore the caches list
 * consistently; what other kinds show is checked by the server at the next write.
 */
const kindsThatMayBePast = ['agenttasks', 'agenttaskorders', 'expertpools', 'configmaps'];

/** Every kind, frozen or coalesced, from each of the first events on, for 1, 3 or any number of events. */
function lags(scenario: Scenario): readonly LagPlan[] {
  const plans: LagPlan[] = [];
  for (const kind of kindsOf(scenario))
    for (const mode of ['freeze', 'coalesce'] as const)
      for (let from = 0; from < 12; from += 1) for (const events of [1, 3, 1000]) plans.push({ kind, mode, from, events });
  return plans;
}

const late = (plan: LagPlan): Plan => ({ lag: (_, world) => (world.counting ? undefined : new Lag(plan)) });

/** An operator that dies at a write, and the next one whose first list of a kind is some versions old. */
const past = (at: number, kind: string, back: number): Plan => ({
  injection: (n) => (n === at ? { injection: 'answer lost', survives: false } : undefined),
  lag: (life, world) => {
    if (life === 0) return undefined;
    const version = Math.max(world.firstVersion, Number(world.server.version) - back);
    return new Lag({ kind, mode: 'freeze', from: 0, events: 1000 }, String(version));
  },
});

interface Case {
  readonly name: string;
  readonly plan: Plan;
}

function pasts(writes: number): readonly Case[] {
  const cases: Case[] = [];
  for (let at = 1; at <= writes; at += 1)
    for (const kind of kindsThatMayBePast)
      for (const back of [1, 2, 4, 8])
        cases.push({ name: `write ${at} lost, then ${kind} as ${back} versions ago`, plan: past(at, kind, back) });
  return cases;
}

describe('watches that lag', { timeout: timeoutMs }, () => {
  const scenarios = [...courses, ...endings, ...companions, ...spending, ...fleet];
  const count = { late: 0, past: 0, failures: 0 };
  const random = seededRandom(seed);
  const seeds = new Map(scenarios.map(({ name }) => [name, Math.floor(random() * 2 ** 31)]));

  const tryAll = async (scenario: Scenario, golden: Result, cases: readonly Case[]): Promise<void> => {
    const failures: string[] = [];
    for (const { name, plan } of cases) {
      const faults = await judge(scenario, plan, golden, allowance);
      if (faults.length > 0) failures.push([name, ...faults].join('\n'));
    }
    count.failures += failures.length;
    expect(failures.slice(0, 3).join('\n\n'), `${failures.length} of ${cases.length} runs`).toBe('');
  };

  test.each(scenarios)('$name, events late or left out', async (scenario) => {
    const all = lags(scenario);
    const plans = sample(all, runs.late, seeds.get(scenario.name) ?? 0);
    count.late += plans.length;
    const cases = plans.map((plan) => ({ name: JSON.stringify(plan), plan: late(plan) }));
    await tryAll(scenario, await run(scenario), cases);
  });

  test.each(scenarios)('$name, a first list of the past', async (scenario) => {
    const golden = await run(scenario);
    const all = pasts(golden.writes.length);
    const cases = sample(all, runs.past, seeds.get(scenario.name) ?? 0);
    count.past += cases.length;
    await tryAll(scenario, golden, cases);
  });

  afterAll(() => {
    console.log(
      `lag: ${scenarios.length} scenarios, ${count.late} late watches, ${count.past} lists of the past; ${count.failures} failures`,
    );
  });
});
