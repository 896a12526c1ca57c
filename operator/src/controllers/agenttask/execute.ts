import {
  controllerReference,
  isConflict,
  isControlledBy,
  keyOf,
  type ObjectName,
  ResourceClient,
  asError,
  isRefused,
  isWebhookFailure,
  isNotFound,
  isTooLarge,
  removeFinalizer,
  type Consistency,
} from '@agentfleet/kube';
import { fieldManagers, type AgentTask } from '@agentfleet/protocol/api';
import { labels, sandboxFinalizer } from '@agentfleet/protocol/pool';
import { imagesOf } from '../../pools/made.ts';
import type { Held } from '../../pools/spending.ts';
import { isUnclaimed } from '../../pools/resolve.ts';
import { type Pod, resources } from '../../runtime/resources.ts';
import { sandboxState } from './sandbox/state.ts';
import type { OperatorContext } from '../../runtime/context.ts';
import { sandboxPod } from './sandbox/pod.ts';
import { sandboxInput } from './sandbox/template.ts';
import { make } from '../../runtime/make.ts';
import type { Action, Decision, Snapshot } from './facts/snapshot.ts';
import type { SpendingBooks } from './queue/spending.ts';
import type { Volumes } from './storage/volumes.ts';
import { type Workloads, flavorPlacement } from './queue/quota.ts';
import { closedRun } from './facts/closing.ts';

const fieldManager = fieldManagers.operator;

/** Answer to a claim: the pod as it is now, or `Taken` by another task or gone. */
type ClaimAnswer = { readonly kind: 'Claimed'; readonly pod: Pod } | { readonly kind: 'Taken' };

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
      // A refusal means that nothing was changed.
      if (isRefused(error)) return { kind: 'Taken' };
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
    return this.#pods.patch(metadata, { metadata: change }, { fieldManager, signal });
  }
}

/** Reports whether the sandbox may be taken: it waits, is not being deleted, and has no owner. */
export function isClaimable(pod: Pod): boolean {
  const { deletionTimestamp, ownerReferences = [] } = pod.metadata;
  return isUnclaimed(pod) && deletionTimestamp === undefined && ownerReferences.length === 0;
}

export interface ExecutorOptions {
  readonly context: OperatorContext;
  readonly consistency: Consistency;
  readonly volumes: Volumes;
  readonly spending: Pick<SpendingBooks, 'setAside' | 'settle'>;
  readonly workloads: Pick<Workloads, 'run'>;
}

/**
 * Reason for which a task did not get its sandbox: the server refuses it (in words), another task was faster, it has one already, or its
 * status does not fit.
 */
type Hindrance =
  | { readonly kind: 'Refused'; readonly message: string }
  | { readonly kind: 'Taken'; readonly uid: string }
  | { readonly kind: 'Again' }
  | { readonly kind: 'Invalid'; readonly message: string };

type ActionOf<T extends Action['type']> = Extract<Action, { type: T }>;

