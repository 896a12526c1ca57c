import type { ExpertPool, Reason } from '@agentfleet/protocol/api';
import { isUnclaimed, warmEntry, poolLookup, mayWarm, isAccepted, poolChanged } from '../../pools/resolve.ts';
import type { ReachConfig } from '../../pools/consent.ts';
import type { Caches, OperatorContext } from '../../runtime/context.ts';
import { isTerminating, type ConfigMap, type Pod } from '../../runtime/resources.ts';
import { Preparations } from '../agenttask/sandbox/state.ts';
import { type WarmPlace, decideWarm } from './decide.ts';
import { Consistency, Controller, done, keyOf, requeueAfter, watches, type Outcome, type Source } from '@agentfleet/kube';
import { labels } from '@agentfleet/protocol/pool';
import { recordComponent, recordKeys } from '../../pools/made.ts';
import { jwksConfigMap } from '../agenttask/sandbox/pod.ts';
import { withCure } from '../agenttask/verdict.ts';
import { refusedBecause } from '../agenttask/sandbox/refusal.ts';
import { capabilitiesOf, cordonedBy, sameAbility } from '../agenttask/sandbox/capabilities.ts';
import { TemplateHashes, type TemplateSource } from '../agenttask/sandbox/template.ts';
import { WarmExecutor, WarmRecords } from './execute.ts';
import { warmIndex, warmOf } from '../../runtime/caches.ts';

/** Namespaces in which sandboxes of the pool wait or are to wait. `pool` is undefined when it is gone or going. */
function placesOf(
  caches: Caches,
  reach: ReachConfig,
  preparations: Preparations,
  key: string,
  pool: ExpertPool | undefined,
): readonly WarmPlace[] {
  const { pods, namespaces } = caches;
  const lookup = poolLookup(caches, reach);
  const waiting = pods.lister.byIndex(warmIndex, key).filter(isUnclaimed);
  const wanted = pool?.spec.sandbox.warm ?? [];
  const names = new Set([...wanted.map(({ namespace }) => namespace), ...waiting.map(({ metadata }) => metadata.namespace ?? '')]);
  return [...names].sort().map((name) => {
    const namespace = namespaces.lister.get(name);
    const allowed = pool !== undefined && namespace !== undefined && !isTerminating(namespace) && mayWarm(pool, name, lookup);
    return {
      namespace: name,
      entry: allowed ? warmEntry(pool, name) : undefined,
      // A pool that cannot be carried out as it is gets nothing new.
      prepared: allowed && isAccepted(pool) && preparations.of(pool)(name),
      pods: waiting.filter(({ metadata }) => metadata.namespace === name),
    };
  });
}

type Troubles = ReturnType<typeof decideWarm>['troubles'];

/** Options that tests set. */
interface WarmPoolOptions {
  /** Ms between two looks whether the caches show our own writes. */
  readonly pollMs?: number;
}

/** A refused sandbox is tried again after this: quotas and admission change without our hearing of it. */
const refusedRetryMs = 30_000;

function sourcesOf({ caches }: OperatorContext): readonly Source[] {
  const { pools, poolGrants, pods, namespaces, nodes, runtimeClasses, configMaps } = caches;
  // The abilities of the nodes may decide whether sandboxes have users of their own.
  const all = (): readonly string[] => [...pools.lister.values()].filter(({ spec }) => spec.sandbox.warm !== undefined).map(keyOf);
  const wanting = (namespace: string): readonly string[] =>
    [...pools.lister.values()]
      .filter(({ spec }) => spec.sandbox.warm?.some((entry) => entry.namespace === namespace))
      .map((pool) => keyOf(pool));
  const prepared = ({ metadata, data }: ConfigMap): readonly string[] => {
    const { namespace = '', name, labels: own } = metadata;
    if (own?.[labels.component] === recordComponent) return data?.[recordKeys.pool] === undefined ? [] : [data[recordKeys.pool] ?? ''];
    if (name === jwksConfigMap) return wanting(namespace);
    const pool = own?.[labels.pool];
    return pool === undefined ? [] : [`${namespace}/${pool}`];
  };
  return [
    watches(pools, { predicate: poolChanged }),
    watches(pods, { map: warmOf }),
    watches(poolGrants, { map: ({ metadata }) => wanting(metadata.namespace ?? '') }),
    watches(namespaces, { map: ({ metadata }) => wanting(metadata.name) }),
    watches(configMaps, { map: prepared }),
    watches(nodes, { map: all, predicate: (change) => change.type !== 'update' || !sameAbility(change.old, change.object) }),
    watches(runtimeClasses, { map: all }),
  ];
}

