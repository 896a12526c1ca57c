/**
 * ExpertScale: grants pods of experts, as many as are asked for and have room. `decide` is pure; what pools run is read by
 * `scaledPool` of pools/scales. May import placement, which knows what fits, operands, pools and runtime.
 */
import {
  canonical,
  Consistency,
  Controller,
  done,
  keyOf,
  requeueAfter,
  ResourceClient,
  watches,
  type Informer,
  type KubeObject,
  type Outcome,
  type ReconcileContext,
} from '@agentfleet/kube';
import { fieldManagers, type ExpertPool, type ExpertScale, type ExpertScaleStatus } from '@agentfleet/protocol/api';
import { scaledPool, scalesOf, withReplicas } from '../../pools/scales.ts';
import type { Caches, OperatorContext } from '../../runtime/context.ts';
import { ConflictBackoff } from '../../runtime/conflicts.ts';
import { type ControllerRevision, resources } from '../../runtime/resources.ts';
import { heldPods, lackOf, placeless, type GpuCaches } from '../placement/index.ts';
import { decideScale } from './decide.ts';

/** Time until an ExpertScale for which GPUs have no room is looked at again, ms: no event reports that memory came free. */
const roomMs = 15_000;

/** Sources of the controller. */
interface Sources {
  readonly context: OperatorContext;
  readonly gpus: GpuCaches;
  /** Revisions of pools. */
  readonly records: Informer<ControllerRevision>;
}

const beside = ({ expertScales }: Caches, { metadata: { namespace = '' } }: KubeObject): readonly ExpertScale[] =>
  expertScales.lister.list({ namespace });

/** Follows ExpertScales. The caches of the context must be run by the caller. */
export function createExpertScaleController(context: OperatorContext, gpus: GpuCaches, records: Informer<ControllerRevision>): Controller {
  const { caches } = context;
  const scales = new ScaleReconciler({ context, gpus, records });
  return new Controller({
    name: 'expertscale',
    sources: [
      // One that goes leaves its expert to the next.
      watches(caches.expertScales, { map: (scale) => [...new Set([scale, ...beside(caches, scale)].map(keyOf))] }),
      watches(caches.pools, {
        map: (pool) =>
          beside(caches, pool)
            .filter(({ spec }) => spec.poolRef.name === pool.metadata.name)
            .map(keyOf),
      }),
    ],
    reconcile: (key, call) => scales.reconcile(key, call),
    maxConcurrent: 1,
    gate: scales.consistency,
    ...context,
  });
}

class ScaleReconciler {
  readonly consistency: Consistency;
  readonly #sources: Sources;
  readonly #scales: ResourceClient<ExpertScale>;
  readonly #conflicts = new ConflictBackoff();

  constructor(sources: Sources) {
    const { transport, clock } = sources.context;
    this.#sources = sources;
    this.consistency = new Consistency({ clock, pollMs: 25 });
    this.#scales = new ResourceClient(transport, resources.expertScales);
  }

  async reconcile(key: string, { signal }: ReconcileContext): Promise<Outcome> {
    const scale = this.#sources.context.caches.expertScales.lister.get(key);
    if (scale === undefined || scale.metadata.deletionTimestamp !== undefined) {
      this.consistency.forget(key);
      this.#conflicts.forget(key);
      return done;
    }
    const status = this.#decide(scale);
    return this.#conflicts.tried(key, async () => {
      if (canonical(scale.status ?? {}) !== canonical(status)) await this.#write(scale, status, signal);
      const { granted } = status;
      return granted !== undefined && granted < scale.spec.replicas ? requeueAfter(roomMs) : done;
    });
  }

  #decide(scale: ExpertScale): ExpertScaleStatus {
    const { context, records } = this.#sources;
    const { caches, clock, config } = context;
    const { poolRef, expert } = scale.spec;
    const all = beside(caches, scale);
    const found = caches.pools.lister.get(`${scale.metadata.namespace ?? ''}/${poolRef.name}`);
    const pool = found === undefined ? undefined : scaledPool(found, all);
    const lack = (replicas: number): string | undefined => (pool === undefined ? undefined : this.#lack(pool, expert, replicas));
    const held = (): number => (pool === undefined ? 0 : heldPods(pool, expert, { images: config.images, records: records.lister.list() }));
    return decideScale({ scale, pool, first: scalesOf(poolRef.name, expert, all)[0] ?? scale, held, lack }, clock.now());
  }

  /** Returns the reason why so many pods have no room. */
  #lack(pool: ExpertPool, expert: string, replicas: number): string | undefined {
    const now = this.#sources.context.clock.now();
    const before = placeless(this.#sources, [], now);
    const after = placeless(this.#sources, [withReplicas(pool, expert, replicas)], now);
    return lackOf(pool, expert, before, after);
  }

  async #write(scale: ExpertScale, status: ExpertScaleStatus, signal: AbortSignal): Promise<void> {
    const { name, namespace = '', resourceVersion } = scale.metadata;
    const options = { fieldManager: fieldManagers.operator, signal };
    const seen = await this.#scales.applyStatus({ metadata: { name, namespace, resourceVersion }, status }, options);
    this.consistency.wrote(keyOf(scale), this.#sources.context.caches.expertScales, seen);
  }
}
