import { keyOf } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { standing, type Standing } from './queue.ts';

/** A decision that the cache does not show yet. */
export type Assumed =
  | { readonly kind: 'slot'; readonly worker: string; readonly workerNamespace: string; readonly sandbox: string | undefined }
  | { readonly kind: 'queued' };

/**
 * Decisions on their way to the cache, as kube-scheduler assumes its bindings: reading the caches, deciding and noting
 * the decision here happen without a pause in between, so that no two tasks take the same last slot.
 */
export class Ledger {
  readonly #assumed = new Map<string, Assumed & { readonly uid: string | undefined }>();
  /** By version: cached objects never change, and every look asks about all tasks of a pool. */
  readonly #shown = new WeakMap<AgentTask, Standing>();

  assume(task: AgentTask, assumed: Assumed): void {
    this.#assumed.set(keyOf(task), { ...assumed, uid: task.metadata.uid });
  }

  /** The next look at the task reads what was written; what was assumed before it is void. */
  forget(key: string): void {
    this.#assumed.delete(key);
  }

  standing(task: AgentTask): Standing {
    const assumed = this.#of(task);
    if (assumed?.kind === 'slot') return 'Running';
    let shown = this.#shown.get(task);
    if (shown === undefined) this.#shown.set(task, (shown = standing(task)));
    return assumed?.kind === 'queued' && shown === 'New' ? 'Queued' : shown;
  }

  /** `namespace/name` of the worker whose slot the task holds. */
  worker(task: AgentTask): string | undefined {
    const of = this.#of(task);
    const held = of?.kind === 'slot' ? of : task.status?.assignment;
    return held === undefined ? undefined : `${held.workerNamespace}/${held.worker}`;
  }

  /** Whether another task is about to take the waiting sandbox of this uid. */
  isSpokenFor(sandbox: string | undefined): boolean {
    for (const assumed of this.#assumed.values())
      if (assumed.kind === 'slot' && assumed.sandbox === sandbox && sandbox !== undefined) return true;
    return false;
  }

  get size(): number {
    return this.#assumed.size;
  }

  #of(task: AgentTask): Assumed | undefined {
    const assumed = this.#assumed.size === 0 ? undefined : this.#assumed.get(keyOf(task));
    return assumed !== undefined && assumed.uid === task.metadata.uid ? assumed : undefined;
  }
}
