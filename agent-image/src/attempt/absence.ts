import type { Clock } from '@agentfleet/kube';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { AttemptFailure } from './failure.ts';

/** How long an expert that gave no answer is asked only when nobody else is left, ms. */
const awayMs = 300_000;

/** Experts that gave no answer lately, although they were asked with all patience. */
export class Absence {
  readonly #clock: Clock;
  readonly #away = new Map<string, { readonly since: number; readonly words: string }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Remembers why an expert gave no answer.
   *
   * @throws the error, where another expert would not fare better: it is no matter of who is asked
   */
  add({ name, role }: ExpertEndpoint, error: unknown): void {
    if (!(error instanceof AttemptFailure) || error.failureClass !== 'Infrastructure') throw error;
    this.#away.set(name, { since: this.#clock.monotonic(), words: `${role} ${name}: ${error.reason}; another expert is asked` });
  }

  answered({ name }: ExpertEndpoint): void {
    this.#away.delete(name);
  }

  isAway(name: string): boolean {
    const known = this.#away.get(name);
    return known !== undefined && this.#clock.monotonic() - known.since < awayMs;
  }

  /** For `degraded`. */
  get words(): readonly string[] {
    return [...this.#away.values()].map(({ words }) => words);
  }
}
