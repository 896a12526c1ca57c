// Engines on the GPUs of a node, placed by our solver and verified by the real scheduler of Kubernetes.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  bindSlots,
  gibibyte,
  gpusOf,
  podPlacementOf,
  renderShareClaim,
  renderSlotClaim,
  solve,
  usableBytes,
  type InventorySlot,
  type Item,
  type Solution,
} from '../../../operator/src/placement/index.ts';
import { divided } from '../../../operator/src/placement/testing/slices.ts';
import { connect, enabled } from '../api/server.ts';
import { a100, driver, GpuNode } from './gpuNode.ts';

const uuids = ['GPU-7a', 'GPU-1c', 'GPU-f0', 'GPU-3d'];

/** The fleet of the hybrid agent: a core with its draft, four specialists in 4 bit, verifier, planner, embedder, policy. */
function fleet(node: string): readonly Item[] {
  const specialist = (name: string): Item => ({
    name,
    bytes: 8.5 * gibibyte,
    latency: 'Decode',
    rank: 'Specialist',
    slots: [`${node}/gpu1`],
  });
  const tiny = (name: string, gib: number): Item => ({
    name,
    bytes: gib * gibibyte,
    latency: 'Tiny',
    rank: 'Planner',
    slots: [`${node}/gpu3`],
  });
  return [
    { name: 'g-gen', bytes: 34 * gibibyte, latency: 'Decode', rank: 'Core', slots: [`${node}/gpu0`], exclusive: true },
    ...['e-py', 'e-js', 'e-sh', 'e-edit'].map(specialist),
    { name: 'ebm', bytes: 5 * gibibyte, latency: 'Score', rank: 'Verifier', slots: [`${node}/gpu2`] },
    tiny('hrm', 1.2),
    tiny('embedder', 2.2),
    tiny('tpc', 1.3),
  ];
}

