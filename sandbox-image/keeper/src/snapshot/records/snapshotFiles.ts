import { decodePath, type SnapshotRecord } from '@agentfleet/protocol/keeper';
import { compareManifests, type Manifest, type ManifestEntry, parseLine, digestOf } from '../base/manifest.ts';
import { replaceStored, syncDirectory, TEMPORARY } from '../objects/stored.ts';
import type { LogEnd } from '../objects/segmentLog.ts';
import { byBytes, encodePath, type BytePath } from '../base/pathBytes.ts';
import fs from 'node:fs';
import { join } from 'node:path';
import { errnoOf, SnapshotError } from '../base/errors.ts';

/**
 * First line of a snapshot's file, as JSON. The body derives the manifest from that of `base` (or from nothing):
 * `+<canonical line>` for a new or changed entry, `-<path>` for a removed one. A step that changes seven files writes
 * seven lines, not ten thousand.
 */
interface SnapshotHeader {
  readonly format: 1;
  readonly record: SnapshotRecord;
  readonly base: string | null;
  /** Number of further files that must be read to know the manifest. */
  readonly depth: number;
  /** End of the object log when the snapshot was taken: everything it needs is before it. */
  readonly end: LogEnd;
}

/** The manifest that a new one may be written against. */
export interface Base {
  readonly id: string;
  readonly depth: number;
  readonly manifest: Manifest;
}

const MAX_DEPTH = 31;

/** Lines of the body and the base they need; whole when there is no base, a long chain or much has changed. */
function encodeBody(manifest: Manifest, base: Base | null): { lines: string[]; base: string | null; depth: number } {
  if (base !== null && base.depth < MAX_DEPTH) {
    const changes = compareManifests(base.manifest, manifest);
    if (changes.length * 4 <= manifest.entries.length) {
      const lines = changes.map(({ path, to }) => (to === null ? `-${encodePath(path)}` : `+${to.line}`));
      return { lines, base: base.id, depth: base.depth + 1 };
    }
  }
  return { lines: manifest.entries.map((entry) => `+${entry.line}`), base: null, depth: 0 };
}

/**
 * Applies bodies, the whole one first, and returns the sorted entries. `known` are the entries of
 * any similar manifest: where a line is the same, its entry is used again instead of being parsed.
 * Throws on a line that is neither kind.
 */
function decodeBodies(bodies: readonly string[], known: readonly ManifestEntry[]): ManifestEntry[] {
  const [whole = '', ...deltas] = bodies;
  const later = new Map<BytePath, ManifestEntry | null>();
  for (const line of deltas.flatMap(linesOf)) {
    const entry = line.startsWith('-') ? null : parseLine(line.slice(1));
    later.set(entry === null ? decodePath(line.slice(1)) : entry.path, entry);
  }
  const entries: ManifestEntry[] = [];
  let at = 0;
  for (const text of linesOf(whole)) {
    const line = text.slice(1);
    const candidate = known[at];
    const entry = candidate?.line === line ? candidate : parseLine(line);
    // Advances to the next known entry that can be the same: both lists are sorted by path.
    while (at < known.length && (known[at]?.path ?? '') <= entry.path) at++;
    if (!later.has(entry.path)) entries.push(entry);
  }
  const added = Array.from(later.values()).filter((entry) => entry !== null);
  return added.length === 0 ? entries : [...entries, ...added].sort((a, b) => byBytes(a.path, b.path));
}

function linesOf(body: string): string[] {
  const lines = body.split('\n').filter((line) => line !== '');
  const odd = lines.find((line) => !line.startsWith('+') && !line.startsWith('-'));
  if (odd !== undefined) throw new Error(`not a line of a snapshot: ${odd}`);
  return lines;
}

const NAME = /^s\d{4,}$/;

/**
 * The snapshots of a store: one file each, put in place by rename. A snapshot exists if and only
 * if its file does. Only headers are kept in memory; manifests are read when asked for.
 */
export class SnapshotFiles {
  readonly #dir: string;
  readonly #headers = new Map<string, SnapshotHeader>();
  readonly #damaged = new Set<string>();
  /** Known to lack something that a restore needs. */
  readonly #broken = new Set<string>();
  #next = 1;

