import { randomBytes } from 'node:crypto';
import {
  anyOf,
  Controller,
  done,
  keyOf,
  labelsChanged,
  sourceOf,
  watches,
  type KubeObject,
  type Outcome,
  type Predicate,
  type ReconcileContext,
  type Source,
  isAlreadyExists,
  isRefused,
  isWebhookFailure,
  ResourceClient,
  type Transport,
} from '@agentfleet/kube';
import { type AgentTask, type ExpertPool, fieldManagers } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { poolChanged } from '../../../pools/resolve.ts';
import type { Caches, OperatorContext } from '../../../runtime/context.ts';
import { changeSource } from '../../../runtime/heartbeats.ts';
import { resources, type Namespace } from '../../../runtime/resources.ts';
import { traitsOf } from '../../../runtime/taskCensus.ts';
import { jwksConfigMap, linkSecret } from '../../agenttask/sandbox/pod.ts';
import { accessIndex, accessOf, type ChildCaches, type Child, type ChildWriter } from '../children.ts';
import { homeOf } from '../../../operands/manifest.ts';
import { Tenancy } from '../tenancy.ts';
import { decideNamespace, sandboxWall, type NamespaceSnapshot } from './decide.ts';

/** Dependencies of this controller besides the context. */
interface ServedOptions {
  readonly children: ChildCaches;
  readonly writer: ChildWriter;
  /** The key of a namespace; tests set it. Unguessable, ≥ 32 characters. */
  readonly newLinkKey?: () => string;
}

/** Every sandbox that comes or goes is a reason to look at its namespace; the first is looked at at once. */
const floorMs = 250;

/** The wall and the signing keys. */
const sharedParts = 2;

const wallName = sandboxWall('', []).object.metadata.name;

const own = (object: KubeObject): readonly string[] => (object.metadata.namespace === undefined ? [] : [object.metadata.namespace]);

/** Coming and going of tasks, and the changes that decide whose workers need to reach them. */
const tenancyChanged: Predicate<AgentTask> = (change) => {
  if (change.type !== 'update') return true;
  const [a, b] = [change.old.status, change.object.status];
  return a?.finished !== b?.finished || a?.assignment?.worker !== b?.assignment?.worker;
};

const presence: Predicate<KubeObject> = (change) => change.type !== 'update';

const goes: Predicate<KubeObject> = (change) =>
  change.type !== 'update' || change.old.metadata.deletionTimestamp !== change.object.metadata.deletionTimestamp;

/** Namespaces that a pool serves, served, or may serve now. */
function reachOf(context: OperatorContext, children: ChildCaches): (pool: ExpertPool) => readonly string[] {
  const { census } = context.caches;
  return (pool) => {
    const objects: KubeObject[] = [...children.roleBindings.lister.byIndex(accessIndex, keyOf(pool))];
    const warm = (pool.spec.sandbox.warm ?? []).map(({ namespace }) => namespace);
    const naming = [...census.groups()].filter(({ namespace, poolRef }) =>
      poolRef === undefined ? pool.spec.default : `${poolRef.namespace ?? namespace}/${poolRef.name}` === keyOf(pool),
    );
    return [...new Set([homeOf(pool), ...warm, ...objects.flatMap(own), ...naming.map(({ namespace }) => namespace)])];
  };
}

function sourcesOf(context: OperatorContext, children: ChildCaches): readonly Source[] {
  const { tasks, census, pods, pools, poolGrants, namespaces, configMaps } = context.caches;
  const isKeys = (object: KubeObject): boolean => object.metadata.name === jwksConfigMap;
  return [
    watches(tasks, { map: own, predicate: tenancyChanged }),
    watches(pods, { map: (pod) => (pod.metadata.labels?.[labels.component] === 'sandbox' ? own(pod) : []), predicate: presence }),
    watches(pools, { map: reachOf(context, children), predicate: poolChanged }),
    watches(poolGrants, { map: own }),
    watches(namespaces, { predicate: anyOf(labelsChanged, goes) }),
    watches(children.roles, { map: (object) => (accessOf(object).length > 0 ? own(object) : []) }),
    watches(children.roleBindings, { map: (object) => (accessOf(object).length > 0 ? own(object) : []) }),
    watches(children.networkPolicies, { map: (object) => (object.metadata.name === wallName ? own(object) : []) }),
    watches(configMaps, { map: (object) => (isKeys(object) ? own(object) : []) }),
    changeSource(context.tokens, () => configMaps.lister.list().filter(isKeys).flatMap(own)),
    sourceOf('gone', (enqueue) => census.onGone(enqueue)),
  ];
}

/** ConfigMaps that unfinished tasks of a namespace name, by the pools that run them. */
function filesIn({ tasks }: Caches, tenancy: Tenancy, namespace: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, Set<string>>();
  for (const task of tasks.lister.byIndex('namespace', namespace)) {
    const { workspace } = task.spec;
    if (workspace.type !== 'ConfigMap') continue;
    const pool = tenancy.poolOf(traitsOf(task));
    if (pool === undefined) continue;
    const names = found.get(keyOf(pool)) ?? new Set();
    found.set(keyOf(pool), names.add(workspace.configMap.name));
  }
  return new Map([...found].map(([pool, names]) => [pool, [...names].sort()]));
}

