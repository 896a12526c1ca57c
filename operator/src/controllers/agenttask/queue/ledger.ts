import { keyOf } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { type Standing, standing } from './poolQueue.ts';

/** A decision that the cache does not show yet. */
export type Assumed =
  | { readonly kind: 'slot'; readonly worker: string; readonly workerNamespace: string; readonly sandbox: string | undefined }
  | { readonly kind: 'queued' };

type Noted = Assumed & { readonly uid: string | undefined };

/**
 * Decisions on their way to the cache, as kube-scheduler assumes its bindings: reading the caches, deciding and noting
 * the decision here happen without a pause in between, so that no two tasks take the same last slot.
 */
export class Ledger {
  readonly #assumed = new Map<string, Noted>();
  /** Uids of waiting sandboxes that a task is about to take. */
  readonly #spokenFor = new Map<string, number>();
  readonly #listeners = new Set<(key: string) => void>();

  /** Calls `listener` with the key of each task about which another thing is assumed now. */
  onChange(listener: (key: string) => void): void {
    this.#listeners.add(listener);
  }

  assume(task: AgentTask, assumed: Assumed): void {
    const key = keyOf(task);
    this.#drop(key);
    this.#assumed.set(key, { ...assumed, uid: task.metadata.uid });
    if (assumed.kind === 'slot' && assumed.sandbox !== undefined) this.#speak(assumed.sandbox, 1);
    this.#tell(key);
  }

  /** The next look at the task reads what was written; what was assumed before it is void. */
  forget(key: string): void {
    if (this.#drop(key)) this.#tell(key);
  }

  /** Forgets what the cache shows by now, so that what is kept is no more than what is on its way. */
  shown(task: AgentTask): void {
    const key = keyOf(task);
    if (this.#assumed.get(key)?.kind === 'queued' && standing(task) !== 'New') this.#drop(key);
  }

  standing(task: AgentTask): Standing {
    const assumed = this.#of(task);
    if (assumed?.kind === 'slot') return 'Running';
    const shown = standing(task);
    return assumed?.kind === 'queued' && shown === 'New' ? 'Queued' : shown;
  }

  /** `namespace/name` of the worker whose slot the task holds. */
  worker(task: AgentTask): string | undefined {
    const of = this.#of(task);
    const held = of?.kind === 'slot' ? of : task.status?.assignment;
    return held === undefined ? undefined : `${held.workerNamespace}/${held.worker}`;
  }

  /** Keys of tasks that are on their way to a worker. */
  onTheirWayTo(worker: string): readonly string[] {
    return [...this.#assumed]
      .filter(([, noted]) => noted.kind === 'slot' && `${noted.workerNamespace}/${noted.worker}` === worker)
      .map(([key]) => key);
  }

  /** Whether another task is about to take the waiting sandbox of this uid. */
  isSpokenFor(sandbox: string): boolean {
    return this.#spokenFor.has(sandbox);
  }

  get size(): number {
    return this.#assumed.size;
  }

  #drop(key: string): boolean {
    const assumed = this.#assumed.get(key);
    if (assumed === undefined) return false;
    if (assumed.kind === 'slot' && assumed.sandbox !== undefined) this.#speak(assumed.sandbox, -1);
    return this.#assumed.delete(key);
  }

  #speak(sandbox: string, change: 1 | -1): void {
    const count = (this.#spokenFor.get(sandbox) ?? 0) + change;
    if (count === 0) this.#spokenFor.delete(sandbox);
    else this.#spokenFor.set(sandbox, count);
  }

  #tell(key: string): void {
    for (const listener of this.#listeners) listener(key);
  }

  #of(task: AgentTask): Noted | undefined {
    const assumed = this.#assumed.size === 0 ? undefined : this.#assumed.get(keyOf(task));
    return assumed !== undefined && assumed.uid === task.metadata.uid ? assumed : undefined;
  }
}
