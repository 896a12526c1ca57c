import type { RolloutReport } from './report.ts';
import { createTransport, type Informer, ResourceClient, systemClock, type Transport } from '@agentfleet/kube';
import { startFakeServer, type FakeApiServer } from '@agentfleet/kube/testing';
import type { EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newPool } from '../controllers/agenttask/testing/objects.ts';
import { newModel } from '../controllers/energymodel/testing/models.ts';
import { type ConfigMap, resources } from '../runtime/resources.ts';
import { followRollout, type Followers, type Planned, type Revisions } from './follow.ts';
import { LedgerWriter, type LedgerPlace } from './ledger.ts';
import { Designs, type NamedPolicy } from './policy.ts';
import { modelLockedBy, poolLockedBy, RolloutLock, type Decider } from './arm.ts';
import { rolloutStatus } from './testing/status.ts';

const idle = rolloutStatus({ stable: 'aaaaaaaaaa' });
const loading: RolloutReport = { ...idle, phase: 'Loading', canary: 'bbbbbbbbbb', id: 'bbbbbbbbbb-1' };
const reconciling = [{ type: 'Reconciling', status: 'True', reason: 'x', message: '', lastTransitionTime: '' }] as const;

const named = { energyModelRef: { name: 'judge' } };
const own = { generation: 1 };
const model = (status: object): EnergyModel => {
  const made = newModel();
  return { ...made, metadata: { ...made.metadata, ...own }, status: { observedGeneration: 1, ...status } };
};
const pool = (status: object, spec: object = {}): ExpertPool => {
  const made = newPool({ ...named, ...spec });
  return {
    ...made,
    metadata: { ...made.metadata, ...own },
    status: { observedGeneration: 1, ...status },
  };
};

describe('a generator and its verifier never change together', () => {
  it.each([
    ['its model is tried', { rollout: loading }, 'EnergyModel judge'],
    ['the pods of its model are replaced', { conditions: reconciling }, 'EnergyModel judge'],
    ['nobody has looked at its model since it was changed', { observedGeneration: 0 }, 'EnergyModel judge'],
    ['its model rests', { rollout: idle }, undefined],
    ['its model is frozen', { rollout: { ...loading, phase: 'Frozen' } }, undefined],
  ] as const)('a pool: %s', (_, status, by) => {
    expect(poolLockedBy(model(status))).toBe(by);
  });

  it.each([
    ['a pool that names it is tried', [pool({ rollout: loading }, { rolloutPolicyRef: { name: 'careful' } })], 'ExpertPool coding'],
    ['the experts of one are replaced', [pool({ conditions: reconciling })], 'ExpertPool coding'],
    ['one that replaces its pods at once was changed', [pool({ observedGeneration: 0 })], 'ExpertPool coding'],
    [
      'one that has to ask first was changed',
      [pool({ observedGeneration: 0, rollout: idle }, { rolloutPolicyRef: { name: 'careful' } })],
      undefined,
    ],
    ['another pool is tried', [pool({ rollout: loading }, { energyModelRef: { name: 'other' } })], undefined],
    ['the second of two is tried', [pool({ rollout: idle }), pool({ rollout: loading })], 'ExpertPool coding'],
  ] as const)('a model: %s', (_, pools, by) => {
    expect(modelLockedBy('judge', pools)).toBe(by);
  });
});

