import type { AuditRecord, AuditReport } from '@agentfleet/protocol/keeper';
import { readLines, type FileLine } from '../base/lines.ts';
import { checkLine, emptyChain, type ChainHead, genesis } from './chain.ts';
import { stat } from 'node:fs/promises';
import { ifThere } from '../base/stored.ts';

/** Findings that are kept; more are counted. */
const maxFindings = 100;

/** Something about one line of a log. */
export interface Finding {
  /** Line of the file, from 1; after the last one for records missing at the end. */
  readonly line: number;
  /** Number in the record, or the expected one. */
  readonly seq: number;
  readonly why: string;
}

interface InspectOptions {
  /** Hash of a record that was the last one once: only this shows that a log lost its tail, or was written again. */
  readonly root?: string;
  /** Called for every record whose content matches its own hash, also after a break. */
  readonly onRecord?: (record: AuditRecord) => void;
  readonly signal?: AbortSignal;
}

/** All faults of a log. */
export interface LogInspection {
  /** The log is not empty and no record was altered, dropped, moved or inserted. */
  readonly ok: boolean;
  readonly records: number;
  readonly head: ChainHead;
  /** The first {@link maxFindings} faults. */
  readonly faults: readonly Finding[];
  readonly faultCount: number;
  /** Records at which the clock went back: reported, but no fault. */
  readonly clockSteps: readonly Finding[];
  /** Records after the one that `root` names: it does not prove that there were no more. Null without `root`. */
  readonly behindRoot: number | null;
}

/**
 * Reads a log like `verifyLog`, but continues after a break and reports the fault of every line, so that one altered
 * record is one fault. `log` is the path of a file, or its content. Without `root` a log whose last records are missing
 * passes: a chain only proves its past.
 */
export async function inspectLog(log: string | Buffer, options: InspectOptions = {}): Promise<LogInspection> {
  const inspection = new Inspection(options);
  const range = options.signal === undefined ? {} : { signal: options.signal };
  for await (const line of typeof log === 'string' ? readLines(log, range) : linesOf(log)) inspection.add(line);
  return inspection.finish();
}

function* linesOf(log: Buffer): Generator<FileLine> {
  for (let start = 0; start < log.length;) {
    const newline = log.indexOf('\n', start);
    const end = newline === -1 ? log.length : newline;
    yield { bytes: log.subarray(start, end), offset: start, complete: newline !== -1 };
    start = end + 1;
  }
}

class Inspection {
  readonly #options: InspectOptions;
  readonly #faults: Finding[] = [];
  readonly #clockSteps: Finding[] = [];
  #faultCount = 0;
  #head = emptyChain;
  /** Unreadable lines before this one: a record that fits after them is not counted as a fault. */
  #blind = 0;
  #line = 0;
  #records = 0;
  #lastAt = Number.NEGATIVE_INFINITY;
  #rootAt: number | null = null;

  constructor(options: InspectOptions) {
    this.#options = options;
  }

  add({ bytes, complete }: FileLine): void {
    this.#line += 1;
    const next = this.#head.seq + 1;
    if (!complete) return this.#fault(next, 'its line ends early or is too long: the file was cut, or its writer died');
    const { record, why } = checkLine(this.#head, bytes);
    if (record === null) return this.#unreadable(next, why ?? '');
    const content = checkLine({ seq: record.seq - 1, hash: record.prev }, bytes).why;
    if (content !== null) return this.#unreadable(record.seq, content);
    if (why !== null && !this.#resumes(record)) this.#fault(record.seq, this.#place(record) ?? why);
    this.#take(record);
  }

  finish(): LogInspection {
    const { root } = this.#options;
    this.#line += 1;
    if (root !== undefined && this.#rootAt === null)
      this.#fault(
        this.#head.seq + 1,
        `the head ${root.slice(0, 12)}… is no record of this log: its end is missing, or it was written again`,
      );
    if (this.#records === 0 && this.#faultCount === 0) this.#fault(1, 'the log is empty');
    return {
      ok: this.#faultCount === 0,
      records: this.#records,
      head: this.#head,
      faults: this.#faults,
      faultCount: this.#faultCount,
      clockSteps: this.#clockSteps,
      behindRoot: this.#rootAt === null ? null : this.#records - this.#rootAt,
    };
  }

  /** Faults were reported for the lines before; returns whether this line is at its place after them. */
  #resumes({ seq }: AuditRecord): boolean {
    return this.#blind > 0 && seq === this.#head.seq + 1 + this.#blind;
  }

  /** Describes a record at the wrong place by its number; null when the number is right. */
  #place({ seq }: AuditRecord): string | null {
    const next = this.#head.seq + 1;
    if (seq === next) return null;
    if (seq < next) return `it stands behind record ${next - 1}: moved, repeated or put in`;
    const missing = seq - 1 === next ? `record ${next} is` : `records ${next} to ${seq - 1} are`;
    return `${missing} missing before it`;
  }

  #unreadable(seq: number, why: string): void {
    this.#fault(seq, why);
    this.#blind += 1;
  }

