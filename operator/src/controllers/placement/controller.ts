import {
  allOf,
  anyOf,
  Controller,
  requeueAfter,
  versionChanged,
  watches,
  type Informer,
  type KubeObject,
  type Outcome,
  type Predicate,
  type ReconcileContext,
  type Source,
  type Clock,
} from '@agentfleet/kube';
import { labels } from '@agentfleet/protocol/pool';
import { slotLabel } from '../../placement/index.ts';
import type { OperatorContext } from '../../runtime/context.ts';
import type { ControllerRevision, Deployment, Node, Pod } from '../../runtime/resources.ts';
import { type GpuCaches, cachedLedger, observePlacement, type Ledger, type PlacementSources } from './observe.ts';
import { decidePlacement, type PlacementDecision } from './decide.ts';
import { bootOf, cachedReserve, isReserve, probeIn } from './reserve/index.ts';
import { slotsConfigMap } from './slots.ts';
import { PlacementWriter } from './writer.ts';
import { Histogram, type Registry } from 'prom-client';

/** There is one ledger, so there is one key. */
const everything = 'gpus';

/** A look without a reason. */
const idleMs = 300_000;
/** The same while a pod asks a node for GPUs. */
const probeLookMs = 30_000;

/** Statuses of pools move with their tasks; no plan needs to be faster than this, ms. */
const floorMs = 250;

/** Whether nothing is to be written. */
function isIdle({ bindings, problems, claims, remove, statuses, holders, probe, probes }: PlacementDecision): boolean {
  const held = holders.make.length + holders.own.length + holders.end.length === 0;
  const asked = probe.make === undefined && probe.end === undefined && probes === undefined;
  return (
    bindings === undefined && problems === undefined && claims.length === 0 && remove.length === 0 && statuses.length === 0 && held && asked
  );
}

/** A node's status is written often; only its GPUs, its labels and whether it is another life of it matter. */
const gpusChanged: Predicate<Node> = (change) =>
  change.type !== 'update' ||
  JSON.stringify([change.old.status?.allocatable, change.old.metadata.labels, bootOf(change.old)]) !==
    JSON.stringify([change.object.status?.allocatable, change.object.metadata.labels, bootOf(change.object)]);

const isEngine: Predicate<Deployment> = ({ object }) => {
  const component = object.metadata.labels?.[labels.component];
  return component === 'expert' || component === 'verifier';
};

const isBook: Predicate<KubeObject> = ({ object }) => object.metadata.name === slotsConfigMap;

/** Memory is free when the pod that had it is gone. */
const leftGpu: Predicate<Pod> = ({ type, object }) => type === 'delete' && object.metadata.annotations?.[slotLabel] !== undefined;

function sourcesOf({ context: { caches }, gpus, records }: PlacementSources): readonly Source[] {
  const map = (): readonly string[] => [everything];
  const any = <T extends KubeObject>(cache: Informer<T>, ...predicates: readonly Predicate<T>[]): Source =>
    watches(cache, { map, predicate: allOf(anyOf<T>(versionChanged), ...predicates) });
  return [
    any(caches.pools),
    any(caches.energyModels),
    any(caches.expertScales),
    any(caches.deployments, isEngine),
    watches(caches.pods, { map, predicate: anyOf<Pod>(leftGpu, ({ object }) => isReserve(object)) }),
    any(records),
    any(caches.configMaps, isBook),
    any(caches.nodes, gpusChanged),
    any(caches.runtimeClasses),
    gpus.slices.source(any(gpus.slices.informer)),
    gpus.deviceClasses.source(any(gpus.deviceClasses.informer)),
    gpus.claims.source(any(gpus.claims.informer)),
  ];
}

/** Keeps the plans of all pools and models, the claims that they name and the names of GPUs. */
export function createPlacementController(context: OperatorContext, gpus: GpuCaches, records: Informer<ControllerRevision>): Controller {
  const from = { context, gpus, records };
  const { clock, log, registry } = context;
  const writer = new PlacementWriter(context, gpus);
  const solve = solveTimes(registry, clock);
  const decided = (ledger: Ledger): PlacementDecision => solve(() => decidePlacement(observePlacement(from, ledger), clock.now()));
  // No event reports a pod that no kubelet starts.
  const againMs = (): number =>
    probeIn(cachedReserve(context.caches, context.config.namespace), context.config.namespace) === undefined ? idleMs : probeLookMs;
  const again = (): Outcome => requeueAfter(againMs());
  const reconcile = async (_: string, { signal }: ReconcileContext): Promise<Outcome> => {
    const seen = decided(cachedLedger(context));
    if (isIdle(seen)) return again();
    const ledger = await writer.readLedger(signal);
    const decision = decided(ledger);
    await writer.write(decision, ledger, signal);
    return again();
  };
  return new Controller({
    name: 'placement',
    sources: sourcesOf(from),
    reconcile,
    maxConcurrent: 1,
    floorMs,
    clock,
    log,
    registry,
  });
}

const name = 'agentfleet_placement_solve_seconds';

/** Measures decisions about all places; gives what decides under the watch. */
function solveTimes(registry: Registry, clock: Clock): <T>(decide: () => T) => T {
  const times =
    (registry.getSingleMetric(name) as Histogram | undefined) ??
    new Histogram({
      name,
      help: 'Time of a decision about all places, from the ledger to the plans.',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      registers: [registry],
    });
  return (decide) => {
    const began = clock.monotonic();
    try {
      return decide();
    } finally {
      times.observe((clock.monotonic() - began) / 1000);
    }
  };
}