  constructor(dir: string) {
    this.#dir = dir;
    const names = fs.readdirSync(dir);
    for (const name of names.filter((name) => name.endsWith(TEMPORARY))) fs.rmSync(join(dir, name));
    const ids = names.filter((name) => NAME.test(name)).sort((a, b) => numberOf(a) - numberOf(b));
    for (const id of ids) this.#load(id);
    this.#next = numberOf(ids.at(-1) ?? 's0') + 1;
  }

  /** Snapshots that can be restored, as far as is known. */
  list(): readonly SnapshotRecord[] {
    return this.all().filter(({ id }) => !this.#broken.has(id));
  }

  /** All snapshots, including broken ones. */
  all(): readonly SnapshotRecord[] {
    return Array.from(this.#headers.values(), (header) => header.record);
  }

  /** Ids whose files, or something that they need, are damaged. */
  get broken(): readonly string[] {
    return [...this.#damaged, ...this.#broken].sort((a, b) => numberOf(a) - numberOf(b));
  }

  markBroken(id: string): void {
    if (this.#headers.has(id)) this.#broken.add(id);
  }

  /** Whatever was wrong with it is not any more. */
  markSound(id: string): void {
    this.#broken.delete(id);
  }

  has(id: string): boolean {
    return this.#headers.has(id);
  }

  /** Throws AF_SNAPSHOT_UNKNOWN, or AF_SNAPSHOT_OBJECT_CORRUPT when its header is damaged. */
  check(id: string): void {
    this.#header(id);
  }

  nextId(): string {
    return `s${String(this.#next).padStart(4, '0')}`;
  }

  /** End of the object log at the newest snapshot; `unknown` when its file is damaged. */
  logEnd(): LogEnd | 'unknown' {
    const newest = Math.max(0, ...Array.from(this.#damaged, numberOf));
    const last = Array.from(this.#headers.values()).at(-1);
    if (newest > numberOf(last?.record.id ?? 's0')) return 'unknown';
    return last?.end ?? { segment: 1, offset: 0 };
  }

  /** Loads the manifest of a snapshot as a base for a later one. `known`: see `decodeBodies`. */
  load(id: string, known: readonly ManifestEntry[] = []): Base {
    const header = this.#header(id);
    const bodies: string[] = [];
    try {
      for (let step: string | null = id; step !== null; step = this.#header(step).base) {
        const text = fs.readFileSync(join(this.#dir, step), 'latin1');
        bodies.unshift(text.slice(text.indexOf('\n') + 1));
      }
      const entries = decodeBodies(bodies, known);
      const digest = digestOf(entries);
      if (digest !== header.record.manifestDigest) throw new Error(`its digest is ${digest}`);
      return { id, depth: header.depth, manifest: { digest, entries, skipped: header.record.skipped } };
    } catch (error) {
      this.markBroken(id);
      if (error instanceof SnapshotError && error.code === 'AF_SNAPSHOT_UNKNOWN') throw damaged(id, error);
      throw error instanceof SnapshotError ? error : damaged(id, error);
    }
  }

  /** Like {@link load}; null when there is no such snapshot, or it is damaged. */
  loadIfSound(id: string, known: readonly ManifestEntry[] = []): Base | null {
    try {
      return this.load(id, known);
    } catch (error) {
      if (error instanceof SnapshotError) return null;
      throw error;
    }
  }

  /** Writes a snapshot durably; it exists when this returns. Objects must have been committed before. */
  write(record: SnapshotRecord, manifest: Manifest, base: Base | null, end: LogEnd): Base {
    try {
      const depth = this.#put(record, manifest, base !== null && this.#isWhole(base.id) ? base : null, end);
      this.#next++;
      return { id: record.id, depth, manifest };
    } catch (error) {
      fs.rmSync(join(this.#dir, record.id), { force: true });
      throw error;
    }
  }

  /** Writes a snapshot of another store under its own id, which is higher than all that are here. */
  place(record: SnapshotRecord, manifest: Manifest, base: Base | null, end: LogEnd): Base {
    const depth = this.#put(record, manifest, base, end);
    this.reserve(record.id);
    return { id: record.id, depth, manifest };
  }

  /** No later snapshot gets this id or a lower one. */
  reserve(id: string): void {
    this.#next = Math.max(this.#next, numberOf(id) + 1);
  }

  /** Id that a snapshot is written against; null when it is whole. */
  baseOf(id: string): string | null {
    return this.#header(id).base;
  }

  /** Writes an existing snapshot against another base, or whole; the same snapshot at every instant. */
  rebase(id: string, base: Base | null): void {
    const { record, end } = this.#header(id);
    this.#put(record, this.load(id, base?.manifest.entries).manifest, base, end);
  }

  /**
   * Removes snapshots (given oldest first) that no other is based on; durable when this returns. The newest is removed
   * first, so that none ever lacks its base.
   */
  remove(ids: readonly string[]): void {
    for (const id of ids.toReversed()) {
      fs.unlinkSync(join(this.#dir, id));
      this.#headers.delete(id);
      this.#broken.delete(id);
    }
    syncDirectory(this.#dir);
  }

  /** The lines of a snapshot's own file, unverified. Those that begin with `+` are entries of its manifest. */
  lines(id: string): string[] {
    return fs.readFileSync(join(this.#dir, id), 'latin1').split('\n').slice(1);
  }

  /** Puts a file in place by rename; returns how many files its manifest needs. */
  #put(record: SnapshotRecord, manifest: Manifest, base: Base | null, end: LogEnd): number {
    const body = encodeBody(manifest, base);
    const header: SnapshotHeader = { format: 1, record, base: body.base, depth: body.depth, end };
    replaceStored(join(this.#dir, record.id), (fd) => {
      // JSON is text, the lines are bytes: both go out as bytes.
      fs.writeFileSync(fd, `${JSON.stringify(header)}\n`);
      fs.writeFileSync(fd, `${body.lines.join('\n')}\n`, 'latin1');
    });
    this.#headers.set(record.id, header);
    return body.depth;
  }

  /** False when the chain of a base is known to be broken: a snapshot based on it would be broken, too. */
  #isWhole(id: string): boolean {
    for (let step: string | null = id; step !== null; step = this.#headers.get(step)?.base ?? null) {
      if (!this.#headers.has(step) || this.#broken.has(step)) return false;
    }
    return true;
  }

  #header(id: string): SnapshotHeader {
    const header = this.#headers.get(id);
    if (header !== undefined) return header;
    if (this.#damaged.has(id)) throw damaged(id, undefined);
    throw new SnapshotError('AF_SNAPSHOT_UNKNOWN', `no snapshot ${JSON.stringify(id)} in this store`);
  }

  #load(id: string): void {
    try {
      const text = fs.readFileSync(join(this.#dir, id), 'utf8');
      const header = JSON.parse(text.slice(0, text.indexOf('\n'))) as Partial<SnapshotHeader>;
      if (header.format !== 1 || header.record?.id !== id || header.end === undefined) throw new SyntaxError('not a snapshot header');
      this.#headers.set(id, header as SnapshotHeader);
    } catch (error) {
      if (!(error instanceof SyntaxError) && errnoOf(error) !== 'EIO') throw error;
      this.#damaged.add(id);
    }
  }
}

function numberOf(id: string): number {
  return Number.parseInt(id.slice(1), 10);
}

function damaged(id: string, cause: unknown): SnapshotError {
  return new SnapshotError('AF_SNAPSHOT_OBJECT_CORRUPT', `the manifest of snapshot ${id} is damaged`, { cause });
}

/** Rule for the snapshots that outlive a collection. The newest one always does: ids are counted on from it. */
export interface RetentionRule {
  /** Number of the newest that stay, at least 1. */
  readonly newest: number;
  /** Number of further ones that may accumulate before a collection runs automatically. Default: a fifth of `newest`. */
  readonly slack?: number;
  readonly labels: readonly string[];
}

/** Ids that stay: the newest, the labelled, and those named by the caller. `records`: oldest first. */
export function retainedIds(records: readonly SnapshotRecord[], rule: RetentionRule, named: Iterable<string>): Set<string> {
  const kept = new Set(named);
  for (const { id } of records.slice(-Math.max(1, rule.newest))) kept.add(id);
  for (const { id, label } of records) if (label !== null && rule.labels.includes(label)) kept.add(id);
  return new Set(records.map(({ id }) => id).filter((id) => kept.has(id)));
}
