import type { UseState } from '../member.ts';
import { defaultTimes } from '../policy.ts';
import { Turns, type Command } from '../turns.ts';
import type { Asking, Greeting, Welcome } from '../wire.ts';
import type { VirtualClock } from './clock.ts';
import type { EngineSim } from './engineSim.ts';

export interface TurnstileSimOptions {
  readonly clock: VirtualClock;
  readonly random: () => number;
  readonly engines: ReadonlyMap<string, EngineSim>;
  readonly onTurn: (item: string) => void;
}

/** Turns of the simulation, ms. */
export const turnMs = 5_000;
const pokeMs = 50;

/** The turnstile without HTTP: what it says takes time, and it may be away. */
export class TurnstileSim {
  readonly #options: TurnstileSimOptions;
  turns: Turns | null = null;
  #boots = 0;

  constructor(options: TurnstileSimOptions) {
    this.#options = options;
    this.#start();
  }

  /** It ends, with all its connections, and starts anew after so long. */
  restart(downMs: number): void {
    this.turns = null;
    this.#options.clock.after(downMs, () => this.#start());
  }

  greet(greeting: Greeting): Welcome | undefined {
    return this.turns?.greet(greeting);
  }

  /** Undefined: nobody answers. */
  ask(asking: Asking, tell: (state: UseState) => void): Welcome | undefined {
    this.turns?.ask(asking, tell);
    return this.turns?.welcome(asking.pod);
  }

  end(id: string): void {
    this.turns?.end(id);
  }

  broken(id: string, tell: (state: UseState) => void): void {
    this.turns?.broken(id, tell);
  }

  #start(): void {
    if (this.turns !== null) return;
    const { clock, onTurn } = this.#options;
    const turns = new Turns({ times: { ...defaultTimes, turnMs }, now: clock.now, boot: `boot${this.#boots++}`, onTurn });
    this.turns = turns;
    const poke = (): void => {
      if (this.turns !== turns) return;
      for (const command of turns.advance()) this.#run(turns, command);
      clock.after(pokeMs, poke);
    };
    poke();
  }

  #run(turns: Turns, command: Command): void {
    const { clock, random, engines } = this.#options;
    const engine = engines.get(command.engine);
    const look = () => engine?.look() ?? ({ kind: 'NoRoute', fault: 'nothing is there' } as const);
    if (command.kind === 'Look') return void clock.after(1 + random() * 5, () => turns.looked(command, look()));
    // It is done on its way, and told of a moment later, if anybody hears it then.
    clock.after(200 + random() * 600, () => {
      if (command.kind === 'Sleep') engine?.sleep();
      else engine?.wake();
      clock.after(1, () => turns.done(command, look()));
    });
  }
}
