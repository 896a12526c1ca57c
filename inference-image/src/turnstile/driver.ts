import type { Engines } from './engines.ts';
import type { Look } from './member.ts';
import type { Command, Turns } from './turns.ts';

export interface DriverOptions {
  readonly turns: Turns;
  readonly engines: Engines;
  /** Calls back once after so many ms, unless the function returned is called before. */
  readonly timer: (millis: number, callback: () => void) => () => void;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly onCommand?: (command: Command, look: Look, millis: number) => void;
}

/** How often it is looked what is due, ms: while somebody uses an engine or waits, and at rest. */
const busyMs = 50;
const restMs = 500;

/** Does what the turnstile says, and tells it what happened. */
export class Driver {
  readonly #options: DriverOptions;
  readonly #end = new AbortController();
  #cancel: () => void = () => undefined;

  constructor(options: DriverOptions) {
    this.#options = options;
    this.poke();
  }

  /** Something happened: what follows from it is done now. */
  poke(): void {
    const { turns, timer } = this.#options;
    if (this.#end.signal.aborted) return;
    this.#cancel();
    // What is granted now may let the next thing be due at once.
    for (const command of turns.advance()) void this.#run(command);
    this.#cancel = timer(turns.isBusy ? busyMs : restMs, () => this.poke());
  }

  close(): void {
    this.#end.abort();
    this.#cancel();
  }

  async #run(command: Command): Promise<void> {
    const { turns, engines, now, onCommand } = this.#options;
    const started = now();
    const look = await this.#told(command, engines);
    if (command.kind === 'Look') turns.looked(command, look);
    else turns.done(command, look);
    onCommand?.(command, look, now() - started);
    this.poke();
  }

  #told({ kind, engine }: Command, engines: Engines): Promise<Look> {
    const { signal } = this.#end;
    if (kind === 'Sleep') return engines.sleep(engine, signal);
    return kind === 'Wake' ? engines.wake(engine, signal) : engines.look(engine, signal);
  }
}
