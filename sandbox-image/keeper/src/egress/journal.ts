import type { AuditType } from '@agentfleet/protocol/keeper';

/** One joined connection; bytes as seen from the sandbox. */
export interface Connection {
  readonly id: number;
  readonly bytesOut: number;
  readonly bytesIn: number;
  readonly millis: number;
  readonly why: string;
}

/** Connections of one epoch that are told one by one: code of the user may open any number of them. */
const maxTold = 500;

/** Puts connections into the event log, those over a bound as one sum. */
export class EgressJournal {
  readonly #append: (type: AuditType, body: Readonly<Record<string, unknown>>) => void;
  #told = 0;
  #rest = { connections: 0, bytesOut: 0, bytesIn: 0 };

  constructor(append: (type: AuditType, body: Readonly<Record<string, unknown>>) => void) {
    this.#append = append;
  }

  /** Whether the end of this connection will be told too. */
  opened(id: number, epoch: number): boolean {
    if (this.#told >= maxTold) return false;
    this.#told += 1;
    this.#append('EgressOpened', { id, epoch });
    return true;
  }

  closed(connection: Connection, told: boolean): void {
    if (told) {
      this.#append('EgressClosed', { ...connection });
      return;
    }
    this.#rest.connections += 1;
    this.#rest.bytesOut += connection.bytesOut;
    this.#rest.bytesIn += connection.bytesIn;
  }

  /** Tells the sum, and begins anew with the next epoch. */
  sum(): void {
    if (this.#rest.connections > 0) this.#append('EgressClosed', { ...this.#rest, why: 'Summed' });
    this.#rest = { connections: 0, bytesOut: 0, bytesIn: 0 };
    this.#told = 0;
  }
}
