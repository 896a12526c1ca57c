import { keyOf } from '@agentfleet/kube';
import type { EnergyModel } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { verifierName } from '../../pools/names.ts';
import type { OperatorContext } from '../../runtime/context.ts';
import type { Pod } from '../../runtime/objects.ts';
import { newestReady, type InfoReader } from '../../serving/index.ts';
import { childKinds, type ChildCaches } from '../expertpool/caches.ts';
import type { Child } from '../expertpool/children.ts';
import type { NoteReader } from '../expertpool/notes.ts';
import type { ModelSnapshot } from './snapshot.ts';

/** What models are observed with. */
export interface ModelObserver {
  readonly context: OperatorContext;
  readonly children: ChildCaches;
  readonly notes: NoteReader;
  readonly infos: InfoReader;
}

/** Kinds that a model consists of, in the caches that pools use too. */
export function modelKinds({ context, children }: Pick<ModelObserver, 'context' | 'children'>) {
  const own: ReadonlySet<string> = new Set(['networkpolicies', 'services', 'deployments']);
  return childKinds(context.caches, children).filter(({ resource }) => own.has(resource.plural));
}

function childrenOf(observer: ModelObserver, { metadata }: EnergyModel): readonly Child[] {
  const name = verifierName(metadata.name);
  return modelKinds(observer).flatMap(({ resource, cache }) =>
    cache.lister
      .list({ namespace: metadata.namespace ?? '' })
      .filter((object) => object.metadata.labels?.[labels.model] === metadata.name || object.metadata.name === name)
      .map((object) => ({ resource, object })),
  );
}

/** Reads all that decisions about a model are made from. What no cache holds is asked for, and remembered. */
export async function observeModel(observer: ModelObserver, model: EnergyModel, signal: AbortSignal): Promise<ModelSnapshot> {
  const { context, notes, infos } = observer;
  const { caches, config } = context;
  const podsNow = (): readonly Pod[] => caches.pods.lister.byIndex('model', keyOf(model));
  const known = await notes.read(podsNow(), signal);
  const asked = newestReady(podsNow());
  const told = asked === undefined ? undefined : await infos.read([asked], signal);
  // From here on nothing waits, so that all caches are read at one moment.
  return {
    model,
    image: config.images.inference,
    operatorNamespace: config.namespace,
    children: childrenOf(observer, model),
    deployment: caches.deployments.lister.get(`${model.metadata.namespace ?? ''}/${verifierName(model.metadata.name)}`),
    pods: podsNow(),
    notes: known,
    info: told?.get(asked?.metadata.name ?? ''),
  };
}
