import { keyOf } from '@agentfleet/kube';
import type { Registry } from 'prom-client';
import type { PlacementView, PlanHolder } from '../controllers/placement/index.ts';
import { compareMemory, itemOf, nodeOfSlot } from '../placement/index.ts';
import { sampledGauges, type Sample } from './fleet.ts';

/** Returns the facts about the GPUs that are reported at each scrape. */
type ReadPlacement = () => PlacementView;

/** Adds up values of equal keys. */
function sums(all: Iterable<readonly [string, number]>): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const [key, value] of all) found.set(key, (found.get(key) ?? 0) + value);
  return found;
}

type Server = PlacementView['servers'][number];

/** The part of the status about the expert of a server; none for one that is tried. */
function reportOf({ pool, server: { expert, canary } }: Server) {
  return canary === undefined ? pool.status?.experts?.find(({ name }) => name === expert.name) : undefined;
}

/** Bytes of keys and values that engines report, by slot; engines that report nothing are not in it. */
function measuredOn({ servers }: PlacementView): ReadonlyMap<string, number> {
  return sums(
    servers.flatMap((one): readonly (readonly [string, number])[] => {
      const bytes = reportOf(one)?.memory?.measured;
      return bytes === undefined ? [] : one.slots.map((slot) => [slot, bytes * one.server.expert.replicas] as const);
    }),
  );
}

/** Bytes of slots: what tenants may have, what plans gave away, and what engines say of their keys and values. Pure. */
export function slotBytes(view: PlacementView): readonly Sample[] {
  const reserved = sums(view.holders.flatMap(({ plan }) => (plan?.assignments ?? []).map(({ slot, bytes }) => [slot, bytes] as const)));
  const measured = measuredOn(view);
  const known = new Map(view.inventory.slots.map(({ name, usableBytes }) => [name, usableBytes]));
  // A plan may name a slot that is gone.
  return [...new Set([...known.keys(), ...reserved.keys()])].flatMap((slot) => {
    const tell = (state: string, value: number | undefined): readonly Sample[] =>
      value === undefined ? [] : [{ labels: { node: nodeOfSlot(slot), slot, state }, value }];
    return [...tell('total', known.get(slot)), ...tell('reserved', reserved.get(slot) ?? 0), ...tell('measured', measured.get(slot))];
  });
}

/** Nodes whose GPUs two stacks hand out, and slots whose board another slot has. Pure. */
function conflictCounts({ conflicts, slots }: PlacementView['inventory']): readonly Sample[] {
  const shared = slots.filter(({ node, fault }) => fault?.reason === 'Conflict' && !conflicts.has(node));
  const counted = sums([
    ...[...conflicts.keys()].map((node) => [`${node} TwoStacks`, 1] as const),
    ...shared.map(({ node }) => [`${node} SharedBoard`, 1] as const),
  ]);
  return [...counted].map(([key, value]) => {
    const [node = '', type = ''] = key.split(' ');
    return { labels: { node, type }, value };
  });
}

/** Engines without the place that they want, by reason; the value is the number of places that were refused for it. Pure. */
export function infeasible(holders: readonly PlanHolder[]): readonly Sample[] {
  return holders.flatMap(({ of, plan }) => {
    const counted = sums((plan?.rejected ?? []).map(({ item, reason }) => [`${item} ${reason}`, 1] as const));
    return [...counted].map(([key, value]) => {
      const [item = '', reason = ''] = key.split(' ');
      return { labels: { ...of, item, reason }, value };
    });
  });
}

/** Returns the properties and place of each expert: one series for each server, of one that spans several slots for each of them. Pure. */
function expertInfo({ servers }: PlacementView): readonly Sample[] {
  return servers.flatMap((one) => {
    const { pool, server, slots } = one;
    const { expert, revision = '', canary } = server;
    const digest = reportOf(one)?.digest ?? expert.artifact?.digest ?? '';
    const track = canary === undefined ? 'stable' : 'canary';
    const mode = slots.length === 0 ? '' : (pool.status?.plan?.mode ?? '');
    const { name, role, engine } = expert;
    const labels = { pool: keyOf(pool), expert: name, revision, track, role, engine: engine.type, digest, mode };
    return (slots.length === 0 ? [''] : slots).map((slot) => ({ labels: { ...labels, slot }, value: 1 }));
  });
}

