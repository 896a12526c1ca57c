import { findCondition } from '@agentfleet/kube';
import type { Condition } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { divided } from '../../placement/testing/slices.ts';
import { decidePlacement, type PlacementSnapshot } from './decide.ts';
import { readSharing, readBook } from './slots.ts';
import { box, device, gpuPool, onGpu, snapshot } from './testing/box.ts';
import { now, of, settle, conditionValue } from './testing/world.ts';

describe('lines of data.sharing', () => {
  test('say how a slot is shared', () => {
    const { rules, faults } = readSharing(
      '# ours\ndgx-1/gpu3 MPS 40\n  dgx-1/gpu2   MPS 25 8Gi\n\ndgx-1/gpu1 TimeSlicing Long\ndgx-1/gpu3-2g.10gb-0 MPS 100 5000M\n',
    );
    expect(faults).toEqual([]);
    expect([...rules]).toEqual([
      ['dgx-1/gpu3', { strategy: 'MPS', percentage: 40, limitMiB: undefined }],
      ['dgx-1/gpu2', { strategy: 'MPS', percentage: 25, limitMiB: 8192 }],
      ['dgx-1/gpu1', { strategy: 'TimeSlicing', interval: 'Long' }],
      ['dgx-1/gpu3-2g.10gb-0', { strategy: 'MPS', percentage: 100, limitMiB: 4768 }],
    ]);
  });

  test.each([
    ['gpu3 MPS 40', /gpu3 is no name of a slot: write <node>\/gpu0 MPS 40/],
    ['dgx-1/gpu3', /names no way to share/],
    ['dgx-1/gpu3 mps 40', /names no way to share/],
    ['dgx-1/gpu3 MPS', /a percentage from 1 to 100/],
    ['dgx-1/gpu3 MPS 0', /a percentage from 1 to 100/],
    ['dgx-1/gpu3 MPS 101', /a percentage from 1 to 100/],
    ['dgx-1/gpu3 MPS 40%', /a percentage from 1 to 100/],
    ['dgx-1/gpu3 MPS 40 lots', /lots is no amount of memory of 1Mi or more/],
    ['dgx-1/gpu3 MPS 40 1000', /1000 is no amount of memory of 1Mi or more/],
    ['dgx-1/gpu3 MPS 40 8Gi 9Gi', /says too much/],
    ['dgx-1/gpu3 TimeSlicing', /one of Default, Short, Medium, Long/],
    ['dgx-1/gpu3 TimeSlicing long', /one of Default, Short, Medium, Long/],
    ['dgx-1/gpu3 TimeSlicing Long 2', /one of Default, Short, Medium, Long/],
    ['dgx-1/gpu0 MPS 50\ndgx-1/gpu0 MPS 60', /data\.sharing line 3 .*the slot has a line already/],
  ])('%s is reported with the line and the cure', (line, message) => {
    const { faults } = readSharing(`\n${line}`);
    expect(faults).toHaveLength(1);
    expect(faults[0]?.message).toMatch(/^data\.sharing line [23] \(/);
    expect(faults[0]?.message).toMatch(message);
  });
});

describe('a slot with a line', () => {
  const pool = gpuPool('p', [onGpu('gen', 'Generalist', '9Gi', 'dgx-1/gpu3'), onGpu('js', 'Specialist', '9Gi', 'dgx-1/gpu3')]);
  const written = (world: PlacementSnapshot, sharing: string, apply = ''): PlacementSnapshot => {
    const { sharing: lines } = readBook({ metadata: { annotations: { 'agentfleet.dev/apply-sharing': apply } }, data: { sharing } });
    return { ...world, cluster: { ...world.cluster, book: { ...world.cluster.book, sharing: lines } } };
  };
  const reported = ({ pools }: PlacementSnapshot, name = 'p'): Condition | undefined =>
    findCondition(pools.find(({ metadata }) => metadata.name === name)?.status?.conditions, 'PlacementSharing');
  const claimsOf = ({ pools }: PlacementSnapshot): readonly string[] => [
    ...new Set(pools.flatMap(({ status }) => (status?.plan?.assignments ?? []).map(({ claim = '' }) => claim))),
  ];
  const plain = settle(snapshot({ pools: [pool] }));
  const mps = settle(written(snapshot({ pools: [pool] }), 'dgx-1/gpu3 MPS 40 12Gi'));

  test('has it in its claim, as the driver reads it', () => {
    expect(mps.claims[0]).toMatchObject({
      spec: {
        devices: {
          config: [
            {
              requests: ['gpu'],
              opaque: {
                driver: 'gpu.nvidia.com',
                parameters: {
                  apiVersion: 'resource.nvidia.com/v1beta1',
                  kind: 'GpuConfig',
                  sharing: { strategy: 'MPS', mpsConfig: { defaultActiveThreadPercentage: 40, defaultPinnedDeviceMemoryLimit: '12288Mi' } },
                },
              },
            },
          ],
        },
      },
    });
    expect(claimsOf(mps)).toHaveLength(1);
    expect(reported(mps)).toMatchObject({ status: 'True', reason: 'Applied', message: 'dgx-1/gpu3: MPS 40 12288Mi' });
    const sliced = settle(written(snapshot({ pools: [pool] }), 'dgx-1/gpu3 TimeSlicing Long'));
    expect(JSON.stringify(sliced.claims[0])).toContain('{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"Long"}}');
  });

  test('and one without have claims of other names, and nothing is reported where no line asked', () => {
    expect(claimsOf(mps)[0]).toBe(`${claimsOf(plain)[0]}-mps-40-12288mi`);
    expect(JSON.stringify(plain.claims[0])).not.toContain('config');
    expect(reported(plain)).toBeUndefined();
  });

  test.each([
    ['that is added', plain, 'dgx-1/gpu3 MPS 50', 'dgx-1/gpu3: MPS 50 (now as the driver does by default)'],
    ['that is changed', mps, 'dgx-1/gpu3 TimeSlicing Short', 'dgx-1/gpu3: TimeSlicing Short (now MPS 40 12288Mi)'],
    ['that is taken away', mps, '', 'dgx-1/gpu3: as the driver does by default (now MPS 40 12288Mi)'],
  ])('%s under tenants is reported and restarts no tenant', (_, before, line, message) => {
    const after = settle(written(before, line));
    expect(after.pools[0]?.status?.plan).toEqual(before.pools[0]?.status?.plan);
    expect(after.claims).toEqual(before.claims);
    expect(reported(after)).toMatchObject({ status: 'False', reason: 'NextClaim' });
    expect(reported(after)?.message).toContain(message);
    // Who comes beside them joins their claim: one GPU has one.
    const late = gpuPool('late', [onGpu('py', 'Generalist', '2Gi', 'dgx-1/gpu3')]);
    const joined = settle({ ...after, pools: [...after.pools, late] });
    expect(claimsOf(joined)).toEqual(claimsOf(before));
    expect(joined.claims[0]).toMatchObject({ spec: (before.claims[0] as unknown as { readonly spec: object }).spec });
    expect(joined.claims[0]?.metadata.ownerReferences).toHaveLength(2);
    expect(reported(joined, 'late')).toMatchObject({ reason: 'NextClaim' });
  });

  test('takes effect when the last tenant is gone and one comes back', () => {
    const gone = settle({ ...written(mps, 'dgx-1/gpu3 MPS 50'), pools: [] });
    expect(gone.claims).toEqual([]);
    const back = settle({ ...gone, pools: [pool] });
    expect(claimsOf(back)[0]).toMatch(/-mps-50$/);
    expect(reported(back)).toMatchObject({ status: 'True', message: 'dgx-1/gpu3: MPS 50' });
  });

  test.each([
    [plain, 'dgx-1/gpu3 MPS 50 12Gi', 'dgx-1/gpu3=MPS 50 12288Mi', '-mps-50-12288mi'],
    [mps, 'dgx-1/gpu3 TimeSlicing Short', 'dgx-1/gpu2=MPS 1, dgx-1/gpu3=TimeSlicing Short', '-timeslicing-short'],
    [mps, '', 'dgx-1/gpu3=none', ''],
  ])('starts its tenants anew for it when a person asks, with the annotation of the message (%#)', (before, line, apply, suffix) => {
    const waiting = settle(written(before, line));
    expect(reported(waiting)?.message).toContain(`agentfleet.dev/apply-sharing=${apply.split(', ').at(-1)}`);
    const decision = decidePlacement(written(waiting, line, apply), now);
    // All of them at once, then one after another.
    const seats = of(decision, 'p')?.plan?.assignments ?? [];
    expect(seats.map(({ admitted }) => admitted)).toEqual([true, false]);
    const after = settle(written(waiting, line, apply));
    expect(claimsOf(after)).toEqual([`${claimsOf(plain)[0]}${suffix}`]);
    expect(after.claims.map(({ metadata }) => metadata.name)).toEqual(claimsOf(after));
    expect(reported(after)?.reason).toBe(suffix === '' ? undefined : 'Applied');
    // The acknowledgement was for this line: the next one restarts no tenant.
    expect(claimsOf(settle(written(after, 'dgx-1/gpu3 MPS 7', apply)))).toEqual(claimsOf(after));
  });

  test('takes effect with a board that a human approves, as its tenants start anew for that', () => {
    const swapped = [0, 1, 2, 3].map((index) => (index === 3 ? device(3, {}, 'GPU-new') : device(index)));
    const book = { ...mps.cluster.book, approved: new Map([['dgx-1/gpu3', 'GPU-new']]) };
    const after = settle(written({ ...mps, cluster: { ...mps.cluster, book, slices: box(swapped).slices } }, 'dgx-1/gpu3 MPS 60'));
    expect(claimsOf(after)[0]).toMatch(/-mps-60$/);
    expect(after.claims).toHaveLength(1);
  });

  test('whose limit is below what an engine has there is reported', () => {
    const tight = settle(written(snapshot({ pools: [pool] }), 'dgx-1/gpu3 MPS 40 8Gi'));
    expect(reported(tight)).toMatchObject({ status: 'False', reason: 'LimitTooLow' });
    expect(reported(tight)?.message).toMatch(/gen has 9663676416 bytes on dgx-1\/gpu3 and may take 8192Mi; js has .*: raise the limit/);
  });

  test('that is empty, or that has no effect, is reported to its tenants and in the ConfigMap, and the slot is shared as ever', () => {
    const bad = written(snapshot({ pools: [pool] }), 'dgx-1/gpu3 MPS 400\ndgx-1/gpu9 MPS 40');
    expect(decidePlacement(bad, now).problems).toMatch(
      /^data\.sharing line 1 \(dgx-1\/gpu3 MPS 400\): MPS needs.*\ndata\.sharing of dgx-1\/gpu9 has no effect: there is no slot of this name.*\n$/,
    );
    const rest = settle(bad);
    expect(reported(rest)).toMatchObject({ status: 'False', reason: 'NoEffect' });
    expect(reported(rest)?.message).not.toContain('gpu9');
    expect(claimsOf(rest)).toEqual(claimsOf(plain));
    expect(decidePlacement(written(rest, ''), now).problems).toBe('');
  });

  const slices = divided(3, [
    { profile: '3g.20gb', at: 4, gi: 2 },
    { profile: '2g.10gb', at: 0, gi: 3 },
  ]);
  const classes = ['gpu.nvidia.com', 'mig.nvidia.com'].map((name) => ({ metadata: { name } }));
  const cut = box([device(0), ...slices], { deviceClasses: classes });
  const requestPolicy = { validRange: { min: '1Mi' } };
  const byBytes = device(3, { allowMultipleAllocations: true, capacity: { memory: { value: '40Gi', requestPolicy } } });
  const labels = { 'nvidia.com/gpu.memory': '40960' };
  const counted = { metadata: { name: 'dgx-1', labels }, status: { allocatable: { 'nvidia.com/gpu': '4' } } };
  const named = box([], { slices: [], resourceApi: false, nodes: [counted] });

  test.each([
    ['no driver', named, 'dgx-1/gpu3', 'MPS 40', /no DRA driver publishes it, and only claims can say it/],
    ['shares by bytes', box([byBytes]), 'dgx-1/gpu0', 'MPS 40', /shares it by bytes, with a claim for each engine/],
    ['a divided board', cut, 'dgx-1/gpu1', 'MPS 40', /the board is divided into MIG slices; name one of them/],
    ['time slices of a MIG slice', cut, 'dgx-1/gpu1-3g.20gb-0', 'TimeSlicing Long', /a MIG slice has no time slices to set; MPS can be/],
  ])('has no effect: %s', (_, cluster, slot, line, message) => {
    const world = written(snapshot({ cluster }), `${slot} ${line}`);
    expect(decidePlacement(world, now).problems).toMatch(message);
    expect(decidePlacement(world, now).problems).toContain(`data.sharing of ${slot} has no effect`);
  });

  test('of another driver than NVIDIA’s has no effect', () => {
    const driver = { driver: 'gpu.example.com', deviceClass: 'gpu.example.com' };
    const published = box([device(0)], { driver }).slices.map((one) => ({ ...one, spec: { ...one.spec, driver: driver.driver } }));
    const world = written(snapshot({ cluster: box([], { driver, slices: published }) }), 'dgx-1/gpu0 MPS 40');
    expect(decidePlacement(world, now).problems).toMatch(/the driver gpu.example.com does not know it, only gpu.nvidia.com does/);
  });

  test('that is a MIG slice has it in the words for slices', () => {
    const js = gpuPool('p', [onGpu('js', 'Generalist', '9Gi', 'dgx-1/gpu1-3g.20gb-0')]);
    const rest = settle(written(snapshot({ pools: [js], cluster: cut }), 'dgx-1/gpu1-3g.20gb-0 MPS 40'));
    expect(rest.claims[0]).toMatchObject({
      spec: { devices: { config: [{ opaque: { parameters: { kind: 'MigDeviceConfig', sharing: { strategy: 'MPS' } } } }] } },
    });
    expect(of(decidePlacement(rest, now), 'p')).toBeUndefined();
    expect(conditionValue(decidePlacement(rest, now), 'p')).toBeUndefined();
  });
});
