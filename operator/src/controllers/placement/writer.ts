import type { Owner } from './model/index.ts';
import { Applier, findCondition, keyOf, ResourceClient, type KubeObject } from '@agentfleet/kube';
import { fieldManagers, type EnergyModel, type ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import type { OperatorContext } from '../../runtime/context.ts';
import { type ConfigMap, resources } from '../../runtime/resources.ts';
import { scaledIn, type GpuCaches, type Ledger } from './observe.ts';
import { placementComponent, type ClaimManifest } from './claims.ts';
import type { PlacementDecision, PlacementStatus } from './decide.ts';
import { ReserveWriter } from './reserve/index.ts';
import { slotsConfigMap } from './slots.ts';

interface Notes {
  readonly bindings: string | undefined;
  readonly probes: string | undefined;
  readonly problems: string | undefined;
}

/** Reads the ledger again and writes what was decided: names of slots first, then claims, then who may start. */
export class PlacementWriter {
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
      this.#pools.list({ signal }),
      this.#models.list({ signal }),
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
    // What is not declared any more is taken away: all that is ours is declared.
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
