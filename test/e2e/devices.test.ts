import { beforeAll, describe, expect, test } from 'vitest';
import { up } from '../../hack/cluster/index.ts';
import { claimsOf, eventually, injected, isOurNode, podsOf, poolOf, prepared, publishedDevices } from './devices.ts';
import { useFleet } from './fleet.ts';

/** Two experts on one slot and one on another, by the claims that the operator makes, on a real kubelet. */
describe.skipIf(!isOurNode())('GPUs of the real node (a driver runs beside our own node only)', () => {
  const expert = (name: string, role: string, slot: string) => ({
    name,
    role,
    ...(role === 'Specialist' ? { domains: ['python'] } : {}),
    engine: { type: 'Synth' },
    resources: { slot, memory: { budget: '20Gi' } },
  });
  const node = 'agentfleet-node';
  const fleet = useFleet('devices', {
    readySeconds: 180,
    before: async () => void (await up({ dra: true })),
    pool: {
      experts: [
        expert('gen', 'Generalist', `${node}/gpu1`),
        expert('py', 'Specialist', `${node}/gpu1`),
        expert('js', 'Specialist', `${node}/gpu2`),
      ],
      workers: { replicas: 0 },
    },
  });
  const names = ['gen', 'py', 'js'] as const;
  const podName = async (name: string): Promise<string> => (await podsOf(fleet, name))[0]?.metadata.name ?? '';

  beforeAll(async () => {
    const ready = async (): Promise<boolean> => (await poolOf(fleet)).status?.experts?.every((each) => each.ready === 1) === true;
    await eventually(fleet, 'three experts are ready', 120, ready);
  });

  test('the scheduler allocates, and the kubelet prepares, the devices of the plan', async () => {
    const { names: devices } = await publishedDevices(fleet);
    const { plan } = (await poolOf(fleet)).status ?? {};
    expect(plan?.mode).toBe('DRA');
    const places = Object.fromEntries((plan?.assignments ?? []).map(({ item, slot }) => [item, slot]));
    expect(places).toEqual({ gen: `${node}/gpu1`, py: `${node}/gpu1`, js: `${node}/gpu2` });
    const claims = await claimsOf(fleet);
    expect(claims).toHaveLength(2);
    for (const { item, claim, uuid } of plan?.assignments ?? []) {
      const { status } = claims.find(({ metadata }) => metadata.name === claim) ?? {};
      expect(status?.allocation?.devices.results.map(({ device }) => device)).toEqual([devices.get(uuid ?? '')]);
      expect(status?.reservedFor?.map((holder) => holder.name)).toContain(await podName(item));
    }
    expect((await prepared(claims)).length).toBe(2);
  });

  test('both tenants of a slot see the same device, and a third one another', async () => {
    const { names: devices } = await publishedDevices(fleet);
    const { plan } = (await poolOf(fleet)).status ?? {};
    const seen = await Promise.all(names.map(async (name) => injected(fleet, await podName(name), 'inference')));
    const given = seen.map((environment) => Object.entries(environment).filter(([name]) => /^GPU_DEVICE_\d+$/.test(name)));
    const expected = names.map((name) => devices.get(plan?.assignments.find(({ item }) => item === name)?.uuid ?? '') ?? '?');
    expect(given).toEqual(expected.map((device) => [[device.toUpperCase().replace('GPU-', 'GPU_DEVICE_'), device]]));
    expect(given[0]).toEqual(given[1]);
    expect(given[2]).not.toEqual(given[0]);
    console.log(names.map((name, at) => `${name}: ${JSON.stringify(seen[at])}`).join('\n'));
  });

  test('when the pool is removed, nothing stays prepared, and the claims are removed', async () => {
    const claims = await claimsOf(fleet);
    await fleet.run('delete', 'expertpool', 'pool', '--timeout=240s');
    await eventually(fleet, 'no claim is left', 60, async () => (await claimsOf(fleet)).length === 0);
    await eventually(fleet, 'nothing is prepared', 60, async () => (await prepared(claims)).length === 0);
  });
});
