import {
  anyOf,
  Controller,
  requeueAfter,
  watches,
  type Informer,
  type KubeObject,
  type Outcome,
  type Predicate,
  type ReconcileContext,
  type Source,
  type Clock,
  Applier,
  findCondition,
  keyOf,
  ResourceClient,
} from '@agentfleet/kube';
import { labels } from '@agentfleet/protocol/pool';
import { closedBy, slotLabel } from '../../placement/index.ts';
import type { OperatorContext } from '../../runtime/context.ts';
import { listFollowed } from '../../runtime/settings.ts';
import {
  type ControllerRevision,
  type Deployment,
  type Node,
  type Pod,
  type ConfigMap,
  isOver,
  resources,
} from '../../runtime/resources.ts';
import {
  Absences,
  absentMs,
  type GpuCaches,
  cachedLedger,
  Homes,
  observePlacement,
  type Ledger,
  type PlacementSources,
  scaledIn,
} from './observe.ts';
import { decidePlacement, type PlacementDecision, type PlacementStatus } from './decide.ts';
import { bootOf, cachedReserve, isReserve, probeIn, ReserveWriter } from './reserve/index.ts';
import { slotsConfigMap } from './slots.ts';
import { Histogram, type Registry } from 'prom-client';
import type { Owner } from './model/index.ts';
import { fieldManagers, type EnergyModel, type ExpertPool } from '@agentfleet/protocol/api';
import { placementComponent, type ClaimManifest } from './claims.ts';

interface Notes {
  readonly bindings: string | undefined;
  readonly probes: string | undefined;
  readonly problems: string | undefined;
}

/** Reads the ledger again and writes what was decided: names of slots first, then claims, then who may start. */
class PlacementWriter {
  readonly #context: OperatorContext;
  readonly #pools: ResourceClient<ExpertPool>;
  readonly #models: ResourceClient<EnergyModel>;
  readonly #maps: ResourceClient<ConfigMap>;
  readonly #claims: ResourceClient;
  readonly #reserve: ReserveWriter;
  readonly #appliers: { readonly claims: Applier<KubeObject>; readonly pools: Applier<ExpertPool>; readonly models: Applier<EnergyModel> };

