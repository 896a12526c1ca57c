import type { AgentTask, Approval, TaskMessage } from '@agentfleet/protocol/api';

/** The newest known state of one task, and a way to wait for the next one. */
export class Newest {
  #task: AgentTask;
  readonly #waiters = new Set<() => void>();

  constructor(task: AgentTask) {
    this.#task = task;
  }

  see(task: AgentTask): void {
    this.#task = task;
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }

  get task(): AgentTask {
    return this.#task;
  }

  approvals(): readonly Approval[] {
    return this.#task.status?.approvals ?? [];
  }

  messages(): readonly TaskMessage[] {
    return this.#task.status?.messages ?? [];
  }

  /** Resolves at the next change, or when the signal is aborted; never rejects. */
  async changed(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiters.add(resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    this.#waiters.delete(resolve);
  }
}
