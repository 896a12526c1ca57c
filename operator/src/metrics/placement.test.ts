import type { EnergyModel, ExpertPoolStatus } from '@agentfleet/protocol/api';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { placementView, type PlacementView } from '../controllers/placement/index.ts';
import { box, device, gpuPool, onGpu, snapshot } from '../controllers/placement/testing/box.ts';
import { hybrid, judge, now, settle } from '../controllers/placement/testing/world.ts';
import { usableBytes } from '../placement/index.ts';
import { registerPlacementMetrics } from './placement.ts';

async function pageOf(view: () => PlacementView): Promise<string> {
  const registry = new Registry();
  registerPlacementMetrics(registry, view);
  return registry.metrics();
}

const gib = 2 ** 30;
const total = usableBytes(40 * gib);

it('reports what slots have, what plans gave away and what engines hold', async () => {
  const settled = settle(snapshot({ pools: [hybrid()], models: [judge()] }));
  const [pool] = settled.pools;
  const experts = [{ name: 'e-py', memory: { estimated: 100, measured: 125 } }, { name: 'e-js' }];
  const world = { ...settled, pools: [{ ...pool!, status: { ...pool!.status, experts } as unknown as ExpertPoolStatus }] };
  const page = await pageOf(() => placementView(world, now));
  const bytes = (slot: string, state: string): string =>
    `agentfleet_placement_slot_bytes{node="dgx-1",slot="dgx-1/${slot}",state="${state}"}`;
  expect(page).toContain(`${bytes('gpu0', 'total')} ${total}\n`);
  expect(page).toContain(`${bytes('gpu0', 'reserved')} ${34 * gib}\n`);
  expect(page).toContain(`${bytes('gpu1', 'reserved')} ${4 * 8500 * 2 ** 20}\n`);
  expect(page).toContain(`${bytes('gpu1', 'measured')} 125\n`);
  expect(page).not.toContain(bytes('gpu0', 'measured'));
  expect(page).toContain('agentfleet_placement_slot_healthy{node="dgx-1",slot="dgx-1/gpu3"} 1\n');
  expect(page).toContain('agentfleet_placement_estimate_error_ratio{pool="platform/hybrid",expert="e-py"} 0.2\n');
  expect(page).toContain(
    'agentfleet_expert_info{pool="platform/hybrid",expert="g-gen",revision="",track="stable",role="Generalist",engine="Synth",digest="",mode="DRA",slot="dgx-1/gpu0"} 1\n',
  );
  expect(page).not.toMatch(/^agentfleet_placement_(infeasible|conflicts|slot_fault)\{/m);
});

it('reports which revisions of a verifier judge, the first one as the stable one', async () => {
  const reported = async (rollout: object | undefined): Promise<readonly string[]> => {
    const model = { ...judge(), status: { arms: [{ digest: 'sha256:1' }, { revision: 'b', digest: 'sha256:2' }], rollout } };
    const page = await pageOf(() => placementView(snapshot({ models: [model as unknown as EnergyModel] }), now));
    return page.match(/(?<=^agentfleet_energymodel_info\{).*(?=\} 1$)/gm) ?? [];
  };
  const line = (revision: string, track: string, digest: string): string =>
    `model="platform/judge",revision="${revision}",track="${track}",digest="${digest}",slot=""`;
  expect(await reported(undefined)).toEqual([line('', 'stable', 'sha256:1')]);
  expect(await reported({ canary: 'a' })).toEqual([line('a', 'stable', 'sha256:1')]);
  expect(await reported({ stable: 'a', canary: 'b' })).toEqual([line('a', 'stable', 'sha256:1'), line('b', 'canary', 'sha256:2')]);
});

it('reports which slot cannot be used and why, and what plans still hold there', async () => {
  const settled = settle(snapshot({ pools: [gpuPool('p', [onGpu('gen', 'Generalist', '5Gi', 'dgx-1/gpu1')])] }));
  const taints = [{ key: 'gpu.nvidia.com/unhealthy', effect: 'NoExecute' as const }];
  const cluster = { ...settled.cluster, slices: box([device(0), device(1, { taints })]).slices };
  const page = await pageOf(() => placementView({ ...settled, cluster }, now));
  expect(page).toContain('agentfleet_placement_slot_healthy{node="dgx-1",slot="dgx-1/gpu0"} 1\n');
  expect(page).toContain('agentfleet_placement_slot_healthy{node="dgx-1",slot="dgx-1/gpu1"} 0\n');
  expect(page).toContain('agentfleet_placement_slot_fault{node="dgx-1",slot="dgx-1/gpu1",reason="SlotTainted"} 1\n');
  expect(page).toContain(`agentfleet_placement_slot_bytes{node="dgx-1",slot="dgx-1/gpu1",state="reserved"} ${5 * gib}\n`);
});

it('reports what finds no place, once for each reason with the number of places', async () => {
  const pools = [gpuPool('p', [onGpu('gen', 'Generalist', '50Gi')])];
  const page = await pageOf(() => placementView(settle(snapshot({ pools })), now));
  expect(page).toContain('agentfleet_placement_infeasible{pool="platform/p",item="gen",reason="NotEnoughMemory"} 4\n');
});

it('reports two stacks that hand out the GPUs of one node', async () => {
  const nodes = [{ metadata: { name: 'dgx-1' }, status: { allocatable: { 'nvidia.com/gpu': '4' } } }];
  const page = await pageOf(() => placementView(snapshot({ cluster: box(undefined, { nodes }) }), now));
  expect(page).toContain('agentfleet_placement_conflicts{node="dgx-1",type="TwoStacks"} 1\n');
  expect(page).not.toContain('SharedBoard');
});

it('reports an engine that spans slots on each of them', async () => {
  const place = { item: 'gen', bytes: 5, admitted: true };
  const plan = {
    hash: '',
    mode: 'DRA',
    assignments: [
      { ...place, slot: 'dgx-1/gpu0' },
      { ...place, slot: 'dgx-1/gpu1' },
    ],
  };
  const pool = gpuPool('p', [onGpu('gen', 'Generalist', '5Gi')]);
  const page = await pageOf(() => placementView(snapshot({ pools: [{ ...pool, status: { plan } as unknown as ExpertPoolStatus }] }), now));
  for (const slot of ['dgx-1/gpu0', 'dgx-1/gpu1']) {
    expect(page).toMatch(new RegExp(`^agentfleet_expert_info\\{.*expert="gen",.*slot="${slot}"\\} 1$`, 'm'));
    expect(page).toContain(`agentfleet_placement_slot_bytes{node="dgx-1",slot="${slot}",state="reserved"} 5\n`);
  }
});

it('looks once for all gauges of a scrape, and anew for the next one', async () => {
  let looks = 0;
  const registry = new Registry();
  registerPlacementMetrics(registry, () => {
    looks += 1;
    return placementView(snapshot(), now);
  });
  await registry.metrics();
  expect(looks).toBe(1);
  await registry.metrics();
  expect(looks).toBe(2);
});
