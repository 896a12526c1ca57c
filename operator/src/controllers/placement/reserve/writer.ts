import { fieldManagers } from '@agentfleet/protocol/api';
import { isAlreadyExists, isConflict, isNotFound, ResourceClient } from '@agentfleet/kube';
import type { OperatorContext } from '../../../runtime/context.ts';
import { type ConfigMap, type Pod, resources } from '../../../runtime/resources.ts';
import { endSeconds, holderPod, type HolderChanges } from './holders.ts';
import { reserveSelector } from './observe.ts';
import { probePod, type ProbeChanges } from './probe.ts';

const fieldManager = fieldManagers.placement;

/** Somebody else was faster; what follows is decided again from what is there. */
const isPassed = (error: unknown): boolean => isNotFound(error) || isConflict(error) || isAlreadyExists(error);

async function passed(write: Promise<unknown>): Promise<void> {
  await write.catch((error: unknown) => {
    if (!isPassed(error)) throw error;
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
  read(signal: AbortSignal): Promise<readonly Pod[]> {
    return this.#pods.list({ labelSelector: reserveSelector, signal });
  }

  async hold({ make, own }: HolderChanges, signal: AbortSignal): Promise<void> {
    const image = this.#context.config.images.inference;
    for (const wanted of make) await passed(this.#pods.create(holderPod(wanted, image), { fieldManager, signal }));
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
    await passed(this.#pods.create(pod, { fieldManager, signal }));
  }

  async end(pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    for (const { metadata } of pods) {
      const uid = metadata.uid === undefined ? {} : { uid: metadata.uid };
      await passed(this.#pods.delete(metadata, { ...uid, gracePeriodSeconds: endSeconds, signal }));
    }
  }
}
