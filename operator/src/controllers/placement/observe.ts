import type { Assignment, Owner } from './model/index.ts';
import type { Clock, Informer, KubeObject } from '@agentfleet/kube';
import type { EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import {
  bindingOf,
  holderAnnotation,
  itemOf,
  nodeOfSlot,
  slotLabel,
  uuidAnnotation,
  valuesIn,
  type SlotBinding,
  type SlotClaim,
} from '../../placement/index.ts';
import { gpuIndex, onGpus, type CacheOptions } from '../../runtime/caches.ts';
import { type OperatorContext, OptionalCache } from '../../runtime/context.ts';
import {
  type ConfigMap,
  type ControllerRevision,
  type Deployment,
  type Pod,
  type DeviceClass,
  type PublishedSlice,
  isOver,
  resources,
} from '../../runtime/resources.ts';
import { exceeded, rolledOut } from '../../serving/index.ts';
import { type Progress, type ProgressOf, type PlacementSnapshot, occupantsOf } from './decide.ts';
import { cachedReserve, holdersInUse, holderView, probeIn } from './reserve/index.ts';
import { readBook, slotsConfigMap } from './slots.ts';
import { scaledPool } from '../../pools/scales.ts';
import { slimObject } from '../../runtime/transforms.ts';
import { placementComponent } from './claims.ts';

/** NVIDIA's driver and its class of whole GPUs. */
export const defaultDriver = { driver: 'gpu.nvidia.com', deviceClass: 'gpu.nvidia.com' } as const;

/** Sources that placement is observed with. */
export interface PlacementSources {
  readonly context: OperatorContext;
  readonly gpus: GpuCaches;
  /** Revisions of pools and models. */
  readonly records: Informer<ControllerRevision>;
  /** Of who decides; others take engines as they are. */
  readonly absences?: Absences;
  /** Of who decides; for others namespaces count that have a pool or a model now. */
  readonly homes?: Homes;
}

/** Objects that are decided upon and may be newer than the caches. */
export interface Ledger {
  readonly pools: readonly ExpertPool[];
  readonly models: readonly EnergyModel[];
  readonly book: ConfigMap | undefined;
  /** Pods that hold GPUs, and the one that asks for them. */
  readonly reserve: readonly Pod[];
}

/**
 * Namespaces that have, or had since the start, a pool or a model. Pods elsewhere are on no GPU, whatever their labels and annotations say:
 * any tenant can write these, and would keep all others from their GPUs.
 */
export class Homes {
  readonly #seen = new Set<string>();

  constructor({ pools, energyModels }: Pick<OperatorContext['caches'], 'pools' | 'energyModels'>) {
    const onAdd = ({ metadata: { namespace = '' } }: KubeObject): void => void this.#seen.add(namespace);
    pools.addHandler({ onAdd });
    energyModels.addHandler({ onAdd });
  }

  has(namespace: string): boolean {
    return this.#seen.has(namespace);
  }
}

/** Returns what tells whether an object lies where engines can be. */
function atHome(homes: Homes | undefined, { pools, models }: Ledger): (object: KubeObject) => boolean {
  const now = new Set([...pools, ...models].map(({ metadata }) => metadata.namespace ?? ''));
  return ({ metadata: { namespace = '' } }) => now.has(namespace) || homes?.has(namespace) === true;
}

/** A pool with as many pods as its ExpertScales were granted. */
export function scaledIn({ expertScales }: Pick<OperatorContext['caches'], 'expertScales'>, pool: ExpertPool): ExpertPool {
  return scaledPool(pool, expertScales.lister.list({ namespace: pool.metadata.namespace ?? '' }));
}

/** The ledger as the caches show it. */
export function cachedLedger({ caches, config }: OperatorContext): Ledger {
  return {
    pools: [...caches.pools.lister.values()].map((pool) => scaledIn(caches, pool)),
    models: [...caches.energyModels.lister.values()],
    book: caches.configMaps.lister.get(`${config.namespace}/${slotsConfigMap}`),
    reserve: cachedReserve(caches, config.namespace),
  };
}

/** Returns the progress of the Deployment of an engine on the slot of its assignment. Pure. */
export function progressOf(deployment: Deployment, { slot, uuid, holder }: Assignment, replicas: number): Progress {
  const template = deployment.spec?.template;
  const annotations = template?.metadata?.annotations;
  const at = valuesIn(annotations?.[slotLabel]).indexOf(slot);
  if (at < 0 || valuesIn(annotations?.[uuidAnnotation])[at] !== uuid || valuesIn(annotations?.[holderAnnotation])[at] !== holder)
    return 'Absent';
  return started(deployment, replicas);
}

function started(deployment: Deployment, replicas: number): Progress {
  if (deployment.spec?.replicas === 0) return 'Absent';
  if (rolledOut(deployment, replicas)) return 'Ready';
  return exceeded(deployment) ? 'Stalled' : 'Starting';
}

/** Objects of an engine: those of another revision are another engine. */
function isOf({ kind, name }: Owner, item: string): (object: KubeObject) => boolean {
  const of = kind === 'EnergyModel' ? labels.model : labels.expert;
  return ({ metadata: { labels: own = {} } }) =>
    (kind === 'EnergyModel' || own[labels.pool] === name) && itemOf(own[of] ?? '', own[labels.revision]) === item;
}

interface Marked {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
}

const isOn = ({ slot }: Assignment, { metadata }: Marked = {}): boolean => valuesIn(metadata?.annotations?.[slotLabel]).includes(slot);

/** Reports whether pods are on the slot of an assignment and have not ended, or a Deployment makes them. Pure. */
function presentOn(assignment: Assignment, deployments: readonly Deployment[], pods: readonly Pod[]): boolean {
  const makes = deployments.some(({ spec }) => spec?.replicas !== 0 && isOn(assignment, spec?.template));
  return makes || pods.some((pod) => !isOver(pod) && isOn(assignment, pod));
}

/** Time after which an engine that was let go and of which nothing was made keeps no other from its start, ms. */
export const absentMs = 120_000;

/** Engines that were let go and are not there yet: what keeps them from being made may last, and others of their GPU do not wait for it. */
export class Absences {
  readonly #clock: Clock;
  /** First time at which each was seen to be absent, monotonic ms, as of the last look. */
  #since: ReadonlyMap<string, number> = new Map();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** For one look at all engines: the same progress, with those as `Stalled` that were absent at each look for too long. */
  over(progress: ProgressOf): ProgressOf {
    const before = this.#since;
    const now = new Map<string, number>();
    this.#since = now;
    return (owner, assignment) => {
      const found = progress(owner, assignment);
      const key = `${owner.object.metadata.uid ?? owner.key} ${assignment.item} ${assignment.slot} ${assignment.uuid ?? ''}`;
      if (found !== 'Absent') return found;
      const since = now.get(key) ?? before.get(key) ?? this.#clock.monotonic();
      now.set(key, since);
      return this.#isOver(since) ? 'Stalled' : 'Absent';
    };
  }

  /** Reports whether one may soon be absent for too long. */
  isWaiting(): boolean {
    return [...this.#since.values()].some((since) => !this.#isOver(since));
  }

  #isOver(since: number): boolean {
    return this.#clock.monotonic() - since >= absentMs;
  }
}

const byHaste = ['Starting', 'Ready', 'Stalled', 'Absent'] as const satisfies readonly Progress[];

/** While one of them starts, the engine does. */
function worst(all: readonly Progress[]): Progress {
  return byHaste.find((progress) => all.includes(progress)) ?? 'Absent';
}

/** Bindings that claims and plans name. */
function recordedBindings(claims: readonly KubeObject[], { pools, models }: Ledger): readonly SlotBinding[] {
  const fromClaims = claims.flatMap((claim) => bindingOf(claim as unknown as Pick<SlotClaim, 'metadata'>) ?? []);
  const fromPlans = [...pools, ...models].flatMap(({ status }) =>
    (status?.plan?.assignments ?? []).flatMap(({ slot, uuid }) => (uuid === undefined ? [] : [{ slot, uuid, pciBusID: undefined }])),
  );
  const bySlot = (a: SlotBinding, b: SlotBinding): number => (`${a.slot} ${a.uuid}` < `${b.slot} ${b.uuid}` ? -1 : 1);
  return [...fromClaims.sort(bySlot), ...fromPlans.sort(bySlot)];
}

/** The GPUs as the caches and the ledger show them. */
function clusterOf(
  { context: { caches, config }, gpus }: Pick<PlacementSources, 'context' | 'gpus'>,
  ledger: Ledger,
  isHome: (object: KubeObject) => boolean,
): PlacementSnapshot['cluster'] {
  return {
    driver: config.gpus ?? defaultDriver,
    resourceApi: gpus.slices.isServed && gpus.claims.isServed,
    slices: gpus.slices.informer.lister.list(),
    deviceClasses: gpus.deviceClasses.informer.lister.list(),
    nodes: caches.nodes.lister.list(),
    runtimeClass: caches.runtimeClasses.lister.list().some(({ metadata }) => metadata.name === 'nvidia'),
    book: readBook(ledger.book),
    recorded: recordedBindings(gpus.claims.informer.lister.list().filter(isHome), ledger),
    holders: ledger.reserve.filter(isHome).flatMap((pod) => holderView(pod) ?? []),
  };
}

/** Reads all that decisions about placement are made from. */
export function observePlacement({ context, gpus, records, absences, homes }: PlacementSources, ledger: Ledger): PlacementSnapshot {
  const { caches, config } = context;
  const isHome = atHome(homes, ledger);
  const claims = gpus.claims.informer.lister.list();
  const pods = caches.pods.lister.byIndex(gpuIndex, onGpus).filter(isHome);
  const deployments = caches.deployments.lister.list().filter(isHome);
  const deploymentsOf = (owner: Owner, { item }: Assignment): readonly Deployment[] =>
    caches.deployments.lister.list({ namespace: owner.namespace }).filter(isOf(owner, item));
  const progress = (owner: Owner, assignment: Assignment): Progress => {
    const wanted = owner.requests.find(({ item }) => item === assignment.item)?.replicas;
    const all = deploymentsOf(owner, assignment);
    return worst(all.map((deployment) => progressOf(deployment, assignment, wanted ?? deployment.spec?.replicas ?? 1)));
  };
  const podsOf = (owner: Owner, item: string): readonly Pod[] => {
    const { kind, namespace, name } = owner;
    return caches.pods.lister.byIndex(kind === 'EnergyModel' ? 'model' : 'pool', `${namespace}/${name}`).filter(isOf(owner, item));
  };
  const present = (owner: Owner, assignment: Assignment): boolean =>
    presentOn(assignment, deploymentsOf(owner, assignment), podsOf(owner, assignment.item));
  return {
    pools: ledger.pools,
    models: ledger.models,
    claims,
    progress: absences?.over(progress) ?? progress,
    present,
    runs: (owner, { item, slot }) => podsOf(owner, item).some((pod) => !isOver(pod) && pod.spec?.nodeName === nodeOfSlot(slot)),
    occupants: occupantsOf(pods, deployments),
    inUse: holdersInUse(deployments, pods),
    probe: probeIn(ledger.reserve, config.namespace),
    revisions: { images: config.images, records: records.lister.list() },
    cluster: clusterOf({ context, gpus }, ledger, isHome),
  };
}

/** Caches of the GPUs that the API server shows; empty where it knows no dynamic resource allocation. */
export interface GpuCaches {
  readonly slices: OptionalCache<PublishedSlice>;
  readonly deviceClasses: OptionalCache<DeviceClass>;
  /** Claims that we made. */
  readonly claims: OptionalCache;
}

/** Makes the caches; the process runs them. `driver` publishes the GPUs, other devices are not kept. */
export function createGpuCaches(options: CacheOptions, driver: string): GpuCaches {
  return {
    slices: new OptionalCache({
      ...options,
      resource: resources.resourceSlices,
      fieldSelector: `spec.driver=${driver}`,
      transform: slimObject,
    }),
    deviceClasses: new OptionalCache({ ...options, resource: resources.deviceClasses, transform: slimObject }),
    claims: new OptionalCache({
      ...options,
      resource: resources.resourceClaims,
      labelSelector: `${labels.component}=${placementComponent}`,
      transform: slimObject,
    }),
  };
}
