import type { V1PodSpec } from '@kubernetes/client-node';
import { fieldManagers } from '@agentfleet/protocol/api';
import { isAlreadyExists, isConflict, isNotFound, ResourceClient } from '@agentfleet/kube';
import type { OperatorContext, Caches } from '../../../runtime/context.ts';
import { type ConfigMap, type Pod, isOver, resources, type Deployment } from '../../../runtime/resources.ts';
import { endSeconds, holderPod, type HolderChanges } from './holders.ts';
import { probePod, type ProbeChanges, probeComponent, probeName } from './probe.ts';
import { holderComponent } from '../../../operands/index.ts';
import { listFollowed, podWith } from '../../../runtime/settings.ts';
import { labels } from '@agentfleet/protocol/pool';
import { holderAnnotation, valuesIn } from '../../../placement/index.ts';
import { gpuIndex, onGpus } from '../../../runtime/caches.ts';

const fieldManager = fieldManagers.placement;

/** Lets another client be faster: what follows is decided again from what is there. */
async function passed(write: Promise<unknown>): Promise<void> {
  await write.catch((error: unknown) => {
    if (!isNotFound(error) && !isConflict(error) && !isAlreadyExists(error)) throw error;
  });
}

/** Makes and ends the pods that hold GPUs, and the one that asks for them. Names are fixed: of each there is one at most. */
export class ReserveWriter {
  readonly #context: OperatorContext;
  readonly #pods: ResourceClient<Pod>;

  constructor(context: OperatorContext) {
    this.#context = context;
    this.#pods = new ResourceClient(context.transport, resources.pods);
  }

  /** All of them as the server has them now: a cache may not show one that an earlier leader made. */
  async read(signal: AbortSignal): Promise<readonly Pod[]> {
    return listFollowed(this.#pods, this.#context.config.watchNamespaces, { labelSelector: reserveSelector, signal });
  }

  async hold({ make, own }: HolderChanges, signal: AbortSignal): Promise<void> {
    const image = this.#context.config.images.inference;
    for (const wanted of make) await passed(this.#pods.create(this.#set(holderPod(wanted, image)), { fieldManager, signal }));
    for (const { pod, ownerReferences } of own) {
      const { name, namespace = '', uid } = pod.metadata;
      // The uid: a pod of the same name that was made since has its own owners.
      await passed(this.#pods.patch({ name, namespace }, { metadata: { uid, ownerReferences } }, { fieldManager, signal }));
    }
  }

  async ask({ make, end }: Pick<ProbeChanges, 'make' | 'end'>, book: ConfigMap | undefined, signal: AbortSignal): Promise<void> {
    if (end !== undefined) await this.end([end], signal);
    if (make === undefined || book === undefined) return;
    const { namespace, images } = this.#context.config;
    const { name, uid = '' } = book.metadata;
    const pod = probePod(make, namespace, images.inference, { apiVersion: 'v1', kind: 'ConfigMap', name, uid });
    await passed(this.#pods.create(this.#set(pod), { fieldManager, signal }));
  }

  /** The pod with what the administrator set for all pods. */
  #set(pod: Pod): Pod {
    return {
      ...pod,
      spec: podWith(pod.spec as unknown as V1PodSpec, this.#context.config.operands ?? {}),
    };
  }

  async end(pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    for (const pod of pods) await this.#pods.remove(pod, { gracePeriodSeconds: endSeconds, signal });
  }
}

/** Of pods that hold GPUs, and those that ask for them. */
const reserveSelector = `${labels.component} in (${holderComponent},${probeComponent})`;

/** Reports whether a pod holds a GPU or asks for one. */
export function isReserve({ metadata }: Pod): boolean {
  const component = metadata.labels?.[labels.component];
  return component === holderComponent || component === probeComponent;
}

/** The pod that asks a node for GPUs; its name makes it the only one. */
export function probeIn(pods: readonly Pod[], namespace: string): Pod | undefined {
  return pods.find(({ metadata }) => metadata.name === probeName && metadata.namespace === namespace);
}

const holderOf = (metadata: { readonly annotations?: Readonly<Record<string, string>> } | undefined): readonly string[] => {
  return valuesIn(metadata?.annotations?.[holderAnnotation]);
};

/** Uids of pods that hold GPUs for these. Pure. */
export function holdersInUse(deployments: readonly Deployment[], pods: readonly Pod[]): ReadonlySet<string> {
  const made = deployments.flatMap(({ spec }) => (spec?.replicas === 0 ? [] : holderOf(spec?.template?.metadata)));
  const there = pods.flatMap((pod) => (isOver(pod) ? [] : holderOf(pod.metadata)));
  return new Set([...made, ...there]);
}

/** Pods that hold or ask, as the cache shows them; `namespace` is that of the operator. */
export function cachedReserve({ pods }: Pick<Caches, 'pods'>, namespace: string): readonly Pod[] {
  const probe = pods.lister.get(`${namespace}/${probeName}`);
  return [...pods.lister.byIndex(gpuIndex, onGpus).filter(isReserve), ...(probe === undefined ? [] : [probe])];
}
