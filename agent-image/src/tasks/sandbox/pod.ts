import type { AgentTask, OpenSandbox } from '@agentfleet/protocol/api';

/** The sandbox pod of one tenure, as the operator tells of it in the task: until it is ready, and then whether it is still there. */
export class SandboxPod {
  readonly name: string;
  readonly #lost = new AbortController();
  readonly #waiters = new Set<() => void>();
  #open: OpenSandbox | undefined;

  constructor(name: string) {
    this.name = name;
  }

  /** Aborted when the pod that was ready once is told no more, or is another one. A container that restarts is no loss. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Takes note of a newer state of the task. */
  see({ status }: AgentTask): void {
    const told = status?.sandbox;
    if (this.#open !== undefined) {
      if (told?.uid !== this.#open.uid) this.#lost.abort(new Error(`sandbox pod ${this.name} is lost: ${whyNot(told)}`));
      return;
    }
    if (told?.name !== this.name) return;
    this.#open = told;
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }

  /** Resolves when the pod is ready and has an address. Rejects with the signal's reason. */
  async ready(signal: AbortSignal): Promise<OpenSandbox> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#open !== undefined) return this.#open;
      await new Promise<void>((resolve) => {
        this.#waiters.add(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }
}

function whyNot(told: OpenSandbox | undefined): string {
  return told === undefined ? 'it was deleted, or has ended' : `the task has another one, ${told.name}`;
}