  #take(record: AuditRecord): void {
    const { seq, hash } = record;
    this.#records += 1;
    if (seq > this.#head.seq) {
      this.#tellClock(record);
      this.#head = { seq, hash };
      this.#blind = 0;
    }
    if (hash === this.#options.root) this.#rootAt = this.#records;
    this.#options.onRecord?.(record);
  }

  #tellClock({ seq, at }: AuditRecord): void {
    const time = Date.parse(at);
    if (time < this.#lastAt && this.#clockSteps.length < maxFindings) {
      const why = `its time is ${((this.#lastAt - time) / 1000).toFixed(3)} s before that of the record before it`;
      this.#clockSteps.push({ line: this.#line, seq, why });
    }
    if (Number.isFinite(time)) this.#lastAt = time;
  }

  #fault(seq: number, why: string): void {
    this.#faultCount += 1;
    if (this.#faults.length < maxFindings) this.#faults.push({ line: this.#line, seq, why });
  }
}

export interface VerifyOptions {
  /** Reads only this many bytes: the committed length when the check was requested. */
  readonly end?: number;
  /** Called for every good record, in order, with the offset of its line. */
  readonly onRecord?: (record: AuditRecord, offset: number) => void;
  /** A head seen earlier. A log that lost its tail is a valid, shorter chain: only this shows it. */
  readonly expect?: ChainHead;
}

interface LogCheck extends AuditReport {
  /** Offset after the last good record. */
  readonly end: number;
  /** Bytes of a last line without newline: a write that did not finish. */
  readonly tornBytes: number;
}

/**
 * Reads a log back from disk and checks every link of its chain. A torn last line is reported in
 * `tornBytes` and makes the log not `ok`; a missing file is an empty log.
 */
export async function verifyLog(file: string, options: VerifyOptions = {}): Promise<LogCheck> {
  let head = emptyChain;
  let end = 0;
  const finish = (why: string | null, tornBytes = 0): LogCheck => ({
    ok: why === null,
    records: head.seq,
    root: head.hash,
    broken: why === null ? null : { seq: head.seq + 1, why },
    end,
    tornBytes,
  });
  const size = options.end ?? (await ifThere(stat(file)))?.size ?? 0;
  let anchorSeen = options.expect === undefined || options.expect.hash === genesis;
  for await (const line of size === 0 ? [] : readLines(file, { ...options, end: size })) {
    const lineEnd = line.offset + line.bytes.length;
    if (!line.complete) return lineEnd < size ? finish('its line is too long') : finish('the last line is torn', line.bytes.length);
    const { record, why } = checkLine(head, line.bytes);
    if (record === null || why !== null) return finish(why);
    options.onRecord?.(record, line.offset);
    head = { seq: record.seq, hash: record.hash };
    anchorSeen ||= head.seq === options.expect?.seq && head.hash === options.expect.hash;
    end = lineEnd + 1;
  }
  return finish(anchorSeen || options.expect === undefined ? null : missingTail(head, options.expect));
}

function missingTail(head: ChainHead, expect: ChainHead): string | null {
  if (expect.hash === genesis) return null;
  return head.seq < expect.seq
    ? `${expect.seq - head.seq} records are missing at the end`
    : `record ${expect.seq} is not the one seen before`;
}
