import { setTimeout as delay } from 'node:timers/promises';
import { Child, type ChildOptions, type ChildState } from './child.ts';
import type { ChildPlan } from './plan.ts';

export interface SupervisorOptions extends Omit<ChildOptions, 'plan'> {
  readonly plans: readonly ChildPlan[];
  /** A server that is not ready for so long keeps nobody waiting any more, ms. */
  readonly patienceMs: number;
  /** Servers that have not ended so long after the word to stop are killed, ms. */
  readonly deadlineMs: number;
}

/** Keeps servers running side by side. Those of one GPU start one after another: each measures the memory that is free. */
export class Supervisor {
  readonly #children: readonly Child[];
  readonly #options: SupervisorOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<unknown>;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#children = options.plans.map((plan) => new Child({ ...options, plan }));
    this.#running = Promise.all(this.#children.map((child, index) => this.#keep(child, this.#children.slice(0, index))));
  }

  get isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** How each of them is now. */
  async states(signal: AbortSignal): Promise<readonly ChildState[]> {
    return Promise.all(this.#children.map((child) => child.state(signal)));
  }

  /** Passes the word on, waits for what they finish, and kills what is left at the deadline. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    const over = new AbortController();
    const deadline = delay(this.#options.deadlineMs, undefined, { signal: over.signal }).then(
      () => this.#kill('SIGKILL'),
      () => undefined,
    );
    this.#stopping.abort();
    this.#kill(signal);
    await this.#running;
    over.abort();
    await deadline;
  }

  #kill(signal: NodeJS.Signals): void {
    for (const child of this.#children) child.kill(signal);
  }

  async #keep(child: Child, earlier: readonly Child[]): Promise<void> {
    const { signal } = this.#stopping;
    const shares = earlier.filter(({ plan }) => plan.gpus.some((gpu) => child.plan.gpus.includes(gpu)));
    for (const before of shares) await this.#patiently(before.came);
    await child.run(signal);
  }

  async #patiently(came: Promise<void>): Promise<void> {
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, this.#stopping.signal]);
    await Promise.race([came, delay(this.#options.patienceMs, undefined, { signal }).catch(() => undefined)]);
    over.abort();
  }
}