describe.runIf(enabled)('engines on four GPUs', () => {
  let gpus: GpuNode;
  let slots: readonly InventorySlot[];

  beforeAll(async () => {
    gpus = await GpuNode.start(await connect());
    await gpus.publish([2, 0, 3, 1].map((index) => a100(index, uuids[index] ?? '')));
    slots = bindSlots(gpusOf(await gpus.slices(), driver).gpus, []);
  });
  afterAll(() => gpus.close());

  const options = (): { namespace: string; deviceClass: string; driver: string } => ({
    namespace: gpus.namespace,
    deviceClass: gpus.deviceClass,
    driver,
  });
  const place = (items: readonly Item[]): Solution =>
    solve({
      slots: slots.map(({ slot, node, gpu, state }) => ({
        name: slot,
        node,
        usableBytes: usableBytes(gpu?.memoryBytes ?? 0),
        healthy: state === 'Ready',
      })),
      links: [],
      items,
      traffic: [],
      current: new Map(),
      nvlink: 'Preferred',
    });
  const slotOf = (name: string): InventorySlot => slots.find(({ slot }) => slot === name)!;
  const createPod = async (name: string, slot: string): Promise<void> => {
    const { resourceClaims, claims, limits } = podPlacementOf('DRA', [{ name: slot, node: gpus.node, uuid: undefined }]);
    await gpus.createPod(name, { resourceClaims }, { claims, limits });
  };

  it('each engine gets the very GPU that the plan names, and tenants of a slot share one', async () => {
    const plan = place(fleet(gpus.node));
    expect(plan).toMatchObject({ feasible: true, proved: true });
    const used = new Set(plan.assignments.flatMap((assignment) => assignment.slots));
    const decided = performance.now();
    for (const slot of used) await gpus.createClaim(renderSlotClaim(slotOf(slot), options()));
    for (const { item, slots: places } of plan.assignments) await createPod(item, places[0] ?? '');
    for (const { item } of plan.assignments) await gpus.untilBound(item);
    console.log(
      `${plan.assignments.length} engines on ${used.size} GPUs: ${(performance.now() - decided).toFixed(0)} ms from the plan to bound pods`,
    );
    for (const name of used) {
      const { status } = await gpus.claim(renderSlotClaim(slotOf(name), options()).metadata.name);
      expect(status?.allocation?.devices?.results?.map(({ device }) => device)).toEqual([slotOf(name).gpu?.device]);
      const tenants = plan.assignments.filter((assignment) => assignment.slots.includes(name)).map(({ item }) => item);
      expect(status?.reservedFor?.map((consumer) => consumer.name).sort()).toEqual(tenants.sort());
    }
  });

  it('a pod that replaces another one gets the same GPU from the same claim', async () => {
    await createPod('g-gen-next', `${gpus.node}/gpu0`);
    await gpus.untilBound('g-gen-next');
    const { status } = await gpus.claim(`slot-${gpus.node}-gpu0`);
    expect(status?.reservedFor?.map(({ name }) => name).sort()).toEqual(['g-gen', 'g-gen-next']);
  });

  it('a uuid that no GPU has is not placed, and the scheduler reports it', async () => {
    const gone = { slot: `${gpus.node}/gpu9`, uuid: 'GPU-none', pciBusID: undefined };
    await gpus.createClaim(renderSlotClaim(gone, options()));
    await createPod('nowhere', gone.slot);
    expect(await gpus.refusal('nowhere')).toMatch(/cannot allocate all claims/);
    expect((await gpus.pod('nowhere')).spec.nodeName).toBeUndefined();
  });

  it('four specialists in 16 bit are refused with the shortage, before any pod is made', () => {
    const items = fleet(gpus.node).map((item) => (item.rank === 'Specialist' ? { ...item, bytes: 17 * gibibyte } : item));
    const plan = place(items);
    expect(plan.unplaced).toHaveLength(2);
    const short = plan.rejections.filter(({ reason }) => reason === 'NotEnoughMemory');
    expect(short.every(({ shortByBytes }) => (shortByBytes ?? 0) > 14 * gibibyte)).toBe(true);
  });

  it('a taint takes a slot out of use, and another board in its place waits for a human', async () => {
    const taints = [{ key: 'gpu.nvidia.com/xid', value: '79', effect: 'NoExecute' as const }];
    await gpus.publish([0, 1, 2, 3].map((index) => ({ ...a100(index, uuids[index] ?? ''), ...(index === 2 ? { taints } : {}) })));
    const tainted = bindSlots(gpusOf(await gpus.slices(), driver).gpus, slots);
    expect(tainted.map(({ state }) => state)).toEqual(['Ready', 'Ready', 'Tainted', 'Ready']);
    await gpus.publish([0, 1, 2, 3].map((index) => a100(index, index === 2 ? 'GPU-new' : (uuids[index] ?? ''))));
    const swapped = bindSlots(gpusOf(await gpus.slices(), driver).gpus, slots);
    expect(swapped[2]).toMatchObject({ state: 'Rebound', uuid: 'GPU-f0' });
  });
});

