import { Transform } from 'node:stream';
import type { RedactionCounts, RedactionKind } from '../keeper/index.ts';
import { Redactor } from './redactor.ts';
import { DeclaredSecrets } from './secrets.ts';

/** What the redaction tells: once for every secret. */
export type OnRedacted = (kind: RedactionKind) => void;

/** Bytes that a redactor may look at before others get their turn. */
const sliceBytes = 256 * 1024;

/** Takes secrets out of what leaves the keeper. What is on the disk stays as it is. */
export class Redaction {
  readonly secrets = new DeclaredSecrets();
  readonly #onRedacted: OnRedacted;

  constructor(onRedacted: OnRedacted) {
    this.#onRedacted = onRedacted;
  }

  /** One answer's redaction: what it counts is told in the answer. */
  open(): Redacting {
    return new Redacting(this.secrets, this.#onRedacted);
  }
}

/** Redacts the parts of one answer and counts. */
export class Redacting {
  readonly #secrets: DeclaredSecrets;
  readonly #onRedacted: OnRedacted;
  readonly #counts: Partial<Record<RedactionKind, number>> = {};

  constructor(secrets: DeclaredSecrets, onRedacted: OnRedacted) {
    this.#secrets = secrets;
    this.#onRedacted = onRedacted;
  }

  /** Null when nothing was taken out. */
  get counts(): RedactionCounts | null {
    return Object.keys(this.#counts).length === 0 ? null : this.#counts;
  }

  text(text: string): string {
    const redactor = new Redactor(this.#secrets.texts, this.#tally);
    return redactor.push(text) + redactor.finish();
  }

  /** All texts of a value of JSON, names of members left as they are. */
  value<T>(value: T): T {
    if (typeof value === 'string') return this.text(value) as T;
    if (Array.isArray(value)) return value.map((each: unknown) => this.value(each)) as T;
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, this.value(member)])) as T;
  }

  /** For bytes that come in pieces, one stream of them. */
  redactor(): Redactor {
    return new Redactor(this.#secrets.bytes, this.#tally);
  }

  bytes(content: Buffer): Buffer {
    const redactor = this.redactor();
    return Buffer.from(redactor.push(content.toString('latin1')) + redactor.finish(), 'latin1');
  }

  stream(): Transform {
    const redactor = this.redactor();
    return new Transform({
      highWaterMark: sliceBytes,
      transform: (chunk: Buffer, _encoding, done) => done(null, Buffer.from(redactor.push(chunk.toString('latin1')), 'latin1')),
      flush: (done) => done(null, Buffer.from(redactor.finish(), 'latin1')),
    });
  }

  readonly #tally = (kind: RedactionKind): void => {
    this.#counts[kind] = (this.#counts[kind] ?? 0) + 1;
    this.#onRedacted(kind);
  };
}
