import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { auditTypes, type AuditRecord, type AuditType } from '@agentfleet/protocol/keeper';
import { canonicalJson } from '@agentfleet/protocol/text';

/** `prev` of the first record. */
export const genesis = '0'.repeat(64);

/** Position of a chain: number and hash of its last record. */
export interface ChainHead {
  readonly seq: number;
  readonly hash: string;
}

export const emptyChain: ChainHead = { seq: 0, hash: genesis };

type Content = Pick<AuditRecord, 'seq' | 'at' | 'type' | 'epoch' | 'body'>;

function hashOf(prev: string, content: Content): string {
  const { seq, at, type, epoch, body } = content;
  return createHash('sha256')
    .update(`${prev}\n${canonicalJson({ seq, at, type, epoch, body })}`)
    .digest('hex');
}

/** The record that follows `head`. */
export function nextRecord(head: ChainHead, entry: Omit<Content, 'seq'>): AuditRecord {
  const content: Content = { seq: head.seq + 1, ...entry };
  return { ...content, prev: head.hash, hash: hashOf(head.hash, content) };
}

/** A record as its line in the log, without newline. There is exactly one spelling of it. */
export function recordLine(record: AuditRecord): string {
  return canonicalJson(record);
}

/** Checks whether a line is the record that must follow `head`, byte for byte. Pure. */
export function checkLine(head: ChainHead, line: Buffer): { readonly record: AuditRecord | null; readonly why: string | null } {
  // Decoding maps different invalid bytes to the same character: such a line could be altered without a trace.
  if (!isUtf8(line)) return { record: null, why: 'it is not a record' };
  const text = line.toString('utf8');
  const record = parseRecord(text);
  return record === null ? { record, why: 'it is not a record' } : { record, why: faultOf(head, record, text) };
}

function faultOf(head: ChainHead, record: AuditRecord, text: string): string | null {
  if (record.seq !== head.seq + 1) return `its number is ${record.seq}, ${head.seq + 1} must follow`;
  if (record.prev !== head.hash) return `it follows ${record.prev.slice(0, 12)}…, the record before it is ${head.hash.slice(0, 12)}…`;
  if (record.hash !== hashOf(record.prev, record)) return 'its hash does not fit its content';
  // Members beyond these are in no hash.
  const { seq, at, type, epoch, body, prev, hash } = record;
  return recordLine({ seq, at, type, epoch, body, prev, hash }) === text ? null : 'it is not in canonical form';
}

function parseRecord(line: string): AuditRecord | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  return isRecord(value) ? value : null;
}

function isRecord(value: unknown): value is AuditRecord {
  if (typeof value !== 'object' || value === null) return false;
  const it = value as Partial<Record<keyof AuditRecord, unknown>>;
  const numbers = Number.isSafeInteger(it.seq) && Number.isSafeInteger(it.epoch);
  const strings = typeof it.at === 'string' && typeof it.prev === 'string' && typeof it.hash === 'string';
  return numbers && strings && typeof it.body === 'object' && it.body !== null && auditTypes.includes(it.type as AuditType);
}

const stride = 256;

/** Offsets of every 256th record, so that a read from the middle does not scan the whole log. */
export class OffsetIndex {
  readonly #offsets: number[] = [];

  /** Call it for every record once, in order; `seq` counts from 1. */
  add(seq: number, offset: number): void {
    if ((seq - 1) % stride === 0) this.#offsets[(seq - 1) / stride] = offset;
  }

  /** The closest known start at or before record `seq`. */
  before(seq: number): number {
    const slot = Math.min(Math.floor((Math.max(seq, 1) - 1) / stride), this.#offsets.length - 1);
    return this.#offsets[slot] ?? 0;
  }
}
