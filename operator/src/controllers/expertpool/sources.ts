import { planChanged } from '../../operands/index.ts';
import {
  annotationsChanged,
  anyOf,
  channel,
  generationChanged,
  labelsChanged,
  toController,
  versionChanged,
  watches,
  type Informer,
  type KubeObject,
  type ObjectKey,
  type Predicate,
  type Source,
} from '@agentfleet/kube';
import type { AgentTask, EnergyModel, ExpertPool, PoolGrant, RolloutPolicy } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { warmEntry } from '../../pools/resolve.ts';
import { namesPolicy } from '../../revisions/index.ts';
import type { OperatorContext } from '../../runtime/context.ts';
import { type Heartbeats, changeSource } from '../../runtime/heartbeats.ts';
import { type Pod, resources } from '../../runtime/resources.ts';
import { traitsOf } from '../../runtime/taskCensus.ts';
import { accessOf, childKinds, type ChildCaches } from './caches.ts';
import { countedAs } from './snapshot.ts';
import { poolKey } from './tenancy.ts';
import { anyDefault, namedPool, warmPoolOf } from '../../runtime/poolIndex.ts';

/** What a pool counts or serves changed. */
const taskMoved: Predicate<AgentTask> = (change) => {
  if (change.type !== 'update') return true;
  const [a, b] = [change.old.status, change.object.status];
  return countedAs(traitsOf(change.old)) !== countedAs(traitsOf(change.object)) || a?.assignment?.worker !== b?.assignment?.worker;
};

/** The pool in whose namespace the object is, by its label. */
function labelled(object: KubeObject): readonly ObjectKey[] {
  const { namespace, labels: own } = object.metadata;
  const name = own?.[labels.pool];
  return namespace === undefined || name === undefined ? [] : [`${namespace}/${name}`];
}

function madeAhead(pod: Pod): readonly ObjectKey[] {
  const pool = warmPoolOf(pod);
  return pool === undefined ? [] : [pool];
}

/** Pools that a task may belong to. */
function poolsOf({ caches }: OperatorContext): (task: AgentTask) => readonly ObjectKey[] {
  return (task) => {
    const named = namedPool(task);
    const keys = named === anyDefault ? [...caches.pools.lister.values()].filter(({ spec }) => spec.default).map(poolKey) : [named];
    const { worker, workerNamespace } = task.status?.assignment ?? {};
    const pod = caches.pods.lister.get(`${workerNamespace ?? ''}/${worker ?? ''}`);
    return [...keys, ...(pod === undefined ? [] : labelled(pod))];
  };
}

/** A worker's Lease has the name of its pod. */
function leaseSource({ caches }: OperatorContext, heartbeats: Heartbeats): Source {
  const beats = channel('heartbeats');
  const start: Source['start'] = (enqueue) => {
    const stop = beats.source.start(enqueue);
    const end = heartbeats.onChange((key) => {
      const pod = caches.pods.lister.get(key);
      for (const pool of pod === undefined ? [] : labelled(pod)) beats.enqueue(pool);
    });
    return () => {
      end();
      stop();
    };
  };
  return { ...beats.source, start };
}

/** All that makes a pool be looked at again. */
export function poolSources(context: OperatorContext, children: ChildCaches, heartbeats: Heartbeats): readonly Source[] {
  const { tasks, pods, pools, poolGrants, rolloutPolicies, namespaces, energyModels } = context.caches;
  const owner = toController(resources.expertPools, (key) => pools.lister.get(key));
  const child = (cache: Informer): Source =>
    watches(cache, {
      // What a pool keeps has no owner, and what stands elsewhere has a label.
      map: (object) => [...new Set([...owner(object), ...labelled(object), ...accessOf(object)])],
      predicate: versionChanged,
    });
  const selecting = (): readonly ObjectKey[] =>
    [...pools.lister.values()].filter(({ spec }) => spec.allowedNamespaces.from === 'Selector').map(poolKey);
  const wanting = ({ metadata }: PoolGrant): readonly ObjectKey[] =>
    [...pools.lister.values()].filter((pool) => pool.spec.default || warmEntry(pool, metadata.namespace ?? '') !== undefined).map(poolKey);
  const naming = ({ metadata }: EnergyModel): readonly ObjectKey[] =>
    pools.lister
      .list({ namespace: metadata.namespace ?? '' })
      .filter(({ spec }) => spec.energyModelRef?.name === metadata.name)
      .map(poolKey);
  // A model's policy says how much its shadow is copied, which workers read in the pool's brief.
  const ruled = (policy: RolloutPolicy): readonly ObjectKey[] => {
    const namespace = policy.metadata.namespace ?? '';
    const byModel = energyModels.lister.list({ namespace }).filter((model) => namesPolicy(model, policy));
    const own = pools.lister.list({ namespace }).filter((pool) => namesPolicy(pool, policy));
    return [...own.map(poolKey), ...byModel.flatMap(naming)];
  };
  return [
    // An annotation says which ablations its tasks may ask for; the plan says where its experts sit.
    watches<ExpertPool>(pools, { predicate: anyOf<ExpertPool>(generationChanged, annotationsChanged, planChanged) }),
    watches(tasks, { map: poolsOf(context), predicate: taskMoved }),
    watches(pods, {
      // Sandboxes are counted when they were made ahead.
      map: (pod) => (pod.metadata.labels?.[labels.component] === 'sandbox' ? madeAhead(pod) : labelled(pod)),
      predicate: versionChanged,
    }),
    watches(poolGrants, { map: wanting, predicate: versionChanged }),
    watches(energyModels, { map: naming, predicate: versionChanged }),
    watches(rolloutPolicies, { map: ruled, predicate: generationChanged }),
    watches(namespaces, { map: selecting, predicate: labelsChanged }),
    leaseSource(context, heartbeats),
    changeSource(context.tokens, () => [...pools.lister.values()].map(poolKey)),
    ...(context.apiServer === undefined ? [] : [changeSource(context.apiServer, () => [...pools.lister.values()].map(poolKey))]),
    ...childKinds(context.caches, children).map(({ cache }) => child(cache)),
  ];
}
