import type { Memory } from '../wire.ts';
import type { VirtualClock } from './clock.ts';
import type { EngineSim } from './engineSim.ts';
import type { TurnstileSim } from './turnstileSim.ts';
import type { UseState } from '../member.ts';

export interface PodSimOptions {
  readonly clock: VirtualClock;
  readonly random: () => number;
  readonly turnstile: TurnstileSim;
  readonly engine: EngineSim;
  readonly item: string;
  readonly pod: string;
}

/** A request, until it is answered. */
export interface RequestSim {
  readonly since: number;
  readonly onAnswer: () => void;
}

interface UseSim {
  readonly id: string;
  readonly purpose: 'Load' | 'Serve';
  held: boolean;
  over: boolean;
  tell: ((state: UseState) => void) | null;
  readonly onGrant: () => void;
}

const budgetMs = 10_000;

/** A pod of an engine: its init container, its engine, and our server with its requests, as the client of the turnstile acts. */
export class PodSim {
  readonly options: PodSimOptions;
  /** Whether our server runs. */
  serves = false;
  #memory: Memory = { boot: null, members: [] };
  #load: string | null = null;
  #ids = 0;
  #epoch = 0;
  readonly #uses = new Set<UseSim>();
  readonly waiting = new Set<RequestSim>();

  constructor(options: PodSimOptions) {
    this.options = options;
    const use = this.#hold('Load', () => {
      use.over = true;
      this.#uses.delete(use);
      options.engine.start(true);
      this.#awaitEngine();
    });
  }

  get exists(): boolean {
    return this.options.engine.exists;
  }

  /** Asks for a generation until it is answered. */
  request(request: RequestSim): void {
    this.waiting.add(request);
    if (this.serves) this.#try(request);
  }

  /** Our server ends, and is started again. */
  crashServer(downMs: number): void {
    if (!this.serves) return;
    this.#stopServer();
    this.options.clock.after(downMs, () => this.#startServer());
  }

  /** @returns requests that have to be asked elsewhere */
  remove(): readonly RequestSim[] {
    this.#stopServer();
    const left = [...this.waiting];
    this.waiting.clear();
    this.options.engine.remove();
    return left;
  }

  /** Every connection breaks, and is made again. */
  breakConnections(): void {
    for (const use of this.#uses) this.#lose(use);
  }

  #awaitEngine(): void {
    if (!this.exists) return;
    if (['Awake', 'Asleep'].includes(this.options.engine.state)) this.#startServer();
    else this.options.clock.after(500, () => this.#awaitEngine());
  }

  #startServer(): void {
    if (!this.exists || this.serves) return;
    this.serves = true;
    this.#epoch += 1;
    this.#greet(this.#epoch);
    this.#prove(this.#epoch);
    for (const request of this.waiting) this.#try(request);
  }

  #stopServer(): void {
    const { turnstile, engine } = this.options;
    this.serves = false;
    this.#memory = { boot: null, members: [] };
    this.#load = null;
    for (const use of this.#uses) {
      use.over = true;
      if (use.tell !== null) turnstile.broken(use.id, use.tell);
    }
    this.#uses.clear();
    for (const fail of engine.generations) fail(false);
  }

  #greet(epoch: number): void {
    const { clock, turnstile } = this.options;
    if (!this.serves || epoch !== this.#epoch) return;
    const welcome = turnstile.greet({ ...this.#self, ...this.#memory, load: this.#load });
    if (welcome !== undefined) {
      this.#memory = welcome;
      this.#load = welcome.load;
    }
    clock.after(welcome === undefined ? 500 : 2_000, () => this.#greet(epoch));
  }

  #prove(epoch: number): void {
    if (this.serves && epoch === this.#epoch) this.request({ since: this.options.clock.now(), onAnswer: () => undefined });
  }

  get #self(): { readonly item: string; readonly pod: string; readonly engine: string } {
    const { item, pod, engine } = this.options;
    return { item, pod, engine: engine.origin };
  }

  #try(request: RequestSim): void {
    const { clock, random } = this.options;
    const epoch = this.#epoch;
    const again = (): void => {
      this.#release(use);
      clock.after(1_000 + random() * 500, () => {
        if (this.serves && epoch === this.#epoch && this.waiting.has(request)) this.#try(request);
      });
    };
    const late = clock.after(budgetMs, again);
    const use = this.#hold('Serve', () => {
      late();
      this.#generate((ok) => {
        if (!ok) return again();
        this.waiting.delete(request);
        this.#release(use);
        request.onAnswer();
      });
    });
  }

  #generate(done: (ok: boolean) => void): void {
    const { clock, random, engine } = this.options;
    if (engine.state !== 'Awake') return done(false);
    const end = (ok: boolean): void => {
      if (engine.generations.delete(end)) done(ok);
    };
    engine.generations.add(end);
    clock.after(100 + random() * 1_500, () => end(true));
  }

  #hold(purpose: 'Load' | 'Serve', onGrant: () => void): UseSim {
    const use: UseSim = { id: `${this.options.pod}-${this.#ids++}`, purpose, held: false, over: false, tell: null, onGrant };
    this.#uses.add(use);
    // Who asks hears of it in a later moment, as over a wire.
    this.options.clock.after(1, () => this.#connect(use));
    return use;
  }

  #connect(use: UseSim): void {
    const { clock, turnstile } = this.options;
    if (use.over || !this.exists) return;
    const { id, purpose, held } = use;
    const tell = (state: UseState): void => {
      clock.after(1, () => {
        if (use.over || use.tell !== tell) return;
        if (state === 'Ended') return this.#lose(use);
        if (state !== 'Granted' || use.held) return;
        use.held = true;
        use.onGrant();
      });
    };
    use.tell = tell;
    const memory = turnstile.ask({ id, purpose, held, ...this.#self, ...this.#memory }, tell);
    if (memory === undefined) this.#lose(use);
    else this.#memory = memory;
  }

  #lose(use: UseSim): void {
    const { clock, turnstile } = this.options;
    if (use.tell !== null) turnstile.broken(use.id, use.tell);
    use.tell = null;
    clock.after(100, () => this.#connect(use));
  }

  #release(use: UseSim): void {
    use.over = true;
    this.#uses.delete(use);
    if (use.tell !== null) this.options.turnstile.end(use.id);
  }
}
