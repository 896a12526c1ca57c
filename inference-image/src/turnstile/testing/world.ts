import { randomOf, VirtualClock } from './clock.ts';
import { EngineSim, GpuSim } from './engineSim.ts';
import { PodSim, type RequestSim } from './podSim.ts';
import { TurnstileSim } from './turnstileSim.ts';

/** What may go wrong; each is played at random times. */
export const faults = ['engine', 'server', 'pod', 'turnstile', 'connections', 'stuck', 'wake'] as const;
export type Fault = (typeof faults)[number];

export interface WorldOptions {
  readonly seed: number;
  readonly members: number;
  /** Mean time between requests of all members together, ms. */
  readonly everyMs: number;
  readonly faults: readonly Fault[];
  /** Mean time between faults, ms. */
  readonly faultEveryMs: number;
}

/** What came of it. */
export interface Outcome {
  readonly asked: number;
  readonly answered: number;
  readonly turns: number;
  /** The most turns of others that began while an engine waited. */
  readonly mostTurnsWaited: number;
  readonly longestWaitMs: number;
  /** What must never be. */
  readonly violations: readonly string[];
}

/** Engines with room for one, their pods and a turnstile, in virtual time, by a seed. */
export class World {
  readonly clock = new VirtualClock();
  readonly pods: PodSim[] = [];
  readonly violations: string[] = [];
  readonly turnstile: TurnstileSim;
  readonly #options: WorldOptions;
  readonly #random: () => number;
  readonly #gpu = new GpuSim();
  readonly #engines = new Map<string, EngineSim>();
  #addresses = 0;
  #asked = 0;
  #answered = 0;
  #turns = 0;
  #mostTurnsWaited = 0;
  #longestWaitMs = 0;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.#random = randomOf(options.seed);
    this.turnstile = new TurnstileSim({
      clock: this.clock,
      random: this.#random,
      engines: this.#engines,
      onTurn: () => (this.#turns += 1),
    });
    for (let index = 0; index < options.members; index += 1) this.#addPod(index, 0);
  }

  /** Lets requests and faults come for so long, and then requests alone; then waits until all are answered. */
  run(faultyMs: number, calmMs: number, drainMs: number): Outcome {
    const { everyMs, faultEveryMs, faults: wanted } = this.#options;
    this.#again(everyMs, faultyMs + calmMs, () => this.#ask());
    if (wanted.length > 0) this.#again(faultEveryMs, faultyMs, () => this.#fault(wanted));
    this.clock.runUntil(faultyMs + calmMs + drainMs);
    return {
      asked: this.#asked,
      answered: this.#answered,
      turns: this.#turns,
      mostTurnsWaited: this.#mostTurnsWaited,
      longestWaitMs: Math.round(this.#longestWaitMs),
      violations: this.violations,
    };
  }

  #again(everyMs: number, until: number, run: () => void): void {
    this.clock.after(this.#random() * 2 * everyMs, () => {
      if (this.clock.now() >= until) return;
      run();
      this.#again(everyMs, until, run);
    });
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] as T;
  }

  #ask(): void {
    this.#asked += 1;
    const [since, turns] = [this.clock.now(), this.#turns];
    const onAnswer = (): void => {
      this.#answered += 1;
      this.#longestWaitMs = Math.max(this.#longestWaitMs, this.clock.now() - since);
      this.#mostTurnsWaited = Math.max(this.#mostTurnsWaited, this.#turns - turns);
    };
    this.#pick(this.pods).request({ since, onAnswer });
  }

  #addPod(index: number, generation: number, left: readonly RequestSim[] = []): void {
    const origin = `http://10.0.0.${++this.#addresses}:8000`;
    const violate = (what: string): void => void this.violations.push(`${Math.round(this.clock.now())}: ${what}`);
    const engine = new EngineSim(origin, { clock: this.clock, random: this.#random, gpu: this.#gpu, violate });
    this.#engines.set(origin, engine);
    const { clock, turnstile } = this;
    const names = { item: `expert${index}`, pod: `expert${index}-${generation}` };
    const pod = new PodSim({ clock, random: this.#random, turnstile, engine, ...names });
    this.pods[index] = pod;
    for (const request of left) pod.request(request);
  }

  #fault(wanted: readonly Fault[]): void {
    const index = Math.floor(this.#random() * this.pods.length);
    const pod = this.pods[index] as PodSim;
    const { engine } = pod.options;
    const long = this.#random();
    const play: Readonly<Record<Fault, () => void>> = {
      engine: () => engine.crash(),
      server: () => pod.crashServer(200 + long * 6_000),
      pod: () => this.#replace(pod, index, 500 + long * 5_000),
      turnstile: () => {
        this.turnstile.restart(200 + long * 4_000);
        this.#breakConnections();
      },
      connections: () => this.#breakConnections(),
      stuck: () => (engine.stuckUntil = this.clock.now() + long * 20_000),
      wake: () => (engine.wakeFails = 1 + Math.floor(long * 3)),
    };
    play[this.#pick(wanted)]();
  }

  #breakConnections(): void {
    for (const pod of this.pods) pod.breakConnections();
  }

  #replace(pod: PodSim, index: number, afterMs: number): void {
    if (!pod.exists) return;
    const left = pod.remove();
    this.clock.after(afterMs, () => this.#addPod(index, this.#addresses, [...left, ...pod.waiting]));
  }
}
