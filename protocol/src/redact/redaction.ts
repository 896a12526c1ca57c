import { redactionMarker, type RedactionKind, type RedactionCounts } from '../keeper/index.ts';
import { findSecrets, type Span, DeclaredSecrets } from './find.ts';
import { afterHeader, keyLine, nextKey, openKey, type Around, type KeyState } from './key.ts';
import { Transform } from 'node:stream';

/** A word that has not ended is held back up to this; longer ones are no secrets but data. */
const maxHeld = 16 * 1024;
/** No secret is longer, and so much of a longer word stays held. */
const maxSecret = 12 * 1024;
/** Of this line and the one before, for names that stand before a value and for data in lines. */
const contextChars = 512;
const maxKeyLine = 20 * 1024;
/** Characters that are looked at at once. */
const windowChars = 64 * 1024;

/** Secrets that were found, by kind. */
export type Tally = (kind: RedactionKind) => void;

/**
 * Takes the secrets out of a text that comes in pieces, wherever it is cut: the last word, and the beginning of what may be
 * a declared value or a key, are held back until they are whole. Bytes are given as latin1.
 */
export class Redactor {
  readonly #declared: readonly string[];
  readonly #tally: Tally;
  #held = '';
  #context = '';
  #key: KeyState = null;
  /** Text before the header of the key that is being read, and around its lines. */
  #before = '';
  #around: Around = { prefix: null, suffix: null };

  constructor(declared: readonly string[], tally: Tally) {
    this.#declared = declared;
    this.#tally = tally;
  }

  /** Characters that wait for more. */
  get held(): number {
    return this.#held.length;
  }

  push(text: string): string {
    this.#held += text;
    // More of a word that has not ended: nothing can go yet, so nothing is looked at.
    if (this.#key === null && this.#held.length < maxHeld && !/[ \t\r\n]/.test(text)) return '';
    return this.#drain(false);
  }

  /**
   * Gives what is held back when it is a plain word or pieces too short to reveal anything, as the questions of programs are.
   * When a secret begins with it after all, the rest of that is still taken out.
   */
  settle(): string {
    const plain = /^[^A-Za-z0-9]{0,3}[A-Za-z]{0,12}[^A-Za-z0-9]{0,3}$/.test(this.#held) || !/[A-Za-z0-9+/=_.-]{6}/.test(this.#held);
    return plain && this.#key === null && this.#declaredFrom(this.#held) === this.#held.length && openKey(this.#held) === this.#held.length
      ? this.#drain(true)
      : '';
  }

  /** Everything that is left. */
  finish(): string {
    return this.#drain(true);
  }

  #drain(all: boolean): string {
    let out = '';
    while (this.#held !== '') {
      const step = this.#key === null ? this.#plain(all) : this.#inKey(all);
      if (step === null) break;
      out += step;
    }
    return out;
  }

  /** Swallows one line of a key; null when it is not whole yet. */
  #inKey(all: boolean): string | null {
    const found = this.#held.indexOf('\n');
    if (found === -1 && !all && this.#held.length <= maxKeyLine) return null;
    const line = found === -1 ? this.#held : this.#held.slice(0, found + 1);
    if (this.#key === 'Header') return this.#afterHeader(line);
    const next = keyLine(line, this.#key, this.#around);
    this.#key = next === 'End' || next === 'Not' ? null : next;
    if (next === 'Not') return '\n';
    this.#held = this.#held.slice(line.length);
    return next === 'End' && line.endsWith('\n') ? '\n' : '';
  }

  #afterHeader(line: string): string {
    const { length, around } = afterHeader(this.#before, line);
    const goesOn = around !== null && line.endsWith('\n');
    this.#key = goesOn ? 'Head' : null;
    this.#around = around ?? this.#around;
    this.#held = this.#held.slice(goesOn ? line.length : length);
    return goesOn ? line.slice(length, -1) : '';
  }

  /** Looks at what stands before the next key, at most a window of it; null when all of that has to wait. */
  #plain(all: boolean): string | null {
    const window = this.#held.slice(0, windowChars);
    const key = nextKey(window);
    const whole = this.#context + window.slice(0, key?.start ?? window.length);
    const before = this.#context.length;
    const last = all && window.length === this.#held.length;
    const ready = key !== null || last ? whole.length : this.#ready(whole, before);
    // Nothing is looked for before something may go: a word that grows byte by byte is looked at once.
    if (key === null && ready <= before) return null;
    const spans = findSecrets(whole, this.#declared);
    const crossing = spans.find(({ start, end }) => start < ready && end > ready);
    const cut = crossing?.start ?? ready;
    if (key === null) return cut <= before ? null : this.#emit(whole, before, cut, spans);
    const out = this.#emit(whole, before, cut, spans);
    this.#held = this.#held.slice(key.end - key.start);
    this.#context = '';
    this.#before = whole.slice(whole.lastIndexOf('\n') + 1);
    this.#key = 'Header';
    this.#tally('PrivateKey');
    return out + redactionMarker('PrivateKey');
  }

  #emit(whole: string, from: number, to: number, spans: readonly Span[]): string {
    let out = '';
    let at = from;
    for (const { start, end, kind } of spans) {
      if (end <= from || start >= to) continue;
      out += whole.slice(at, Math.max(at, start)) + redactionMarker(kind);
      at = end;
      this.#tally(kind);
    }
    const next = Math.max(at, to);
    out += whole.slice(at, next);
    this.#held = this.#held.slice(next - from);
    const line = whole.lastIndexOf('\n', next - 1);
    const prior = line <= 0 ? -1 : whole.lastIndexOf('\n', line - 1);
    this.#context = whole.slice(Math.max(0, prior + 1, next - contextChars), next);
    return out;
  }

  /** Up to where nothing that follows can change what is a secret. */
  #ready(whole: string, before: number): number {
    const open = openKey(whole);
    // The text ends at the beginning of a key: what stands at it is judged when the header is whole.
    const word = Math.min(open, wordAt(whole.slice(0, open), Math.max(before, whole.length - maxHeld)));
    const long = whole.length - word >= maxHeld ? whole.length - maxSecret : word;
    return Math.min(long, this.#declaredFrom(whole));
  }

  /** Returns the position at which a declared value may have begun at the end of a text. */
  #declaredFrom(text: string): number {
    let from = text.length;
    for (const value of this.#declared) {
      const first = value.charAt(0);
      let at = text.indexOf(first, Math.max(0, text.length - value.length + 1));
      for (; at !== -1 && at < from; at = text.indexOf(first, at + 1)) if (value.startsWith(text.slice(at))) from = at;
    }
    return from;
  }
}

/** Returns the position at which the last word of a text begins, not before `least`. */
function wordAt(text: string, least: number): number {
  return Math.max(least, ...[' ', '\t', '\r', '\n'].map((space) => text.lastIndexOf(space) + 1));
}

/** Reports a redaction: once for every secret. */
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

  /** One answer's redaction: what it counts is reported in the answer. */
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
