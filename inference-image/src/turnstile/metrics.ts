import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { MemberView } from './member.ts';

/** The turnstile's own registry. The label `item` has few values: engines of one slot. */
export class TurnstileMetrics {
  readonly registry = new Registry();
  readonly turns = new Counter({
    name: 'agentfleet_turnstile_turns_total',
    help: 'Times that an engine got the GPU, by a load or from sleep',
    labelNames: ['item'],
    registers: [this.registry],
  });
  readonly wait = new Histogram({
    name: 'agentfleet_turnstile_wait_seconds',
    help: 'Time from the wish to use an engine to its turn',
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300],
    registers: [this.registry],
  });
  readonly move = new Histogram({
    name: 'agentfleet_turnstile_move_seconds',
    help: 'Time that an engine took to fall asleep or to wake',
    labelNames: ['move'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128],
    registers: [this.registry],
  });

  constructor(members: () => readonly MemberView[]) {
    this.#gauge('agentfleet_turnstile_members', 'Engines that take turns', (gauge) => gauge.set(members().length));
    this.#byItem('agentfleet_turnstile_awake', '1 for the engine that is awake', members, ({ state }) => state === 'Awake');
    this.#byItem('agentfleet_turnstile_loading', '1 for an engine that loads', members, ({ state }) => state === 'Loading');
    const isFaulty = ({ fault, state }: MemberView): boolean => fault !== null && state !== 'Loading';
    this.#byItem('agentfleet_turnstile_faulty', '1 for an engine that does not do what it is told', members, isFaulty);
  }

  #byItem(name: string, help: string, members: () => readonly MemberView[], holds: (member: MemberView) => boolean): void {
    this.#gauge(
      name,
      help,
      (gauge) => {
        gauge.reset();
        for (const member of members()) gauge.inc({ item: member.item }, Number(holds(member)));
      },
      ['item'],
    );
  }

  #gauge(name: string, help: string, collect: (gauge: Gauge) => void, labelNames: string[] = []): void {
    const gauge: Gauge = new Gauge({ name, help, labelNames, registers: [this.registry], collect: () => collect(gauge) });
  }
}