describe.runIf(enabled)('MIG slices of a board', () => {
  let gpus: GpuNode;
  let slots: readonly InventorySlot[];
  const slices = divided(3, [
    { profile: '3g.20gb', at: 4, gi: 2 },
    { profile: '2g.10gb', at: 0, gi: 3 },
    { profile: '2g.10gb', at: 2, gi: 5 },
  ]);

  beforeAll(async () => {
    gpus = await GpuNode.start(await connect());
    await gpus.publish([...[0, 1, 2].map((index) => a100(index, uuids[index] ?? '')), ...slices]);
    slots = bindSlots(gpusOf(await gpus.slices(), driver).gpus, []);
  });
  afterAll(() => gpus.close());

  const options = () => ({ namespace: gpus.namespace, deviceClass: gpus.migDeviceClass, driver });
  const slotOf = (slice: string): InventorySlot => slots.find(({ slot }) => slot === `${gpus.node}/gpu3-${slice}`)!;

  it('each tenant gets its exact slice, and the sharing is in the configuration that the driver of the node reads', async () => {
    const sharing = { strategy: 'MPS', percentage: 40, limitMiB: 4096 } as const;
    for (const [name, slice, profile] of [
      ['gen', '3g.20gb-0', '3g.20gb'],
      ['js', '2g.10gb-1', '2g.10gb'],
    ] as const) {
      const claim = renderSlotClaim(slotOf(slice), { ...options(), profile, ...(name === 'js' ? { sharing } : {}) });
      await gpus.createClaim(claim);
      await gpus.createPod(
        name,
        { resourceClaims: [{ name: 'gpu', resourceClaimName: claim.metadata.name }] },
        { claims: [{ name: 'gpu', request: 'gpu' }] },
      );
      await gpus.untilBound(name);
      const { status } = await gpus.claim(claim.metadata.name);
      expect(status?.allocation?.devices?.results?.map(({ device }) => device)).toEqual([slotOf(slice).gpu?.device]);
      expect(status?.allocation?.devices?.config?.map(({ source, opaque }) => [source, opaque])).toEqual(
        name === 'gen'
          ? undefined
          : [
              [
                'FromClaim',
                {
                  driver,
                  parameters: {
                    apiVersion: 'resource.nvidia.com/v1beta1',
                    kind: 'MigDeviceConfig',
                    sharing: {
                      strategy: 'MPS',
                      mpsConfig: { defaultActiveThreadPercentage: 40, defaultPinnedDeviceMemoryLimit: '4096Mi' },
                    },
                  },
                },
              ],
            ],
      );
    }
  });

  it('a slice that has the uuid and another size is not allocated', async () => {
    const claim = renderSlotClaim({ ...slotOf('2g.10gb-0'), slot: `${gpus.node}/gpu3-1g.5gb-0` }, { ...options(), profile: '1g.5gb' });
    await gpus.createClaim(claim);
    await gpus.createPod(
      'other',
      { resourceClaims: [{ name: 'gpu', resourceClaimName: claim.metadata.name }] },
      { claims: [{ name: 'gpu' }] },
    );
    expect(await gpus.refusal('other')).toMatch(/cannot allocate all claims/);
  });
});

describe.runIf(enabled)('shares of one GPU by bytes', () => {
  let gpus: GpuNode;

  beforeAll(async () => {
    gpus = await GpuNode.start(await connect());
    const requestPolicy = { default: '40Gi', validRange: { min: '1Mi', max: '40Gi', step: '1Mi' } };
    const shared = { allowMultipleAllocations: true, capacity: { memory: { value: '40Gi', requestPolicy } } };
    await gpus.publish([{ ...a100(0, 'GPU-7a'), ...shared }]);
  });
  afterAll(() => gpus.close());

  it('the scheduler keeps the books: four tenants fit, the fifth does not', async () => {
    const [slot] = bindSlots(gpusOf(await gpus.slices(), driver).gpus, []);
    expect(slot?.gpu?.sharedByBytes).toBe(true);
    const options = { namespace: gpus.namespace, deviceClass: gpus.deviceClass, driver };
    const names = ['e-py', 'e-js', 'e-sh', 'e-edit', 'fifth'];
    for (const name of names) {
      const claim = renderShareClaim(slot!, options, name, 9 * gibibyte + 1);
      await gpus.createClaim(claim);
      const spec = { resourceClaims: [{ name: 'gpu', resourceClaimName: claim.metadata.name }] };
      await gpus.createPod(name, spec, { claims: [{ name: 'gpu' }] });
      if (name !== 'fifth') await gpus.untilBound(name);
    }
    expect(await gpus.refusal('fifth')).toMatch(/cannot allocate all claims/);
    const { status } = await gpus.claim(renderShareClaim(slot!, options, 'e-py', 1).metadata.name);
    const [result] = status?.allocation?.devices?.results ?? [];
    expect(result?.consumedCapacity).toEqual({ memory: '9217Mi' });
  });
});
