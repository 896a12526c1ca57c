import { allOf, anyOf, Controller, requeueAfter, versionChanged, watches } from '@agentfleet/kube';
import type { Informer, KubeObject, Outcome, Predicate, ReconcileContext, Source } from '@agentfleet/kube';
import { labels } from '@agentfleet/protocol/pool';
import type { OperatorContext } from '../../runtime/context.ts';
import type { Deployment, Node } from '../../runtime/objects.ts';
import type { GpuCaches } from './caches.ts';
import { decidePlacement, type PlacementDecision } from './decide.ts';
import { cachedLedger, observePlacement } from './observe.ts';
import { slotsConfigMap } from './slots.ts';
import { PlacementWriter } from './writer.ts';

/** There is one ledger, so there is one key. */
const everything = 'gpus';

/** A look without a reason. */
const idleMs = 300_000;

/** Statuses of pools move with their tasks; no plan needs to be faster than this, ms. */
const floorMs = 250;

/** Whether nothing is to be written. */
function isIdle({ bindings, claims, remove, statuses }: PlacementDecision): boolean {
  return bindings === undefined && claims.length === 0 && remove.length === 0 && statuses.length === 0;
}

/** A node's status is written often; only its GPUs and labels matter. */
const gpusChanged: Predicate<Node> = (change) =>
  change.type !== 'update' ||
  JSON.stringify([change.old.status?.allocatable, change.old.metadata.labels]) !==
    JSON.stringify([change.object.status?.allocatable, change.object.metadata.labels]);

const isEngine: Predicate<Deployment> = ({ object }) => {
  const component = object.metadata.labels?.[labels.component];
  return component === 'expert' || component === 'verifier';
};

const isBook: Predicate<KubeObject> = ({ object }) => object.metadata.name === slotsConfigMap;

function sourcesOf({ caches }: OperatorContext, gpus: GpuCaches): readonly Source[] {
  const map = (): readonly string[] => [everything];
  const any = <T extends KubeObject>(cache: Informer<T>, ...predicates: readonly Predicate<T>[]): Source =>
    watches(cache, { map, predicate: allOf(anyOf<T>(versionChanged), ...predicates) });
  return [
    any(caches.pools),
    any(caches.energyModels),
    any(caches.deployments, isEngine),
    any(caches.configMaps, isBook),
    any(caches.nodes, gpusChanged),
    any(caches.runtimeClasses),
    gpus.slices.source(any(gpus.slices.informer)),
    gpus.deviceClasses.source(any(gpus.deviceClasses.informer)),
    gpus.claims.source(any(gpus.claims.informer)),
  ];
}

/** Keeps the plans of all pools and models, the claims that they name and the names of GPUs. */
export function createPlacementController(context: OperatorContext, gpus: GpuCaches): Controller {
  const { clock, log, registry } = context;
  const writer = new PlacementWriter(context, gpus);
  const reconcile = async (_: string, { signal }: ReconcileContext): Promise<Outcome> => {
    const seen = decidePlacement(observePlacement(context, gpus, cachedLedger(context)), clock.now());
    if (isIdle(seen)) return requeueAfter(idleMs);
    const ledger = await writer.readLedger(signal);
    await writer.write(decidePlacement(observePlacement(context, gpus, ledger), clock.now()), signal);
    return requeueAfter(idleMs);
  };
  return new Controller({
    name: 'placement',
    sources: sourcesOf(context, gpus),
    reconcile,
    maxConcurrent: 1,
    floorMs,
    clock,
    log,
    registry,
  });
}
