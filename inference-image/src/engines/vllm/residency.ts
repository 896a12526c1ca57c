// inference-image, engines/vllm: sleep and wake of an idle vLLM engine. May import base, gpu, models and protocol.
import { Serial } from '@agentfleet/protocol/serial';
import type { VllmControl } from './control.ts';

/** An engine whose weights go to the memory of the host while it is idle. */
interface ResidencyOptions {
  readonly control: Pick<VllmControl, 'sleep' | 'wake' | 'isSleeping'>;
  /** Time without a request after which it sleeps, ms. */
  readonly idleMs: number;
  /** Calls back once after so many ms, unless the function returned is called before. */
  readonly timer: (millis: number, callback: () => void) => () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Keeps an engine awake while it is asked, and lets it sleep when it was not for a while. Requests of one moment share one
 * awakening; it never sleeps under a request.
 */
export class Residency {
  readonly #options: ResidencyOptions;
  readonly #end = new AbortController();
  #active = 0;
  readonly #changes = new Serial();
  #cancel: () => void = () => undefined;

  constructor(options: ResidencyOptions) {
    this.#options = options;
    this.#arm();
  }

  /** Runs while the engine is awake. Rejects when it does not wake. */
  async awake<T>(run: () => Promise<T>, signal: AbortSignal): Promise<T> {
    this.#active += 1;
    this.#cancel();
    try {
      await this.#changes.run(async () => {
        const { control } = this.#options;
        if (await control.isSleeping(signal)) await control.wake(signal);
      });
      return await run();
    } finally {
      this.#active -= 1;
      if (this.#active === 0) this.#arm();
    }
  }

  /** Proves an engine that is awake; one that sleeps was proved before it did, and is not woken for it. */
  async prove(proof: () => Promise<void>): Promise<void> {
    if (!(await this.#options.control.isSleeping(this.#end.signal))) await proof();
  }

  close(): void {
    this.#end.abort();
    this.#cancel();
  }

  #arm(): void {
    if (this.#end.signal.aborted) return;
    this.#cancel = this.#options.timer(this.#options.idleMs, () => {
      this.#changes
        .run(async () => {
          if (this.#active === 0) await this.#options.control.sleep(this.#end.signal);
        })
        .catch(this.#options.onError);
    });
  }
}
