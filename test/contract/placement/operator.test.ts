// The example of the hybrid agent on four A100, from its YAML to pods that the scheduler of Kubernetes has bound.
import { findCondition } from '@agentfleet/kube';
import type { Condition, EnergyModel, ExpertPool, PlanStatus } from '@agentfleet/protocol/api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { divided } from '../../../operator/src/placement/testing/slices.ts';
import { resources } from '../../../operator/src/runtime/resources.ts';
import { connect, enabled, install, until } from '../api/server.ts';
import { a100, GpuNode } from './gpuNode.ts';
import { PlacementStage } from './stage.ts';

const uuids = ['GPU-7a', 'GPU-1c', 'GPU-f0', 'GPU-3d'];
const gib = 2 ** 30;
const engine = { type: 'Synth' };

const said = ({ status }: ExpertPool | EnergyModel): Condition | undefined => findCondition(status?.conditions, 'PlacementFeasible');
/** Engines of a pool with a rollout are distinguished by a hash. */
const nameOf = (item: string): string => item.replace(/\.[0-9a-f]{8}$/, '');
const slots = (plan: PlanStatus | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries((plan?.assignments ?? []).map(({ item, slot }) => [nameOf(item), slot.slice(slot.lastIndexOf('/') + 1)]));

describe.runIf(enabled)('the operator puts engines on four GPUs', { timeout: 120_000 }, () => {
  let gpus: GpuNode;
  let stage: PlacementStage;

  beforeAll(async () => {
    const server = await connect();
    await install(server);
    gpus = await GpuNode.start(server);
    await gpus.beat();
    await gpus.publish([2, 0, 3, 1].map((index) => a100(index, uuids[index] ?? '')));
    stage = await PlacementStage.start(gpus);
  });
  afterAll(async () => {
    await stage.close();
    await gpus.close();
  });

  const expert = (name: string, role: string, budget: string, slot: string): Readonly<Record<string, unknown>> => ({
    name,
    role,
    engine,
    resources: { slot: `${gpus.node}/${slot}`, memory: { budget } },
  });
  const refusal = async (name: string): Promise<Condition | undefined> => {
    await stage.until(`${name} is refused`, async () => said(await stage.pool(name))?.status === 'False');
    expect((await stage.deployments()).filter(({ metadata }) => metadata.name.startsWith(`${name}-expert`))).toEqual([]);
    return said(await stage.pool(name));
  };

  it('each engine gets the very GPU that the example names, and tenants of one start one after another', async () => {
    const began = performance.now();
    await stage.createFleet({ strategy: 'Recreate', drainSeconds: 5 });
    const bound = async (): Promise<number> => (await stage.pods()).filter(({ spec }) => spec?.nodeName === gpus.node).length;
    const plans = async (): Promise<boolean> =>
      said(await stage.pool('hybrid'))?.status === 'True' && said(await stage.model('ebm'))?.status === 'True';
    await stage.until('all is planned', plans);
    await stage.until('nine engines are bound', async () => (await bound()) === 9);
    console.log(`examples/a100x4.yaml: ${(performance.now() - began).toFixed(0)} ms from YAML to nine engines bound, one after another`);
    const { plan } = (await stage.pool('hybrid')).status ?? {};
    expect(slots(plan)).toEqual({
      'g-gen': 'gpu0',
      'e-py': 'gpu1',
      'e-js': 'gpu1',
      'e-sh': 'gpu1',
      'e-edit': 'gpu1',
      hrm: 'gpu3',
      embedder: 'gpu3',
      tpc: 'gpu3',
    });
    expect(plan).toMatchObject({ mode: 'DRA' });
    console.log(said(await stage.pool('hybrid'))?.message);
    const all = [...(plan?.assignments ?? []), ...((await stage.model('ebm')).status?.plan?.assignments ?? [])];
    for (const { slot, claim = '', uuid } of all) {
      const { status } = await gpus.claim(claim);
      const device = `gpu-${3 - Number(slot.at(-1))}`;
      expect(status?.allocation?.devices?.results?.map((result) => result.device)).toEqual([device]);
      expect(uuid).toBe(uuids[Number(slot.at(-1))]);
      expect(status?.reservedFor).toHaveLength(all.filter((other) => other.claim === claim).length);
    }
    expect((await stage.book()).data?.['bindings']).toContain(`${gpus.node}/gpu0 GPU-7a 0000:00:00.0`);
  });

  it('another operator finds all in place: no template changes and no pod is replaced', async () => {
    const before = (await stage.deployments()).map(({ metadata }) => `${metadata.name} ${metadata.generation ?? 0}`).sort();
    await stage.stopOperator();
    await stage.startOperator();
    const [from] = [stage.writes.length];
    // A new pool shows that the new operator has checked everything.
    await stage.createPool('later', [expert('gen', 'Generalist', '1Gi', 'gpu3')]);
    await stage.until('it is placed', async () => said(await stage.pool('later'))?.status === 'True');
    expect((await stage.deployments()).map(({ metadata }) => `${metadata.name} ${metadata.generation ?? 0}`).sort()).toEqual(
      expect.arrayContaining(before),
    );
    expect(stage.writes.slice(from).filter((write) => write.startsWith('DELETE'))).toEqual([]);
    await stage.client(resources.expertPools).delete({ namespace: gpus.namespace, name: 'later' });
  });

  it('a fifth tenant is refused with the shortage in bytes, and nothing moves', async () => {
    const { plan } = (await stage.pool('hybrid')).status ?? {};
    await stage.createPool('fifth', [expert('gen', 'Generalist', '9Gi', 'gpu1')]);
    expect(await refusal('fifth')).toMatchObject({ reason: 'NotEnoughMemory' });
    const [short] = (await stage.pool('fifth')).status?.plan?.rejected ?? [];
    expect(short).toMatchObject({
      item: 'gen',
      slot: `${gpus.node}/gpu1`,
      reason: 'NotEnoughMemory',
      shortByBytes: 4 * 8500 * 2 ** 20 + 9 * gib - Math.floor(39.5 * gib * 0.92),
    });
    console.log(said(await stage.pool('fifth'))?.message);
    expect((await stage.pool('hybrid')).status?.plan).toEqual(plan);
  });

  it('four specialists of 7B in 16 bit are refused before a pod exists', async () => {
    const four = ['py', 'js', 'sh', 'edit'].map((name) => expert(name, 'Specialist', '17Gi', 'gpu2'));
    await stage.createPool('big', [{ name: 'gen', role: 'Generalist', engine }, ...four]);
    await stage.until('it is refused', async () => said(await stage.pool('big'))?.status === 'False');
    const { plan } = (await stage.pool('big')).status ?? {};
    expect(plan?.assignments).toEqual([]);
    const short = plan?.rejected?.filter(({ reason }) => reason === 'NotEnoughMemory') ?? [];
    expect(short.length).toBeGreaterThan(1);
    // One of them would fit beside the verifier; each further one needs this much more.
    const lack = (5 + 2 * 17) * gib - Math.floor(39.5 * gib * 0.92);
    expect(short.map(({ shortByBytes }) => shortByBytes)).toEqual(short.map(() => lack));
  });

  it('a canary gets a place beside the others, and serves without being moved or restarted', async () => {
    const before = (await stage.pool('hybrid')).status;
    await stage.until('a revision serves', async () => (await stage.pool('hybrid')).status?.rollout?.stable !== undefined);
    await stage.changeExpert('hybrid', 'e-py', { domains: ['python', 'notebooks'] });
    const known = new Set(before?.plan?.assignments.map(({ item }) => item));
    const canaryOf = (plan: PlanStatus | undefined) => plan?.assignments.find(({ item }) => !known.has(item));
    await stage.until('it has a place', async () => canaryOf((await stage.pool('hybrid')).status?.plan)?.admitted === true);
    const { plan } = (await stage.pool('hybrid')).status ?? {};
    const place = canaryOf(plan);
    expect(place?.slot).toMatch(/\/gpu[23]$/); // beside its elder the four specialists leave no room
    expect(plan?.assignments).toEqual(expect.arrayContaining(before?.plan?.assignments ?? []));
    await stage.until(
      'it serves',
      async () => (await stage.pool('hybrid')).status?.conditions?.some(({ reason }) => reason === 'Promoted') === true,
    );
    const after = (await stage.pool('hybrid')).status;
    expect(after?.plan?.assignments).toContainEqual(place);
    const [deployment] = (await stage.deployments()).filter(
      ({ metadata }) => metadata.labels?.['agentfleet.dev/revision'] === place?.item.slice(place.item.lastIndexOf('.') + 1),
    );
    // It may start later than it is made; another template would be another revision of its Deployment.
    expect(deployment?.metadata.annotations?.['deployment.kubernetes.io/revision']).toBe('1');
    expect(said(await stage.pool('hybrid'))).toMatchObject({ status: 'True' });
  });

  it('a canary that fits nowhere is refused with the shortage in bytes, and serving experts stay', async () => {
    const memory = { budget: '38Gi' };
    await stage.changeExpert('hybrid', 'e-js', { resources: { slot: `${gpus.node}/gpu1`, memory } });
    const word = async () => findCondition((await stage.pool('hybrid')).status?.conditions, 'RolloutHealthy');
    await stage.until('it is reported', async () => (await word())?.reason === 'NoPlace');
    const reported = await word();
    expect(reported).toMatchObject({ status: 'False' });
    expect(reported?.message).toMatch(/e-js\.[0-9a-f]{8}: \S+\/gpu\d lacks \d+ bytes/);
    console.log(reported?.message);
    expect(said(await stage.pool('hybrid'))).toMatchObject({ status: 'True' });
    expect(slots((await stage.pool('hybrid')).status?.plan)['e-js']).toBe('gpu1');
  });

  it('a slot that does not exist, and one whose tenant does not share', async () => {
    await stage.createPool('nowhere', [expert('gen', 'Generalist', '1Gi', 'gpu9')]);
    expect(await refusal('nowhere')).toMatchObject({ reason: 'UnknownSlot' });
    await stage.createPool('beside', [expert('gen', 'Generalist', '1Gi', 'gpu0')]);
    expect(await refusal('beside')).toMatchObject({ reason: 'Exclusive' });
  });

  it('a board in the place of another one waits for a human, and then its engine gets it', async () => {
    const [before] = (await stage.model('ebm')).status?.plan?.assignments ?? [];
    await gpus.publish([0, 1, 2, 3].map((index) => a100(index, index === 2 ? 'GPU-new' : (uuids[index] ?? ''))));
    await stage.until('it is reported', async () => said(await stage.model('ebm'))?.reason === 'SlotRebound');
    console.log(said(await stage.model('ebm'))?.message);
    await stage.annotateBook({ 'agentfleet.dev/approve-slot': `${gpus.node}/gpu2=GPU-new` });
    await stage.until('it is placed anew', async () => (await stage.model('ebm')).status?.plan?.assignments[0]?.uuid === 'GPU-new');
    const [after] = (await stage.model('ebm')).status?.plan?.assignments ?? [];
    expect(after?.claim).not.toBe(before?.claim);
    await stage.until(
      'its pod sits on the new board',
      async () => ((await gpus.claim(after?.claim ?? '')).status?.reservedFor ?? []).length === 1,
    );
    await stage.until('the old claim is gone', async () => (await gpus.claim(before?.claim ?? '')).metadata.name === undefined);
  });

  it('a taint is reported with its cure, and pinned tenants stay', async () => {
    const taints = [{ key: 'gpu.nvidia.com/xid', value: '79', effect: 'NoSchedule' as const }];
    await gpus.publish(
      [0, 1, 2, 3].map((index) => ({ ...a100(index, index === 2 ? 'GPU-new' : (uuids[index] ?? '')), ...(index === 0 ? { taints } : {}) })),
    );
    await stage.until('it is reported', async () => said(await stage.pool('hybrid'))?.reason === 'SlotTainted');
    expect(slots((await stage.pool('hybrid')).status?.plan)['g-gen']).toBe('gpu0');
  });

  it('an acknowledged taint excludes no tenant, also for the scheduler', async () => {
    const reported = said(await stage.pool('hybrid'))?.message ?? '';
    console.log(reported);
    const [, what = ''] = /acknowledge-taint=([^)]+)\)/.exec(reported) ?? [];
    expect(what).toMatch(/gpu0=gpu\.nvidia\.com\/xid@20\d\d-/);
    const core = async () => (await stage.pool('hybrid')).status?.plan?.assignments.find(({ item }) => nameOf(item) === 'g-gen');
    const before = await core();
    await stage.annotateBook({ 'agentfleet.dev/acknowledge-taint': what });
    await stage.until('it has another claim', async () => (await core())?.claim !== before?.claim && (await core())?.admitted === true);
    const { claim = '' } = (await core()) ?? {};
    await stage.until('its pod has the tainted device', async () => ((await gpus.claim(claim)).status?.reservedFor ?? []).length === 1);
    const [result] = (await gpus.claim(claim)).status?.allocation?.devices?.results ?? [];
    expect(result?.device).toBe('gpu-3');
    expect(said(await stage.pool('hybrid'))).toMatchObject({ status: 'True' });
  });

  it('claims go with the last tenant', async () => {
    for (const name of ['hybrid', 'fifth', 'big', 'nowhere', 'beside'])
      await stage.client(resources.expertPools).delete({ namespace: gpus.namespace, name });
    await stage.client(resources.energyModels).delete({ namespace: gpus.namespace, name: 'ebm' });
    await stage.until(
      'nothing is left',
      async () => (await stage.client(resources.resourceClaims).list({ namespace: gpus.namespace })).length === 0,
    );
    await until('no Deployment is left', async () => (await stage.deployments()).length === 0);
  });

  it('engines of a divided board get their exact slices, and a line of data.sharing reaches the claim and no running engine', async () => {
    const slices = divided(
      3,
      [
        { profile: '3g.20gb', at: 4, gi: 2 },
        { profile: '2g.10gb', at: 0, gi: 3 },
      ],
      'GPU-3d',
    );
    await gpus.publish([...[0, 1].map((index) => a100(index, uuids[index] ?? '')), ...slices]);
    const shared = `${gpus.node}/gpu3-2g.10gb-0`;
    await stage.writeBook({ sharing: `${shared} MPS 40\n${gpus.node}/gpu9 MPS 40\n` });
    await stage.createPool('cut', [
      expert('gen', 'Generalist', '15Gi', 'gpu3-3g.20gb-0'),
      expert('js', 'Specialist', '4Gi', 'gpu3-2g.10gb-0'),
      expert('py', 'Specialist', '4Gi', 'gpu3-2g.10gb-0'),
    ]);
    const bound = async () => (await stage.pods()).filter(({ spec }) => spec?.nodeName === gpus.node).map(({ metadata }) => metadata.uid);
    await stage.until('three engines are bound', async () => (await bound()).length === 3);
    const { plan } = (await stage.pool('cut')).status ?? {};
    for (const { slot, claim = '' } of plan?.assignments ?? []) {
      const devices = (await gpus.claim(claim)).status?.allocation?.devices;
      const [slice] = slices.filter(({ attributes }) => slot.includes(attributes?.['profile']?.string ?? '?'));
      expect(devices?.results?.map(({ device }) => device)).toEqual([slice?.name]);
      const mps = { strategy: 'MPS', mpsConfig: { defaultActiveThreadPercentage: 40 } };
      expect(devices?.config?.map(({ opaque }) => opaque?.parameters)).toEqual(
        slot === shared ? [{ apiVersion: 'resource.nvidia.com/v1beta1', kind: 'MigDeviceConfig', sharing: mps }] : undefined,
      );
    }
    const word = async () => findCondition((await stage.pool('cut')).status?.conditions, 'PlacementSharing');
    await stage.until('it is reported', async () => (await word())?.reason === 'Applied');
    expect(await word()).toMatchObject({ status: 'True', message: `${shared}: MPS 40` });
    expect((await stage.book()).data?.['problems']).toMatch(/data\.sharing of \S+\/gpu9 has no effect: there is no slot of this name/);
    const before = [await bound(), (await stage.pool('cut')).status?.plan];
    await stage.writeBook({ sharing: `${shared} MPS 50\n` });
    await stage.until('it is reported', async () => (await word())?.reason === 'NextClaim');
    console.log((await word())?.message);
    expect([await bound(), (await stage.pool('cut')).status?.plan]).toEqual(before);
    // On a person's request they start again: the slice is free for the next claim when the last pod of the old one is
    // gone.
    await stage.annotateBook({ 'agentfleet.dev/apply-sharing': `${shared}=MPS 50` });
    const claims = async () => ((await stage.pool('cut')).status?.plan?.assignments ?? []).map(({ claim = '' }) => claim);
    await stage.until('they have the next claim', async () => (await claims()).filter((name) => name.endsWith('-mps-50')).length === 2);
    const [next = ''] = (await claims()).filter((name) => name.endsWith('-mps-50'));
    await stage.until('both sit on it', async () => (await gpus.claim(next)).status?.reservedFor?.length === 2);
    expect((await word())?.message).toBe(`${shared}: MPS 50`);
    await stage.client(resources.expertPools).delete({ namespace: gpus.namespace, name: 'cut' });
    await stage.until('no Deployment is left', async () => (await stage.deployments()).length === 0);
  });
});