/** Does what was decided, and nothing else: the only I/O of this controller besides events. */
export class Executor {
  readonly #options: ExecutorOptions;
  readonly #pods: ResourceClient<Pod>;
  readonly #tasks: ResourceClient<AgentTask>;
  readonly #claims: Claims;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    const { transport } = options.context;
    this.#pods = new ResourceClient(transport, resources.pods);
    this.#claims = new Claims(this.#pods);
    this.#tasks = new ResourceClient(transport, resources.agentTasks);
  }

  /**
   * Runs a decision: what is made before the status, what is deleted after it. Returns why the task did not get the
   * sandbox; then nothing that depends on it was written. Rejects when it has to be tried again.
   */
  async run(snapshot: Snapshot, decision: Decision, signal: AbortSignal): Promise<Hindrance | undefined> {
    const of = <T extends Action['type']>(type: T): ActionOf<T>[] =>
      decision.actions.filter((action): action is ActionOf<T> => action.type === type);
    await this.release(
      keyOf(snapshot.task),
      of('releaseSandbox').map(({ pod }) => pod),
      signal,
    );
    for (const { held } of of('setAsideSpending')) {
      const hindrance = await this.#setAside(snapshot, held, signal);
      if (hindrance !== undefined) return hindrance;
    }
    const hindrance = await this.#getSandbox(snapshot, of('createSandbox')[0], of('claimSandbox')[0]?.pod, signal);
    if (hindrance !== undefined) return hindrance;
    for (const { name, claim } of of('createSnapshot')) {
      const message = await this.#options.volumes.snapshot(snapshot.task, name, claim, signal);
      if (message !== undefined) return { kind: 'Refused', message };
    }
    for (const action of of('createWorkload')) {
      const message = await this.#options.workloads.run(snapshot.task, action, signal);
      if (message !== undefined) return { kind: 'Refused', message };
    }
    const invalid = await this.#write(snapshot.task, decision, signal);
    if (invalid !== undefined) {
      for (const { held } of of('setAsideSpending')) await this.#giveBack(snapshot, held, signal);
      return { kind: 'Invalid', message: invalid };
    }
    for (const { held, amount } of of('settleSpending')) await this.#options.spending.settle(held, amount, signal);
    for (const { pod } of of('deleteSandbox')) await this.#delete(snapshot.task, pod, signal);
    for (const { claim } of of('deleteClaim')) await this.#options.volumes.deleteClaim(snapshot.task, claim, signal);
    for (const action of of('deleteSnapshot')) await this.#options.volumes.deleteSnapshot(snapshot.task, action.snapshot, signal);
    for (const action of [...of('patchWorkload'), ...of('deleteWorkload')])
      await this.#options.workloads.run(snapshot.task, action, signal);
    if (of('closeRun').length > 0) await this.#closeRun(snapshot.task, signal);
    if (of('deleteTask').length > 0) await this.#tasks.remove(snapshot.task, { signal, propagationPolicy: 'Background' });
    return undefined;
  }

  async #setAside({ resolution: { pool } }: Snapshot, held: Held, signal: AbortSignal): Promise<Hindrance | undefined> {
    if (pool === undefined) return undefined;
    try {
      return (await this.#options.spending.setAside(pool, held, signal)) ? undefined : { kind: 'Again' };
    } catch (error) {
      if (!isRefused(error) && !isWebhookFailure(error)) throw error;
      return { kind: 'Refused', message: `spending is noted in a ConfigMap beside ExpertPool ${keyOf(pool)}: ${error.message}` };
    }
  }

  /** Caches hold no whole plan, so the report is read. A worker that reports meanwhile makes it a conflict, which is tried again. */
  async #closeRun({ metadata }: AgentTask, signal: AbortSignal): Promise<void> {
    const { uid } = metadata;
    const seen = await this.#tasks.find(metadata, { signal });
    const { finished, run } = seen?.status ?? {};
    if (seen === undefined || seen.metadata.uid !== uid || finished !== 'true' || run === undefined) return;
    const change = { metadata: { resourceVersion: seen.metadata.resourceVersion }, status: { run: closedRun(run) } };
    await this.#tasks.patch(metadata, change, { subresource: 'status', fieldManager, signal });
  }

  /** An attempt that does not come to begin spends nothing. One that began before keeps what is set aside. */
  async #giveBack({ task, resolution }: Snapshot, held: Held, signal: AbortSignal): Promise<void> {
    if (resolution.pool === undefined || task.status?.assignment?.attempt === held.attempt) return;
    await this.#options.spending.settle({ ...held, pool: keyOf(resolution.pool) }, { tokens: 0, micros: 0 }, signal);
  }

  async #getSandbox(
    snapshot: Snapshot,
    create: ActionOf<'createSandbox'> | undefined,
    claim: Pod | undefined,
    signal: AbortSignal,
  ): Promise<Hindrance | undefined> {
    if (create === undefined && claim === undefined) return undefined;
    const { task } = snapshot;
    const { consistency, context } = this.#options;
    const taken = await this.#claims.recover(task, signal);
    if (taken !== undefined) {
      consistency.wrote(keyOf(task), context.caches.pods, taken);
      return { kind: 'Again' };
    }
    if (claim !== undefined) {
      const answer = await this.#claims.claim(task, claim, signal);
      if (answer.kind === 'Taken') return { kind: 'Taken', uid: claim.metadata.uid ?? '' };
      consistency.wrote(keyOf(task), context.caches.pods, answer.pod);
      return undefined;
    }
    const message = create === undefined ? undefined : await this.#create(snapshot, create, signal);
    return message === undefined ? undefined : { kind: 'Refused', message };
  }

  /** Lets pods go whose containers have ended. */
  async release(key: string, pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    const { consistency, context } = this.#options;
    for (const pod of pods) {
      try {
        consistency.wrote(key, context.caches.pods, await removeFinalizer(this.#pods, pod, sandboxFinalizer, signal));
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
  }

  /** Takes away the sandboxes of a task that cannot begin. */
  async discard(task: AgentTask, pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    for (const pod of pods)
      if (isControlledBy(pod, task) && pod.metadata.deletionTimestamp === undefined) await this.#delete(task, pod, signal);
  }

  forget(key: string): void {
    this.#claims.forget(key);
    this.#options.consistency.forget(key);
  }

  /** Creates the pod by a plain create, named by the epoch: a second process finds it, and takes it when it is this task's. */
  async #create(
    { task, resolution, capabilities, quota }: Snapshot,
    { name, claim }: ActionOf<'createSandbox'>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { context, consistency, volumes } = this.#options;
    const { pool } = resolution;
    if (pool === undefined) throw new Error(`no pool for the sandbox ${name} of ${keyOf(task)}`);
    const { config, tokens, caches } = context;
    // The volume comes first: a pod that names none that is there waits for ever without a word.
    const refused = claim === undefined ? undefined : await volumes.ensureClaim(task, claim, signal);
    if (refused !== undefined) return refused;
    const input = sandboxInput(name, { task, pool, config, issuer: tokens.issuer(), capabilities }, flavorPlacement(quota));
    const manifest = sandboxPod(claim === undefined ? input : { ...input, claim: claim.name });
    return make({ client: this.#pods, cache: caches.pods }, task, manifest as unknown as Pod, consistency, signal);
  }

  /**
   * The decision holds for the version that it was made from: a newer report of the worker may change it. Returns the
   * server's words when the object would be too large.
   */
  async #write(task: AgentTask, { status, written }: Decision, signal: AbortSignal): Promise<string | undefined> {
    if (!written) return undefined;
    const { name, namespace = '', resourceVersion } = task.metadata;
    const { consistency, context } = this.#options;
    try {
      const seen = await this.#tasks.applyStatus({ metadata: { name, namespace, resourceVersion }, status }, { fieldManager, signal });
      // One that had ended before is in no cache, and none will show this write.
      if (task.status?.finished !== 'true') consistency.wrote(keyOf(task), context.caches.tasks, seen);
      return undefined;
    } catch (error) {
      if (isTooLarge(error)) return asError(error).message;
      // It is gone, and the cache does not show it yet: nothing more is made for it until that does.
      if (isNotFound(error)) consistency.deleted(keyOf(task), context.caches.tasks, task);
      throw error;
    }
  }

  async #delete(task: AgentTask, pod: Pod, signal: AbortSignal): Promise<void> {
    await this.#pods.remove(pod, { signal });
    this.#options.consistency.deleted(keyOf(task), this.#options.context.caches.pods, pod);
  }
}