function presentPool({ caches }: OperatorContext, key: string): ExpertPool | undefined {
  const pool = caches.pools.lister.get(key);
  return pool?.metadata.deletionTimestamp === undefined ? pool : undefined;
}

/** Reports why the API server makes no sandbox, or none comes to work, by namespace. */
function tell(
  { log, events }: OperatorContext,
  pool: ExpertPool | undefined,
  refusals: ReadonlyMap<string, string>,
  troubles: Troubles,
): void {
  if (pool === undefined) return;
  for (const [namespace, trouble] of troubles) {
    events.record(pool, {
      type: 'Warning',
      reason: 'WarmSandboxNotStarted' satisfies Reason,
      action: 'Warm',
      note: `namespace ${namespace}: ${trouble.reason}: ${withCure(trouble)}`,
    });
  }
  for (const [namespace, why] of refusals) {
    log.warn('no sandbox can be made ahead', { pool: keyOf(pool), namespace, why });
    events.record(pool, {
      type: 'Warning',
      reason: 'WarmSandboxRefused' satisfies Reason,
      action: 'Warm',
      note: `namespace ${namespace}: ${why}; ${refusedBecause(why).cure}`,
    });
  }
}

/**
 * Keeps as many sandboxes ready as pools ask for, so that a task need not wait for one. One key is one pool. What a task
 * has taken is the task's.
 */
export function createWarmPoolController(context: OperatorContext, options: WarmPoolOptions = {}): Controller {
  const { caches, clock, config, tokens } = context;
  const consistency = new Consistency({ clock, pollMs: options.pollMs ?? 25 });
  const records = new WarmRecords(context, consistency);
  const executor = new WarmExecutor({ context, consistency, records });
  const preparations = new Preparations(caches);
  const hashes = new TemplateHashes();
  const reconcile = async (key: string, { signal }: { readonly signal: AbortSignal }): Promise<Outcome> => {
    const pool = presentPool(context, key);
    const source: TemplateSource | undefined =
      pool === undefined ? undefined : { pool, config, issuer: tokens.issuer(), capabilities: capabilitiesOf(caches) };
    const template = source === undefined ? '' : hashes.of(source, source.pool.spec.policy.minIsolation);
    const places = placesOf(caches, config, preparations, key, pool);
    const waiting = places.flatMap(({ pods }) => pods);
    const isOurs = (pod: Pod): boolean => records.has(key, pod);
    const { actions, troubles, requeueAfterMs } = decideWarm(
      { places, template, isOurs, isCordoned: cordonedBy(caches), madeAt: executor.madeAt(key, waiting) },
      clock.now(),
    );
    const refusals = await executor.run(key, actions, source, signal);
    if (pool === undefined && waiting.length === 0) await records.remove(key, signal);
    else await records.write(key, waiting, signal);
    tell(context, pool, refusals, troubles);
    const waits = [requeueAfterMs ?? Infinity, refusals.size === 0 ? Infinity : refusedRetryMs];
    const next = Math.min(...waits);
    return Number.isFinite(next) ? requeueAfter(next) : done;
  };
  return new Controller({ name: 'warmpool', sources: sourcesOf(context), reconcile, maxConcurrent: 2, gate: consistency, ...context });
}
