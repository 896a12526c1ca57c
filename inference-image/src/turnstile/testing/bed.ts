import type { Look, UseState } from '../member.ts';
import { defaultTimes } from '../policy.ts';
import { Turns, type Command } from '../turns.ts';
import type { Memory, Welcome } from '../wire.ts';

const nothing: Memory = { boot: null, members: [] };
/** What is seen of an engine. */
export const look = (kind: Look['kind'], fault: string | null = null): Look => ({ kind, fault });

/** A turnstile with a clock that the test turns, and engines that are what the test says. */
export class Bed {
  now = 0;
  turns = this.open('first');
  readonly is = new Map<string, Look>();
  readonly told: string[] = [];
  /** What engines are instead, when they are told to wake. */
  readonly wakesTo = new Map<string, Look>();
  readonly states = new Map<string, UseState[]>();

  open(boot: string): Turns {
    return new Turns({ times: defaultTimes, now: () => this.now, boot });
  }

  self(name: string): { readonly item: string; readonly pod: string; readonly engine: string } {
    return { item: name, pod: `${name}-0`, engine: `http://${name}:8000` };
  }

  greet(name: string, memory = nothing, load: string | null = null): Welcome {
    return this.turns.greet({ ...this.self(name), ...memory, load });
  }

  ask(name: string, id: string, more: { purpose?: 'Load' | 'Serve'; held?: boolean; memory?: Memory } = {}): (state: UseState) => void {
    const states: UseState[] = [];
    this.states.set(id, states);
    const tell = (state: UseState): void => void states.push(state);
    const { purpose = 'Serve', held = false, memory = nothing } = more;
    this.turns.ask({ id, purpose, held, ...this.self(name), ...memory }, tell);
    return tell;
  }

  state(id: string): UseState | undefined {
    return this.states.get(id)?.at(-1);
  }

  /** Does what is due; engines do what they are told, at once. */
  step(): void {
    for (let round = 0; round < 8; round += 1) for (const command of this.turns.advance()) this.#run(command);
  }

  pass(millis: number): void {
    for (const end = this.now + millis; this.now < end; this.now += 50) this.step();
  }

  #run(command: Command): void {
    const name = command.pod.slice(0, -2);
    if (command.kind === 'Look') return this.turns.looked(command, this.is.get(name) ?? look('NoRoute'));
    this.told.push(`${command.kind} ${name}`);
    const now = this.is.get(name)?.kind;
    if (command.kind === 'Sleep' && now === 'Awake') this.is.set(name, look('Asleep'));
    if (command.kind === 'Wake' && now === 'Asleep') this.is.set(name, this.wakesTo.get(name) ?? look('Awake'));
    this.turns.done(command, this.is.get(name) ?? look('NoRoute'));
  }
}