/** The revisions of each EnergyModel that judge, and where they sit. Pure. */
function modelInfo({ models }: PlacementView): readonly Sample[] {
  return models.flatMap((model) => {
    const { rollout, plan, arms = [] } = model.status ?? {};
    const slots = new Map((plan?.assignments ?? []).map(({ item, slot }) => [item, slot]));
    const tell = (track: string, revision: string | undefined, of: string): Sample => {
      const slot = slots.get(itemOf(model.metadata.name, revision)) ?? '';
      return { labels: { model: keyOf(model), revision: revision ?? '', track, digest: of, slot }, value: 1 };
    };
    const { stable, canary } = rollout ?? {};
    const digests = new Map(arms.map((arm) => [arm.revision, arm.digest]));
    // The first revision is reported as a canary until it serves.
    const serving = stable ?? canary;
    const tried = canary === undefined || canary === serving ? [] : [tell('canary', canary, digests.get(canary) ?? '')];
    return [tell('stable', serving, arms[0]?.digest ?? ''), ...tried];
  });
}

function estimateErrors({ pools }: PlacementView): readonly Sample[] {
  return pools.flatMap((pool) =>
    (pool.status?.experts ?? []).flatMap(({ name, memory }) => {
      const value = memory === undefined ? undefined : compareMemory(memory.estimated, memory.measured)?.errorRatio;
      return value === undefined ? [] : [{ labels: { pool: keyOf(pool), expert: name }, value: Number(value) }];
    }),
  );
}

function tellSlots(gauge: Tell): void {
  gauge('placement_slot_healthy', '1 when new engines may be put on the slot.', ['node', 'slot'], ({ inventory }) =>
    inventory.slots.map(({ name, node, fault }) => ({ labels: { node, slot: name }, value: Number(fault === undefined) })),
  );
  gauge(
    'placement_slot_fault',
    'Why no new engine may be put on the slot; no series when it may.',
    ['node', 'slot', 'reason'],
    ({ inventory }) =>
      inventory.slots.flatMap(({ name, node, fault }) =>
        fault === undefined ? [] : [{ labels: { node, slot: name, reason: fault.reason }, value: 1 }],
      ),
  );
}

/** All gauges of one scrape are collected in one turn of the event loop: they share a view. */
function once(look: ReadPlacement): ReadPlacement {
  let seen: PlacementView | undefined;
  return () => {
    if (seen === undefined) queueMicrotask(() => (seen = undefined));
    return (seen ??= look());
  };
}

type Tell = (name: string, help: string, labelNames: readonly string[], samples: (view: PlacementView) => readonly Sample[]) => void;

function tellPlans(gauge: Tell): void {
  gauge(
    'placement_slot_bytes',
    'Bytes of a slot: total that tenants may have, reserved by plans, measured keys and values as engines tell them.',
    ['node', 'slot', 'state'],
    slotBytes,
  );
  gauge('placement_conflicts', 'Conflicts about the GPUs of a node, partitioned by type.', ['node', 'type'], ({ inventory }) =>
    conflictCounts(inventory),
  );
  gauge(
    'placement_infeasible',
    'Places that an engine without one was refused, partitioned by reason.',
    ['pool', 'model', 'item', 'reason'],
    ({ holders }) => infeasible(holders),
  );
  gauge(
    'placement_estimate_error_ratio',
    'Bytes of keys and values that an engine needed beyond what was reckoned, as a share of what was measured.',
    ['pool', 'expert'],
    estimateErrors,
  );
}

function tellServers(gauge: Tell): void {
  gauge(
    'expert_info',
    'Servers of an expert, with their slots.',
    ['pool', 'expert', 'revision', 'track', 'role', 'engine', 'digest', 'mode', 'slot'],
    expertInfo,
  );
  gauge('energymodel_info', 'Revisions of a verifier, with their slots.', ['model', 'revision', 'track', 'digest', 'slot'], modelInfo);
}

/** Registers the gauges of GPUs; they are read from the caches at each scrape. */
export function registerPlacementMetrics(registry: Registry, look: ReadPlacement): void {
  const read = once(look);
  const sampled = sampledGauges(registry);
  const gauge: Tell = (name, help, labelNames, samples) => sampled(`agentfleet_${name}`, help, labelNames, () => samples(read()));
  tellSlots(gauge);
  tellPlans(gauge);
  tellServers(gauge);
}
