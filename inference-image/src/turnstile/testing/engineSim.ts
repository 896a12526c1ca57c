import type { Look } from '../member.ts';
import type { VirtualClock } from './clock.ts';

/** The memory of a GPU that has room for one engine. */
export class GpuSim {
  /** Who has it, whether it was told to take it, and since when. */
  holder: { readonly engine: EngineSim; readonly bidden: boolean; readonly since: number } | null = null;
}

export interface EngineSimOptions {
  readonly clock: VirtualClock;
  readonly random: () => number;
  readonly gpu: GpuSim;
  readonly violate: (what: string) => void;
}

/** Until others can have seen that an engine started by itself, ms. */
const blindMs = 3_000;

/** An engine without HTTP: what it is told takes time, it dies as processes do, and its kubelet starts it again. */
export class EngineSim {
  readonly #options: EngineSimOptions;
  readonly origin: string;
  state: 'Down' | 'Loading' | 'Awake' | 'Asleep' = 'Down';
  /** Its pod is there. */
  exists = true;
  /** It refuses to sleep until then. */
  stuckUntil = 0;
  /** Times that the next words to wake fail. */
  wakeFails = 0;
  /** Generations under way; each is called when the engine fails under it. */
  readonly generations = new Set<(ok: boolean) => void>();
  #life = 0;

  constructor(origin: string, options: EngineSimOptions) {
    this.origin = origin;
    this.#options = options;
  }

  /** Starts its process; without room on the GPU that dies, and is started again. */
  start(bidden: boolean): void {
    const { clock, random } = this.#options;
    if (!this.exists || this.state !== 'Down') return;
    if (!this.#take(bidden)) return this.#later(2_000 + random() * 3_000, () => this.start(false));
    this.state = 'Loading';
    this.#later(3_000 + random() * 4_000, () => (this.state = 'Awake'));
    void clock;
  }

  /** Its process ends; the kubelet starts it again. */
  crash(): void {
    const { random } = this.#options;
    if (this.state === 'Down') return;
    this.#end();
    this.#later(1_000 + random() * 3_000, () => this.start(false));
  }

  /** Its pod goes. */
  remove(): void {
    this.#end();
    this.exists = false;
  }

  look(): Look {
    if (!this.exists) return { kind: 'NoRoute', fault: 'nothing is there' };
    if (this.state === 'Down' || this.state === 'Loading') return { kind: 'Refused', fault: 'nobody listens' };
    return { kind: this.state, fault: null };
  }

  sleep(): void {
    const { clock, violate } = this.#options;
    if (this.state !== 'Awake' || clock.now() < this.stuckUntil) return;
    if (this.generations.size > 0) violate(`${this.origin} was put to sleep under ${this.generations.size} generations`);
    this.state = 'Asleep';
    this.#free();
  }

  wake(): void {
    if (this.state !== 'Asleep' || this.wakeFails-- > 0) return;
    this.wakeFails = 0;
    if (this.#take(true)) this.state = 'Awake';
    else this.crash();
  }

  #take(bidden: boolean): boolean {
    const { gpu, clock, violate } = this.#options;
    const { holder } = gpu;
    if (holder !== null && holder.engine !== this) {
      const isUnseen = !holder.bidden && clock.now() - holder.since < blindMs;
      if (bidden && !isUnseen) violate(`${this.origin} was let onto the GPU of ${holder.engine.origin}`);
      return false;
    }
    gpu.holder = { engine: this, bidden, since: clock.now() };
    return true;
  }

  #free(): void {
    if (this.#options.gpu.holder?.engine === this) this.#options.gpu.holder = null;
  }

  #end(): void {
    this.#life += 1;
    this.state = 'Down';
    this.#free();
    for (const fail of this.generations) fail(false);
    this.generations.clear();
  }

  #later(millis: number, run: () => void): void {
    const life = this.#life;
    this.#options.clock.after(millis, () => {
      if (life === this.#life && this.exists) run();
    });
  }
}
