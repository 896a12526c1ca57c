import { ResourceClient } from '@agentfleet/kube';
import type { DegradedState, EnergyModel, PlanStatus } from '@agentfleet/protocol/api';
import { expect } from 'vitest';
import { newPool } from '../../controllers/agenttask/testing/objects.ts';
import { newModel } from '../../controllers/energymodel/testing/models.ts';
import { device, onGpu, slice } from '../../controllers/placement/testing/box.ts';
import { taint } from '../../controllers/placement/testing/degrading.ts';
import { restoreAfterMs } from '../../controllers/placement/degraded.ts';
import type { Deployment } from '../../runtime/objects.ts';
import { resources } from '../../runtime/resources.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import { isReady, models, pools, publishGpus } from './gpus.ts';

const plans = (world: World): readonly PlanStatus[] => [...pools(world), ...models(world)].flatMap(({ status }) => status?.plan ?? []);
const degradedOf = (world: World): readonly DegradedState[] => plans(world).flatMap(({ degraded = [] }) => degraded);
const slotOf = (world: World, item: string): string | undefined =>
  plans(world)
    .flatMap(({ assignments }) => assignments)
    .find((place) => place.item === item)?.slot;
const allReady = (world: World): boolean => isReady(pools(world)[0]) && isReady(models(world)[0]);

/** The driver publishes two GPUs, some of them sick. */
async function taintGpus(world: World, sick: readonly number[]): Promise<void> {
  const devices = [0, 1].map((index) => device(index, sick.includes(index) ? { taints: [taint()] } : {}));
  const { spec } = slice(devices, 'dgx-1', 2 + sick.length);
  await new ResourceClient(world.transport, resources.resourceSlices).patch({ name: 'dgx-1' }, { spec });
}

/** What nobody agreed to is not gone without, and who runs on CPU is on no GPU. */
function guardConsent(world: World): void {
  world.history.onChange((kind) => {
    if (!['expertpools.agentfleet.dev', 'energymodels.agentfleet.dev', 'deployments.apps'].includes(kind)) return;
    for (const { mode, item } of degradedOf(world))
      if (!(mode === 'SharedVerifier' ? ['gen', 'judge'] : mode === 'CpuVerifier' ? ['judge'] : []).includes(item))
        world.watchman.fault(`${item} goes without by ${mode}, to which nobody agreed`);
    const seated = world.server.objects<Deployment>(resources.deployments).filter(({ spec }) => {
      const { resourceClaims: names = [] } = (spec?.template as { spec?: { resourceClaims?: readonly object[] } } | undefined)?.spec ?? {};
      return names.length > 0 && spec?.template?.metadata?.annotations?.['agentfleet.dev/slot'] === undefined;
    });
    for (const { metadata } of seated) world.watchman.fault(`${metadata.name} names a claim and sits nowhere`);
  });
}

const antiAffinity = [{ expert: 'gen', from: ['EnergyModel'] }];

/** Plans that go without something while GPUs are lost. */
export const degraded: readonly Scenario[] = [
  {
    name: 'a GPU is lost and then both, a verifier shares a GPU and runs on CPU, and all is as before in the end',
    crew: 'all',
    pool: null,
    prepare: async (world) => {
      await publishGpus(world);
      guardConsent(world);
      const gen = { ...onGpu('gen', 'Generalist', '20Gi'), engine: { type: 'Synth' }, replicas: 1 };
      const placement = { antiAffinity, degradeTo: ['SharedVerifier'] };
      await world.createPool(newPool({ experts: [gen], placement, energyModelRef: { name: 'judge' } }));
      await new ResourceClient<EnergyModel>(world.transport, resources.energyModels).create(
        newModel({ resources: { memory: { budget: '5Gi' }, withoutGpu: 'CPU' } }),
      );
      await world.until('all are ready', () => allReady(world));
    },
    act: async (world) => {
      const home = Number(slotOf(world, 'gen')?.at(-1));
      await taintGpus(world, [1 - home]);
      await world.until('they share a GPU', () => slotOf(world, 'judge') === slotOf(world, 'gen') && allReady(world));
      await taintGpus(world, [0, 1]);
      await world.until(
        'the verifier runs on CPU',
        () => degradedOf(world).some(({ mode }) => mode === 'CpuVerifier') && isReady(models(world)[0]),
      );
      await taintGpus(world, []);
      await world.pass(restoreAfterMs / 1000, 5);
      await world.until(
        'all is as before',
        () => degradedOf(world).length === 0 && slotOf(world, 'judge') !== undefined && allReady(world),
      );
    },
    ends: (world) => {
      expect(new Set([slotOf(world, 'gen'), slotOf(world, 'judge')])).toEqual(new Set(['dgx-1/gpu0', 'dgx-1/gpu1']));
      expect(world.server.objects(resources.resourceClaims)).toHaveLength(2);
    },
  },
];
