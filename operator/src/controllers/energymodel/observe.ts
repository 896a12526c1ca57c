import { keyOf } from '@agentfleet/kube';
import type { EnergyModel } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { verifierName } from '../../pools/names.ts';
import { namedPolicy } from '../../revisions/index.ts';
import type { OperatorContext } from '../../runtime/context.ts';
import type { Pod } from '../../runtime/resources.ts';
import { clusterAccess, newestReady, type InfoReader, type ServerInfo } from '../../serving/index.ts';
import { childKinds, childrenIn, jobsOf, type ChildCaches, type Child } from '../expertpool/children.ts';
import type { NoteReader } from '../../serving/notes.ts';
import { recordedModels } from './rollouts.ts';
import type { ModelSnapshot } from './snapshot.ts';

/** Sources that models are observed with. */
export interface ModelObserver {
  readonly context: OperatorContext;
  readonly children: ChildCaches;
  readonly notes: NoteReader;
  readonly infos: InfoReader;
}

/** Kinds that a model consists of, in the caches that pools use too. */
export function modelKinds({ context, children }: Pick<ModelObserver, 'context' | 'children'>) {
  const own: ReadonlySet<string> = new Set(['networkpolicies', 'services', 'deployments', 'controllerrevisions', 'configmaps', 'jobs']);
  return childKinds(context.caches, children).filter(({ resource }) => own.has(resource.plural));
}

function childrenOf(observer: ModelObserver, { metadata }: EnergyModel): readonly Child[] {
  const name = verifierName(metadata.name);
  return childrenIn(
    modelKinds(observer),
    metadata.namespace ?? '',
    (object) => object.metadata.labels?.[labels.model] === metadata.name || object.metadata.name === name,
  );
}

/** Pods by the revision that they serve; those of none under the empty name. */
function byRevision(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  return Map.groupBy(pods, ({ metadata }) => metadata.labels?.[labels.revision] ?? '');
}

/** Returns the report of the newest ready pod of each revision. */
async function infosOf(infos: InfoReader, pods: readonly Pod[], signal: AbortSignal): Promise<ReadonlyMap<string, ServerInfo>> {
  const newest = [...byRevision(pods).values()].flatMap((own) => newestReady(own) ?? []);
  const found = await infos.read(newest, signal);
  return new Map(
    newest.flatMap(({ metadata }) => {
      const info = found.get(metadata.name);
      return info === undefined ? [] : [[metadata.labels?.[labels.revision] ?? '', info] as const];
    }),
  );
}

/** Reads all that decisions about a model are made from. What no cache holds is asked for, and remembered. */
export async function observeModel(observer: ModelObserver, model: EnergyModel, signal: AbortSignal): Promise<ModelSnapshot> {
  const { context, notes, infos } = observer;
  const { caches, config } = context;
  const allNow = (component: string): readonly Pod[] =>
    caches.pods.lister.byIndex('model', keyOf(model)).filter(({ metadata }) => metadata.labels?.[labels.component] === component);
  const podsNow = (): readonly Pod[] => allNow('verifier');
  const known = await notes.read(podsNow(), signal, jobsOf(observer.children, model));
  const servers = await infosOf(infos, podsNow(), signal);
  // From here on nothing waits, so that all caches are read at one moment.
  const namespace = model.metadata.namespace ?? '';
  const deployments = new Map(caches.deployments.lister.list({ namespace }).map((found) => [found.metadata.name, found]));
  const allPods = byRevision(podsNow());
  return {
    model,
    image: config.images.inference,
    operatorNamespace: config.namespace,
    access: clusterAccess(context),
    prometheusNamespace: config.prometheusNamespace,
    policy: namedPolicy(model, 'EnergyModel', caches.rolloutPolicies.lister),
    children: childrenOf(observer, model),
    deployment: deployments.get(verifierName(model.metadata.name)),
    pods: allPods.get('') ?? [],
    notes: known,
    info: servers.get(''),
    recorded: recordedModels(model, observer.children.controllerRevisions.lister.list({ namespace })),
    deployments,
    allPods,
    goldenPods: allNow('golden'),
    infos: servers,
  };
}
