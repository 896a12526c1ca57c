import { keyOf, type Clock, type NewEvent } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';

/** Time until a task whose status did not fit is tried again without a change, ms. */
export const unfitMs = 3_600_000;

interface Known {
  readonly uid: string | undefined;
  readonly generation: number | undefined;
  /** Monotonic ms. */
  readonly until: number;
}

/**
 * Tasks that the server took, and whose status it does not take beside their spec, because both together are too large for
 * its storage. Nothing can be done about such a task before somebody changes it, as nothing that was done could be told.
 */
export class Unfit {
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The status of the task did not fit. */
  note(task: AgentTask): void {
    const { uid, generation } = task.metadata;
    this.#known.set(keyOf(task), { uid, generation, until: this.#clock.monotonic() + unfitMs });
  }

  /** Ms for which the task is to be left alone; 0 for one that was changed since, or made anew. */
  restMs(task: AgentTask): number {
    const known = this.#known.get(keyOf(task));
    if (known === undefined) return 0;
    const { uid, generation } = task.metadata;
    const rest = known.uid === uid && known.generation === generation ? known.until - this.#clock.monotonic() : 0;
    if (rest <= 0) this.#known.delete(keyOf(task));
    return Math.max(0, rest);
  }

  forget(key: string): void {
    this.#known.delete(key);
  }
}

/** What people are told; `said` are the words of the server. Pure. */
export function unfitEvent(said: string): NewEvent {
  const cure = 'make spec.workspace.inline smaller, or let spec.workspace name a Git repository or a ConfigMap';
  return {
    type: 'Warning',
    reason: 'StatusTooLarge',
    action: 'Report',
    note: `the status does not fit beside the spec: ${cure} (${said})`,
  };
}
