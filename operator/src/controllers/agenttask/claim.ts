import { controllerReference, isApiError, isConflict, isControlledBy, keyOf, type ObjectName, type ResourceClient } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { imagesOf } from '../../pools/made.ts';
import { isUnclaimed } from '../../pools/warm.ts';
import type { Pod } from '../../runtime/objects.ts';
import { sandboxFinalizer } from './names.ts';
import { sandboxState } from './sandboxState.ts';

/** Answers by which the server says for sure that nothing was changed. */
const definite: ReadonlySet<number> = new Set([400, 403, 404, 422]);

/** Answer to a claim: the pod as it is now, or `Taken` by somebody else or gone. */
export type ClaimAnswer = { readonly kind: 'Claimed'; readonly pod: Pod } | { readonly kind: 'Taken' };

/**
 * Takes waiting sandboxes, each by one write that holds for one version of the pod only: of two that try, one gets it.
 * A write whose answer was lost is remembered, and looked after before the task takes another sandbox.
 */
export class Claims {
  readonly #pods: ResourceClient<Pod>;
  /** By the key of the task. */
  readonly #uncertain = new Map<string, ObjectName & { readonly uid: string | undefined }>();

  constructor(pods: ResourceClient<Pod>) {
    this.#pods = pods;
  }

  /** Rejects when it is not known whether it took effect. */
  async claim(task: AgentTask, pod: Pod, signal: AbortSignal): Promise<ClaimAnswer> {
    const first = await this.#try(task, pod, signal);
    if (first.kind !== 'Changed') return first;
    // Most often it was the kubelet, which knows nothing of tasks.
    const second = await this.#try(task, first.pod, signal);
    return second.kind === 'Changed' ? { kind: 'Taken' } : second;
  }

  /** The sandbox that an earlier write of ours took without our hearing of it; undefined: none. */
  async recover(task: AgentTask, signal: AbortSignal): Promise<Pod | undefined> {
    const tried = this.#uncertain.get(keyOf(task));
    if (tried === undefined) return undefined;
    const pod = await this.#pods.find(tried, { signal });
    this.#uncertain.delete(keyOf(task));
    return pod !== undefined && pod.metadata.uid === tried.uid && isControlledBy(pod, task) ? pod : undefined;
  }

  forget(key: string): void {
    this.#uncertain.delete(key);
  }

  async #try(task: AgentTask, pod: Pod, signal: AbortSignal): Promise<ClaimAnswer | { readonly kind: 'Changed'; readonly pod: Pod }> {
    try {
      return { kind: 'Claimed', pod: await this.#write(task, pod, signal) };
    } catch (error) {
      if (isApiError(error) && definite.has(error.code)) return { kind: 'Taken' };
      const { namespace, name, uid } = pod.metadata;
      this.#uncertain.set(keyOf(task), { namespace, name, uid });
      if (!isConflict(error)) throw error;
    }
    return this.#afterConflict(task, pod, signal);
  }

  /** It may have been our own first try, the kubelet, or another task: only the pod knows. */
  async #afterConflict(task: AgentTask, tried: Pod, signal: AbortSignal) {
    const { name, namespace, uid } = tried.metadata;
    const seen = await this.#pods.find({ name, namespace }, { signal });
    this.#uncertain.delete(keyOf(task));
    // Another one of its name, or with other images, is not what was looked at.
    if (seen === undefined || seen.metadata.uid !== uid || imagesOf(seen) !== imagesOf(tried)) return { kind: 'Taken' } as const;
    if (isControlledBy(seen, task)) return { kind: 'Claimed', pod: seen } as const;
    if (!isClaimable(seen) || !sandboxState(seen, false).ready) return { kind: 'Taken' } as const;
    return { kind: 'Changed', pod: seen } as const;
  }

  #write(task: AgentTask, { metadata }: Pod, signal: AbortSignal): Promise<Pod> {
    const { uid, resourceVersion, finalizers = [] } = metadata;
    const change = {
      uid,
      resourceVersion,
      labels: { [labels.warm]: null, [labels.task]: task.metadata.name },
      ownerReferences: [controllerReference(task)],
      finalizers: [...finalizers, sandboxFinalizer],
    };
    return this.#pods.patch(metadata, { metadata: change }, { fieldManager: 'agentfleet-operator', signal });
  }
}

/** Whether the sandbox may be taken: it waits, is not going, and nobody owns it. */
export function isClaimable(pod: Pod): boolean {
  const { deletionTimestamp, ownerReferences = [] } = pod.metadata;
  return isUnclaimed(pod) && deletionTimestamp === undefined && ownerReferences.length === 0;
}
