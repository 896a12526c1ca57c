import { labels } from '@agentfleet/protocol/pool';
import { expect } from 'vitest';
import { type Deployment, resources } from '../../../src/runtime/resources.ts';
import { ruled } from '../../../src/revisions/testing/policies.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import { gen, publishGpus, slotOf, specialist } from './gpus.ts';
import { poolRollout, serves } from './revisions.ts';
import { isReady, patchPool, pools } from './steps.ts';

/** Whatever is or was tried: pods of a revision are where the ledger has them, as long as they are there. */
function guardRevisions(world: World): void {
  world.history.onChange((kind) => {
    if (!['expertpools.agentfleet.dev', 'pods', 'deployments.apps'].includes(kind)) return;
    const places = new Set(
      pools(world).flatMap(({ status }) => (status?.plan?.assignments ?? []).map(({ item, slot }) => `${item} on ${slot}`)),
    );
    const made = world.server.objects<Deployment>(resources.deployments).flatMap(({ metadata, spec }) => {
      const slot = spec?.template?.metadata?.annotations?.['agentfleet.dev/slot'];
      return slot === undefined || spec?.replicas === 0 ? [] : [{ own: metadata.labels ?? {}, slot }];
    });
    const running = world.server.objects(resources.pods).flatMap(({ metadata: { labels: own = {}, annotations = {} } }) => {
      const slot = annotations['agentfleet.dev/slot'];
      return slot === undefined ? [] : [{ own, slot }];
    });
    for (const { own, slot } of [...made, ...running]) {
      const what = `${own[labels.expert] ?? ''}.${own[labels.revision] ?? ''} on ${slot}`;
      if (own[labels.revision] !== undefined && !places.has(what)) world.checker.fault(`${what} is in no plan`);
    }
  });
}

/** Revisions of engines on GPUs. Their names differ from run to run, so that only promises are compared. */
export const canaries: readonly Scenario[] = [
  {
    name: 'a revision is tried beside what serves on its GPU, and serves',
    controllerSet: 'all',
    pool: { rollout: { strategy: 'Recreate', drainSeconds: 5 }, experts: [gen, specialist('py', 'dgx-1/gpu1')] },
    prepare: async (world) => {
      await publishGpus(world);
      guardRevisions(world);
      await serves(world, pools);
    },
    act: async (world) => {
      const [core = ''] = (pools(world)[0]?.status?.plan?.assignments ?? []).flatMap(({ item }) => (item.startsWith('gen.') ? [item] : []));
      world.history.onChange(() => {
        if (slotOf(world, core) !== 'dgx-1/gpu0') world.checker.fault('what serves has moved');
      });
      const next = { ...specialist('py', 'dgx-1/gpu1'), domains: ['python'] };
      await patchPool(world, { experts: [gen, next] });
      await world.until('it serves', () => poolRollout(world)?.reason === 'Promoted');
      const specialists = (): number =>
        (pools(world)[0]?.status?.plan?.assignments ?? []).filter(({ item }) => item.startsWith('py.')).length;
      await world.until('the old one has left', () => specialists() === 1);
    },
    ends: (world) => {
      const { plan } = pools(world)[0]?.status ?? {};
      expect(poolRollout(world)).toMatchObject({ phase: 'Idle', reason: 'Promoted' });
      expect(plan?.assignments.map(({ slot, admitted }) => [slot, admitted])).toEqual([
        ['dgx-1/gpu0', true],
        ['dgx-1/gpu1', true],
      ]);
    },
  },
  {
    name: 'a pool whose engine fills its GPU gets a rollout, and loses it again',
    controllerSet: 'all',
    pool: { experts: [gen] },
    prepare: async (world) => {
      await publishGpus(world);
      guardRevisions(world);
      await world.until('it serves', () => isReady(pools(world)[0]));
    },
    act: async (world) => {
      await patchPool(world, await ruled(world.transport, 'coding', { rollout: { strategy: 'Recreate', drainSeconds: 5 } }));
      await serves(world, pools);
      await patchPool(world, { rolloutPolicyRef: null });
      await world.until('it serves as before', () => slotOf(world, 'gen') !== undefined && isReady(pools(world)[0]));
    },
    ends: (world) => {
      const { rollout, plan } = pools(world)[0]?.status ?? {};
      expect(rollout).toBeUndefined();
      expect(plan?.assignments.map(({ item, slot, admitted }) => [item, slot, admitted])).toEqual([['gen', 'dgx-1/gpu0', true]]);
    },
  },
];
