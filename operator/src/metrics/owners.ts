import { keyOf, type Clock, type Condition, type KubeObject } from '@agentfleet/kube';
import type { CalibrationStatus } from '@agentfleet/protocol/api';
import type { Registry } from 'prom-client';
import type { Caches } from '../runtime/context.ts';
import { sampledGauges, servingExperts, type Sample, type SampledGauge } from './fleet.ts';

type Owners = Pick<Caches, 'pools' | 'energyModels'>;
type Reported = KubeObject & { readonly status?: { readonly conditions?: readonly Condition[] } };

/** Returns the conditions of a pool or a model: one series for each, with the status and the reason that it has now. Pure. */
export function conditionsOf(of: Readonly<Record<string, string>>, { status }: Reported): readonly Sample[] {
  return (status?.conditions ?? []).map(({ type, status: is, reason }) => ({ labels: { ...of, type, status: is, reason }, value: 1 }));
}

function* conditions({ pools, energyModels }: Owners): Generator<Sample, undefined> {
  for (const pool of pools.lister.values()) yield* conditionsOf({ pool: keyOf(pool) }, pool);
  for (const model of energyModels.lister.values()) yield* conditionsOf({ model: keyOf(model) }, model);
  return undefined;
}

/** Calibrations in force by the names of their models: the status also has one that is refused, so that the model abstains. */
function* inForce({ energyModels }: Owners): Generator<readonly [string, CalibrationStatus], undefined> {
  for (const model of energyModels.lister.values()) {
    const { calibration, arms: [serving] = [] } = model.status ?? {};
    if (calibration !== undefined && serving?.calibration?.abstains === undefined) yield [keyOf(model), calibration];
  }
  return undefined;
}

function* headsOf(owners: Owners, of: 'auc' | 'ece'): Generator<Sample, undefined> {
  for (const [model, { heads }] of inForce(owners))
    for (const head of heads ?? []) yield { labels: { model, head: head.name }, value: Number(head[of]) };
  return undefined;
}

function* ages(owners: Owners, now: number): Generator<Sample, undefined> {
  for (const [model, { fittedAt }] of inForce(owners)) yield { labels: { model }, value: Math.max(0, (now - Date.parse(fittedAt)) / 1000) };
  return undefined;
}

/** Registers the numbers of wanted pods: zero pods that answer are compared with them. */
function registerWanted(gauge: SampledGauge, { pools, energyModels }: Owners): void {
  gauge(
    'agentfleet_expert_wanted',
    'Number of pods that the spec asks for, partitioned by pool, expert and role; experts that only a canary or a shadow has do not count. Models behind an API and programs have none.',
    ['pool', 'expert', 'role'],
    () =>
      [...pools.lister.values()].flatMap((pool) =>
        servingExperts(pool).map(({ name, role, replicas }) => ({ labels: { pool: keyOf(pool), expert: name, role }, value: replicas })),
      ),
  );
  gauge('agentfleet_pool_workers_wanted', 'Number of workers that the pool is to have.', ['pool'], () =>
    [...pools.lister.values()].flatMap((pool) => {
      const replicas = pool.status?.workers?.replicas;
      return replicas === undefined ? [] : [{ labels: { pool: keyOf(pool) }, value: replicas }];
    }),
  );
  gauge('agentfleet_energymodel_wanted', 'Number of pods that the spec asks for.', ['model'], () =>
    [...energyModels.lister.values()].map((model) => ({ labels: { model: keyOf(model) }, value: model.spec.resources.replicas })),
  );
}

function registerCalibration(gauge: SampledGauge, owners: Owners, clock: Pick<Clock, 'now'>): void {
  const help = (what: string): string => `${what} of the calibration in force, as the model reports it, by head.`;
  const byHead = ['model', 'head'];
  gauge('agentfleet_energymodel_calibration_ece', help('Expected calibration error'), byHead, () => headsOf(owners, 'ece'));
  gauge('agentfleet_energymodel_calibration_auc', help('Area under the ROC curve'), byHead, () => headsOf(owners, 'auc'));
  gauge('agentfleet_energymodel_calibration_age_seconds', 'Time since the calibration in force was made.', ['model'], () =>
    ages(owners, clock.now()),
  );
}

/** Registers the gauges of what pools and models report of themselves; they are read from their statuses at each scrape. */
export function registerOwnerMetrics(registry: Registry, owners: Owners, clock: Pick<Clock, 'now'>): void {
  const gauge = sampledGauges(registry);
  gauge(
    'agentfleet_condition',
    'Conditions of pools and models: 1 for the status and the reason that it has.',
    ['pool', 'model', 'type', 'status', 'reason'],
    () => conditions(owners),
  );
  registerWanted(gauge, owners);
  registerCalibration(gauge, owners, clock);
}