/** Reads what is known about a namespace; undefined when there is no such namespace. */
function observe(context: OperatorContext, children: ChildCaches, name: string): NamespaceSnapshot | undefined {
  const { caches, config, tokens } = context;
  const namespace = caches.namespaces.lister.get(name);
  if (namespace === undefined) return undefined;
  const tenancy = new Tenancy(caches, config);
  const wall = children.networkPolicies.lister.get(`${name}/${wallName}`);
  const keys = caches.configMaps.lister.get(`${name}/${jwksConfigMap}`);
  const shared: Child[] = [
    ...(wall === undefined ? [] : [{ resource: resources.networkPolicies, object: wall }]),
    ...(keys === undefined ? [] : [{ resource: resources.configMaps, object: keys }]),
  ];
  return {
    namespace,
    pools: tenancy.poolsIn(name),
    sandboxes: caches.pods.lister.list({ namespace: name }).some(({ metadata }) => metadata.labels?.[labels.component] === 'sandbox'),
    workerClusterRole: config.workerClusterRole,
    jwks: tokens.jwks(),
    files: filesIn(caches, tenancy, name),
    access: children.roleBindings.lister.list({ namespace: name }).filter((object) => accessOf(object).length > 0),
    roles: children.roles.lister.list({ namespace: name }).filter((object) => accessOf(object).length > 0),
    shared,
  };
}

/**
 * Keeps in each namespace with tasks what its sandboxes and the workers need: the wall, the signing keys, and the
 * workers' access. One key is one namespace, so that pools that share it cannot write against each other.
 */
export function createServedNamespaceController(context: OperatorContext, options: ServedOptions): Controller {
  const { newLinkKey = () => randomBytes(32).toString('base64url') } = options;
  const linkKeys = new LinkKeys(context.transport, newLinkKey);
  const prepare = async (snapshot: NamespaceSnapshot, signal: AbortSignal): Promise<void> => {
    const { apply, remove, linkKey } = decideNamespace(snapshot);
    const { name } = snapshot.namespace.metadata;
    if (snapshot.shared.length < sharedParts) linkKeys.forget(name);
    if (linkKey === 'Keep') await linkKeys.ensure(snapshot.namespace, signal);
    else if (linkKey === 'Remove') await linkKeys.remove(name, signal);
    for (const manifest of apply) await options.writer.apply(manifest, signal);
    for (const child of remove) await options.writer.remove(child, signal);
    if (remove.length > 0) context.log.info('no longer served', { namespace: name, removed: remove.map(({ object }) => keyOf(object)) });
  };
  const reconcile = async (key: string, { signal }: ReconcileContext): Promise<Outcome> => {
    const snapshot = observe(context, options.children, key);
    if (snapshot === undefined) {
      linkKeys.forget(key);
      context.unprepared?.delete(key);
      return done;
    }
    try {
      await prepare(snapshot, signal);
      context.unprepared?.delete(key);
    } catch (error) {
      // Its tasks wait for that, and no object of the namespace reports it.
      if (isRefused(error) || isWebhookFailure(error)) context.unprepared?.set(key, error.message);
      throw error;
    }
    return done;
  };
  const sources = sourcesOf(context, options.children);
  return new Controller({ name: 'servednamespace', sources, reconcile, maxConcurrent: 4, floorMs, ...context });
}

/** `v1.Secret` as it is written; it is never read. */
interface LinkSecret extends KubeObject {
  readonly type?: 'Opaque';
  readonly immutable?: true;
  readonly stringData?: Readonly<Record<string, string>>;
}

/**
 * The key by which keepers and runners of a namespace recognise each other. The operator makes it and cannot read it: one
 * that is there stays, and after a start each is made sure of once.
 */
class LinkKeys {
  readonly #secrets: ResourceClient<LinkSecret>;
  readonly #newKey: () => string;
  /** Uids of the namespaces that have one, by their names. */
  readonly #known = new Map<string, string | undefined>();

  /** `newKey`: unguessable, ≥ 32 characters. */
  constructor(transport: Transport, newKey: () => string) {
    this.#secrets = new ResourceClient<LinkSecret>(transport, resources.secrets);
    this.#newKey = newKey;
  }

  /** Resolves when the namespace has a key. */
  async ensure({ metadata: { name: namespace, uid } }: Namespace, signal: AbortSignal): Promise<void> {
    if (this.#known.has(namespace) && this.#known.get(namespace) === uid) return;
    const metadata = { name: linkSecret.name, namespace, labels: { [labels.component]: 'sandbox' } };
    const secret: LinkSecret = { metadata, type: 'Opaque', immutable: true, stringData: { [linkSecret.key]: this.#newKey() } };
    try {
      await this.#secrets.create(secret, { fieldManager: fieldManagers.operator, signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    this.#known.set(namespace, uid);
  }

  /** Deletes the key of a namespace without sandboxes. */
  async remove(namespace: string, signal: AbortSignal): Promise<void> {
    this.#known.delete(namespace);
    await this.#secrets.remove({ metadata: { name: linkSecret.name, namespace } }, { signal });
  }

  /** The namespace is gone, or what else it holds for sandboxes: perhaps its key with it. */
  forget(namespace: string): void {
    this.#known.delete(namespace);
  }
}