describe('the lock', () => {
  let server: FakeApiServer;
  let transport: Transport;
  beforeAll(async () => {
    const kinds = [resources.expertPools, resources.energyModels].map((resource) => ({
      resource,
      statusSubresource: true,
      generation: true,
    }));
    server = await startFakeServer({ kinds });
    server.createNamespace('platform');
    transport = createTransport(server.config, { userAgent: 'test/1' });
    await new ResourceClient<ExpertPool>(transport, resources.expertPools).create(newPool(named));
    await new ResourceClient<EnergyModel>(transport, resources.energyModels).create(newModel());
  });
  afterAll(async () => {
    await transport.close();
    await server.close();
  });

  const { signal } = new AbortController();
  const name = { namespace: 'platform', name: 'coding' };
  const decider: Decider<RolloutReport> = {
    before: idle,
    lockedBy: undefined,
    decide: (by) => (by === undefined ? loading : { ...idle, reason: 'RolloutLocked', message: by }),
    act: (status) => Promise.resolve(status),
  };
  const write = async (
    resource: typeof resources.expertPools | typeof resources.energyModels,
    of: string,
    status: object,
  ): Promise<void> => {
    const client = new ResourceClient(transport, resource as typeof resources.expertPools);
    const { metadata } = await client.get({ ...name, name: of });
    await client.patch(
      metadata,
      { status: { observedGeneration: metadata.generation, ...status } as ExpertPool['status'] },
      { subresource: 'status' },
    );
  };

  it('lets one of both begin that want to at once, whatever their caches show', async () => {
    const lock = new RolloutLock(transport);
    await write(resources.expertPools, 'coding', { rollout: idle });
    await write(resources.energyModels, 'judge', { rollout: idle });
    // What both read before either had begun: the caches of one process.
    const [stalePool, staleModel] = [pool({ rollout: idle }), model({ rollout: idle })];
    const begins = (of: () => Promise<void>): Decider<string> => ({
      ...decider,
      act: async ({ phase }) => {
        if (phase === 'Loading') await of();
        return phase;
      },
    });
    const beginPool = begins(() => write(resources.expertPools, 'coding', { rollout: loading }));
    const beginModel = begins(() => write(resources.energyModels, 'judge', { rollout: loading }));
    const phases = await Promise.all([lock.ofPool(stalePool, beginPool, signal), lock.ofModel(staleModel, beginModel, signal)]);
    expect(phases).toEqual(['Loading', 'Idle']);
    await write(resources.expertPools, 'coding', { rollout: idle });
    const after = await lock.ofModel(staleModel, decider, signal);
    expect(after.phase).toBe('Loading');
  });

  it('is free for the next one also when a read fails, and asks nothing for one that does not begin', async () => {
    const broken = { ...transport, request: () => Promise.reject(new Error('no answer')) } as Transport;
    const lock = new RolloutLock(broken);
    await expect(lock.ofModel(model({}), decider, signal)).rejects.toThrow('no answer');
    const still = await lock.ofModel(model({}), { ...decider, lockedBy: 'ExpertPool coding' }, signal);
    expect(still.reason).toBe('RolloutLocked');
    const alone = await lock.ofPool(newPool(), decider, signal);
    expect(alone.phase).toBe('Loading');
    const failing = { ...decider, act: () => Promise.reject(new Error('not written')) };
    await expect(lock.ofPool(newPool(), failing, signal)).rejects.toThrow('not written');
    const waiting = lock.ofPool(newPool(), decider, AbortSignal.abort(new Error('stopped')));
    await expect(waiting).rejects.toThrow('stopped');
    await lock.ofPool(newPool(), decider, signal);
  });
  it('is not waited for by one that is stopped, which those behind it do not notice', async () => {
    const lock = new RolloutLock(transport);
    const { promise, resolve: release } = Promise.withResolvers<RolloutReport>();
    const held = lock.ofPool(newPool(), { ...decider, act: () => promise }, signal);
    const stop = new AbortController();
    const waiting = lock.ofPool(newPool(), decider, stop.signal);
    const behind = lock.ofPool(newPool(), decider, signal);
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    release(loading);
    await Promise.all([held, behind]);
  });

  it('is free for the next one where the book of a rollout is damaged, which its status names with a cure', async () => {
    const lock = new RolloutLock(transport);
    const damaged = {
      metadata: { name: 'coding-pool-rollout', namespace: 'platform', resourceVersion: '1' },
      data: { 'counts.json': '{oops' },
    };
    const books = new LedgerWriter(transport, { lister: { get: () => damaged } } as unknown as Informer<ConfigMap>);
    const trials = {
      golden: { look: () => ({ keep: [] }) },
      evidence: () => () => undefined,
      shadow: (place: LedgerPlace, { id = '' }: RolloutReport) => books.read(place, id),
      designs: new Designs(),
    };
    const none = { lister: { byIndex: () => [], get: () => undefined } };
    const context = { clock: systemClock, caches: { orders: none, tasks: none, energyModels: none } };
    const owner: ExpertPool = { ...newPool(), status: { rollout: idle } };
    const revisions = {
      desired: loading.canary,
      recorded: new Map([[idle.stable, 1]]),
      plan: () => ({ keep: [] }),
    };
    const act = (planned: Planned<{ keep: [] }>): Promise<Planned<{ keep: [] }>> => Promise.resolve(planned);
    const planned = await followRollout(
      { context, trials, lock } as unknown as Followers,
      { owner, policy: { spec: {} } as NamedPolicy, leaving: () => undefined, act },
      () => revisions as unknown as Revisions<{ keep: [] }>,
      signal,
    );
    expect(planned).toMatchObject({ lost: { phase: 'Idle', stable: idle.stable, reason: 'BookUnreadable' } });
    expect('lost' in planned && planned.lost.message).toMatch(
      /^ConfigMap platform\/coding-pool-rollout, .* damaged in key counts\.json; correct it, or delete it/,
    );
    await lock.ofPool(newPool(), decider, signal);
  });
});
