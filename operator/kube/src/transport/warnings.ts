import type { Log } from '../runtime/log.ts';

/** `299 - "text"` (RFC 7234 §5.5; KEP-1693). */
const warningForm = /(?:^|,\s*)299 \S+ "((?:[^"\\]|\\.)*)"/g;

const mostRemembered = 1000;

/** Logs each warning of the server once; what was said is remembered up to a limit. */
export class WarningLog {
  readonly #log: Log;
  readonly #seen = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  read(header: string | string[] | undefined): void {
    if (header === undefined) return;
    for (const line of typeof header === 'string' ? [header] : header) {
      for (const [, text = ''] of line.matchAll(warningForm)) this.#say(text.replaceAll(/\\(.)/g, '$1'));
    }
  }

  #say(text: string): void {
    if (this.#seen.has(text) || this.#seen.size >= mostRemembered) return;
    this.#seen.add(text);
    this.#log.warn('the API server warns', { warning: text });
  }
}
