import { rolloutReport, type RolloutReport } from '../../../revisions/index.ts';
import { findCondition, ResourceClient } from '@agentfleet/kube';
import type { AgentTaskOrder, EnergyModel } from '@agentfleet/protocol/api';
import { briefKey, type PoolBrief } from '@agentfleet/protocol/pool';
import { World } from '../../../../test/crash/world.ts';
import { resources } from '../../../runtime/resources.ts';
import { ruled } from '../../../revisions/testing/policies.ts';
import { newTask } from '../../agenttask/testing/objects.ts';
import { fails, obedient, playWorkers } from '../../agenttask/testing/scriptedWorker.ts';
import { Rollouts } from '../../expertpool/testing/rollouts.ts';
import { verifiers, type VerifierFigures } from './calibrated.ts';
import { newModel } from './models.ts';

/** Figures that two artifacts report of themselves. */
export const good: Readonly<Record<string, VerifierFigures>> = { 'features-v1': { auc: 0.9 }, 'features-v2': { auc: 0.8 } };

/** A model in a virtual cluster, and the pools that name it. */
export class RolloutRun {
  readonly world: World;

  private constructor(world: World) {
    this.world = world;
  }

  static async with(
    spec: Readonly<Record<string, unknown>>,
    reported = good,
    pool: Readonly<Record<string, unknown>> = {},
  ): Promise<RolloutRun> {
    const named = { energyModelRef: { name: 'judge' }, ...pool };
    const world = await World.start({ controllerSet: 'all', seed: 1, pool: named, injection: () => undefined });
    Rollouts.join(world);
    world.ask = verifiers(world.server, reported);
    const run = new RolloutRun(world);
    await run.models.create(newModel(await ruled(world.transport, 'judge', spec)));
    await world.startOperator();
    return run;
  }

  /** One whose first revision serves. */
  static async serving(
    spec: Readonly<Record<string, unknown>>,
    reported = good,
    pool: Readonly<Record<string, unknown>> = {},
  ): Promise<RolloutRun> {
    const run = await RolloutRun.with(spec, reported, pool);
    await run.until('a revision serves', () => run.rollout.stable !== undefined);
    await run.until('the pool knows it', () => run.brief.verifierArms?.[0]?.revision === run.rollout.stable);
    await run.world.rest();
    return run;
  }

  readonly until = (what: string, holds: () => boolean): Promise<void> => this.world.until(what, holds, 240);

  get models(): ResourceClient<EnergyModel> {
    return new ResourceClient(this.world.transport, resources.energyModels);
  }

  get model(): EnergyModel {
    return this.world.server.objects(resources.energyModels)[0] as EnergyModel;
  }

  get rollout(): Partial<RolloutReport> {
    return rolloutReport(this.model.status) ?? {};
  }

  get brief(): PoolBrief {
    const map = this.world.server.objects(resources.configMaps).find(({ metadata }) => metadata.name === 'coding-workers');
    return JSON.parse(map?.data?.[briefKey] ?? '{}') as PoolBrief;
  }

  get healthy(): { readonly status?: string; readonly reason?: string; readonly message?: string } {
    return findCondition(this.model.status?.conditions, 'RolloutHealthy') ?? {};
  }

  names(kind: 'deployments' | 'services'): readonly string[] {
    const all = this.world.server.objects(resources[kind]).map(({ metadata }) => metadata.name);
    return all.filter((name) => name.startsWith('judge-verifier'));
  }

  /** Returns the labels of the pods that the address without a revision reaches. */
  get reaches(): Readonly<Record<string, string>> {
    const found = this.world.server.objects(resources.services).find(({ metadata }) => metadata.name === 'judge-verifier');
    return (found as { spec?: { selector?: Readonly<Record<string, string>> } }).spec?.selector ?? {};
  }

  async patch(spec: Readonly<Record<string, unknown>>, more: object = {}): Promise<EnergyModel> {
    const named = await ruled(this.world.transport, 'judge', spec);
    return this.models.patch({ namespace: 'platform', name: 'judge' }, { spec: named, ...more });
  }

  /** A person's decision about a revision of the model. */
  async order(type: 'Approve' | 'Reject', revision: string): Promise<void> {
    const { apiVersion, kind } = resources.agentTaskOrders;
    const spec = { rolloutRef: { kind: 'EnergyModel' as const, name: 'judge' }, type, revision, requester: 'ann' };
    const metadata = { name: type.toLowerCase(), namespace: 'platform' };
    await new ResourceClient(this.world.transport, resources.agentTaskOrders).create({
      apiVersion,
      kind,
      metadata,
      spec,
    } as AgentTaskOrder);
  }

  /** States of the orders. */
  orders(): readonly (string | undefined)[] {
    return this.world.server.objects<AgentTaskOrder>(resources.agentTaskOrders).map(({ status }) => status?.state);
  }

  /** Tasks that fail and are undone. */
  async work(...names: readonly string[]): Promise<void> {
    playWorkers(
      this.world,
      obedient(() => fails()),
    );
    for (const name of names) await this.world.create(newTask(name, { attempts: { max: 1 } }));
    for (const name of names) await this.until(`${name} has ended`, () => this.world.task(name).status?.finished === 'true');
  }

  counts(revision: string | undefined): object | undefined {
    const map = this.world.server.objects(resources.configMaps).find(({ metadata }) => metadata.name === 'judge-model-rollout');
    const { arms } = JSON.parse(map?.data?.['counts.json'] ?? '{"arms":{}}') as { readonly arms: Readonly<Record<string, object>> };
    return arms[revision ?? ''];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.world[Symbol.asyncDispose]();
  }
}