  constructor(context: OperatorContext, gpus: GpuCaches) {
    const { transport, caches } = context;
    this.#context = context;
    this.#pools = new ResourceClient(transport, resources.expertPools);
    this.#models = new ResourceClient(transport, resources.energyModels);
    this.#maps = new ResourceClient(transport, resources.configMaps);
    this.#claims = new ResourceClient(transport, resources.resourceClaims);
    this.#reserve = new ReserveWriter(context);
    const fieldManager = fieldManagers.placement;
    const status = { fieldManager, subresource: 'status' };
    this.#appliers = {
      claims: new Applier({ client: this.#claims, view: gpus.claims.informer, fieldManager }),
      pools: new Applier({ client: this.#pools, view: caches.pools, ...status }),
      models: new Applier({ client: this.#models, view: caches.energyModels, ...status }),
    };
    const { claims, pools, models } = this.#appliers;
    gpus.claims.informer.addHandler({ onDelete: (object) => claims.forget(keyOf(object)) });
    caches.pools.addHandler({ onDelete: (object) => pools.forget(keyOf(object)) });
    caches.energyModels.addHandler({ onDelete: (object) => models.forget(keyOf(object)) });
  }

  /**
   * The ledger as the server has it now. A cache may show less than an earlier leader gave away, and memory that is
   * given away twice is worse than a slow answer; plans change rarely.
   */
  async readLedger(signal: AbortSignal): Promise<Ledger> {
    const { config } = this.#context;
    const [pools, models, book, reserve] = await Promise.all([
      listFollowed(this.#pools, config.watchNamespaces, { signal }),
      listFollowed(this.#models, config.watchNamespaces, { signal }),
      this.#maps.find({ namespace: config.namespace, name: slotsConfigMap }, { signal }),
      this.#reserve.read(signal),
    ]);
    return { pools: pools.map((pool) => scaledIn(this.#context.caches, pool)), models, book, reserve };
  }

  /** Each write can be the last one before a crash: what follows is decided again from what is there. */
  async write(decision: PlacementDecision, { book }: Ledger, signal: AbortSignal): Promise<void> {
    const { bindings, probes, problems, holders, probe } = decision;
    // The probe belongs to the book.
    const lacksBook = probe.make !== undefined && book === undefined;
    const news = bindings !== undefined || probes !== undefined || problems !== undefined;
    if (news || lacksBook) book = await this.#note({ bindings, probes, problems }, book, signal);
    for (const claim of decision.claims) await this.#claim(claim, signal);
    await this.#reserve.hold(holders, signal);
    await this.#reserve.ask(probe, book, signal);
    for (const { owner, status, moved } of decision.statuses) await this.#tell(owner, status, moved, signal);
    for (const claim of decision.remove) await this.#claims.remove(claim, { signal });
    await this.#reserve.end(holders.end, signal);
  }

  async #note(news: Notes, book: ConfigMap | undefined, signal: AbortSignal): Promise<ConfigMap> {
    const { namespace } = this.#context.config;
    // Data that is not declared any more is taken away: all data of the operator is declared.
    const bindings = news.bindings ?? book?.data?.['bindings'] ?? '';
    const probes = news.probes ?? book?.data?.['probes'];
    const problems = news.problems ?? book?.data?.['problems'] ?? '';
    const metadata = { name: slotsConfigMap, namespace, labels: { [labels.component]: placementComponent } };
    const { apiVersion, kind } = resources.configMaps;
    // Other keys are the administrator's.
    const data = { bindings, ...(probes === undefined ? {} : { probes }), ...(problems === '' ? {} : { problems }) };
    return this.#maps.apply({ apiVersion, kind, metadata, data }, { fieldManager: fieldManagers.placement, signal });
  }

  async #claim(claim: ClaimManifest, signal: AbortSignal): Promise<void> {
    await this.#appliers.claims.apply({ ...claim }, signal);
  }

  async #tell(owner: Owner, status: PlacementStatus, moved: boolean, signal: AbortSignal): Promise<void> {
    const { apiVersion, kind, metadata } = owner.object;
    const { name, namespace = '', uid } = metadata;
    const applier = owner.kind === 'ExpertPool' ? this.#appliers.pools : this.#appliers.models;
    // The uid: an owner of the same name that was made since is another one.
    const { written } = await applier.apply({ apiVersion, kind, metadata: { name, namespace, uid }, status }, signal);
    const conditionValue = findCondition(status.conditions, 'PlacementFeasible');
    const before = findCondition(owner.object.status?.conditions, 'PlacementFeasible');
    if (
      !written ||
      conditionValue === undefined ||
      (!moved && before?.status === conditionValue.status && before.reason === conditionValue.reason)
    )
      return;
    const type = conditionValue.status === 'True' ? 'Normal' : 'Warning';
    this.#context.events.record(owner.object, { type, reason: conditionValue.reason, action: 'Place', note: conditionValue.message });
  }
}

/** There is one ledger, so there is one key. */
const everything = 'gpus';

/** A look without a reason. */
const idleMs = 300_000;
/** The same while a pod asks a node for GPUs. */
const probeLookMs = 30_000;

/** Statuses of pools move with their tasks; no plan needs to be faster than this, ms. */
const floorMs = 250;

/** Reports whether nothing is to be written. */
function isIdle({ bindings, problems, claims, remove, statuses, holders, probe, probes }: PlacementDecision): boolean {
  const held = holders.make.length + holders.own.length + holders.end.length === 0;
  const asked = probe.make === undefined && probe.end === undefined && probes === undefined;
  return (
    bindings === undefined && problems === undefined && claims.length === 0 && remove.length === 0 && statuses.length === 0 && held && asked
  );
}

/** A node's status is written often; only its GPUs, its labels, whether it takes pods and whether it is another life of it matter. */
const readOf = (node: Node): string => JSON.stringify([node.status?.allocatable, node.metadata.labels, closedBy(node), bootOf(node)]);

const gpusChanged: Predicate<Node> = (change) => change.type !== 'update' || readOf(change.old) !== readOf(change.object);

const isEngine: Predicate<Deployment> = ({ object }) => {
  const component = object.metadata.labels?.[labels.component];
  return component === 'expert' || component === 'verifier';
};

const isBook: Predicate<KubeObject> = ({ object }) => object.metadata.name === slotsConfigMap;

/** Memory is free when the pod that had it has ended or is gone. */
const leftGpu: Predicate<Pod> = (change) =>
  change.object.metadata.annotations?.[slotLabel] !== undefined &&
  (change.type === 'delete' || (change.type === 'update' && isOver(change.object) && !isOver(change.old)));

function sourcesOf({ context: { caches }, gpus, records }: PlacementSources): readonly Source[] {
  const map = (): readonly string[] => [everything];
  const any = <T extends KubeObject>(cache: Informer<T>, predicate: Predicate<T> = () => true): Source =>
    watches(cache, { map, predicate });
  return [
    any(caches.pools),
    any(caches.energyModels),
    any(caches.expertScales),
    any(caches.deployments, isEngine),
    any(
      caches.pods,
      anyOf<Pod>(leftGpu, ({ object }) => isReserve(object)),
    ),
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
  const absences = new Absences(context.clock);
  const from = { context, gpus, records, absences, homes: new Homes(context.caches) };
  const { clock, registry } = context;
  const writer = new PlacementWriter(context, gpus);
  const solve = solveTimes(registry, clock);
  const decided = (ledger: Ledger): PlacementDecision => solve(() => decidePlacement(observePlacement(from, ledger), clock.now()));
  // No event reports a pod that no kubelet starts.
  const isAsking = (): boolean => probeIn(cachedReserve(context.caches, context.config.namespace), context.config.namespace) !== undefined;
  const againMs = (): number => (isAsking() ? probeLookMs : absences.isWaiting() ? absentMs : idleMs);
  const again = (): Outcome => requeueAfter(againMs());
  const reconcile = async (_: string, { signal }: ReconcileContext): Promise<Outcome> => {
    const seen = decided(cachedLedger(context));
    if (isIdle(seen)) return again();
    const ledger = await writer.readLedger(signal);
    const decision = decided(ledger);
    await writer.write(decision, ledger, signal);
    return again();
  };
  return new Controller({ name: 'placement', sources: sourcesOf(from), reconcile, floorMs, ...context });
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
