import type { EgressRequest } from './connection.ts';

type Line = { -readonly [K in keyof EgressRequest]: EgressRequest[K] } & { requests: number };

/** Hosts that one note names; a command can ask for any number of others. */
const maxLines = 64;

/** What commands asked the proxy for: one line per host, port and decision. */
export class EgressJournal {
  readonly #lines = new Map<string, Line>();
  #others = 0;

  add({ host, port, decision, bytesOut, bytesIn }: EgressRequest): void {
    const key = `${host} ${port} ${decision}`;
    const line = this.#lines.get(key);
    if (line !== undefined) {
      line.requests += 1;
      line.bytesOut += bytesOut;
      line.bytesIn += bytesIn;
    } else if (this.#lines.size < maxLines)
      this.#lines.set(key, { host: host.slice(0, 253), port, decision, requests: 1, bytesOut, bytesIn });
    else this.#others += 1;
  }

  /** What was added since the last call; null when nothing was. */
  take(): Readonly<Record<string, unknown>> | null {
    if (this.#lines.size === 0) return null;
    const data = { requests: [...this.#lines.values()], ...(this.#others > 0 && { others: this.#others }) };
    this.#lines.clear();
    this.#others = 0;
    return data;
  }
}
