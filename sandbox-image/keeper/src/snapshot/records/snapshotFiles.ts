import fs from 'node:fs';
import { join } from 'node:path';
import type { SnapshotRecord } from '../engine.ts';
import { errnoOf, SnapshotError } from '../errors.ts';
import { digestOf, type Manifest, type ManifestEntry } from '../manifest.ts';
import { syncDirectory, type LogEnd } from '../objects/segmentLog.ts';
import { decodeBodies, encodeBody, type Base, type SnapshotHeader } from './snapshotFile.ts';

const NAME = /^s\d{4,}$/;
const TEMPORARY = '.tmp';

/**
 * The snapshots of a store: one file each, put in place by rename. A snapshot exists if and only
 * if its file does. Only headers are kept in memory; manifests are read when asked for.
 */
export class SnapshotFiles {
  readonly #dir: string;
  readonly #headers = new Map<string, SnapshotHeader>();
  readonly #damaged = new Set<string>();
  #next = 1;

  constructor(dir: string) {
    this.#dir = dir;
    const names = fs.readdirSync(dir);
    for (const name of names.filter((name) => name.endsWith(TEMPORARY))) fs.rmSync(join(dir, name));
    const ids = names.filter((name) => NAME.test(name)).sort((a, b) => numberOf(a) - numberOf(b));
    for (const id of ids) this.#load(id);
    this.#next = numberOf(ids.at(-1) ?? 's0') + 1;
  }

  list(): readonly SnapshotRecord[] {
    return Array.from(this.#headers.values(), (header) => header.record);
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

  /** Where the object log ends for the newest snapshot; `unknown` when its file is damaged. */
  logEnd(): LogEnd | 'unknown' {
    const newest = Math.max(0, ...Array.from(this.#damaged, numberOf));
    const last = Array.from(this.#headers.values()).at(-1);
    if (newest > numberOf(last?.record.id ?? 's0')) return 'unknown';
    return last?.end ?? { segment: 1, offset: 0 };
  }

  /** Manifest of a snapshot with what a later one needs to be written against it. `known`: see `decodeBodies`. */
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
      if (error instanceof SnapshotError && error.code === 'AF_SNAPSHOT_UNKNOWN') throw damaged(id, error);
      throw error instanceof SnapshotError ? error : damaged(id, error);
    }
  }

  /** Writes a snapshot durably; it exists when this returns. Objects must have been committed before. */
  write(record: SnapshotRecord, manifest: Manifest, base: Base | null, end: LogEnd): Base {
    const body = encodeBody(manifest, base);
    const header: SnapshotHeader = { format: 1, record, base: body.base, depth: body.depth, end };
    const path = join(this.#dir, record.id);
    try {
      const fd = fs.openSync(path + TEMPORARY, 'w', 0o600);
      try {
        // JSON is text, the lines are bytes: both go out as bytes.
        fs.writeFileSync(fd, `${JSON.stringify(header)}\n`);
        fs.writeFileSync(fd, `${body.lines.join('\n')}\n`, 'latin1');
        fs.fdatasyncSync(fd);
      } finally {
        fs.closeSync(fd);
      }
      fs.renameSync(path + TEMPORARY, path);
      syncDirectory(this.#dir);
    } catch (error) {
      fs.rmSync(path + TEMPORARY, { force: true });
      fs.rmSync(path, { force: true });
      throw error;
    }
    this.#headers.set(record.id, header);
    this.#next++;
    return { id: record.id, depth: body.depth, manifest };
  }

  #header(id: string): SnapshotHeader {
    const header = this.#headers.get(id);
    if (header !== undefined) return header;
    if (this.#damaged.has(id)) throw damaged(id, undefined);
    throw new SnapshotError('AF_SNAPSHOT_UNKNOWN', `no snapshot ${JSON.stringify(id)} in this store`, { details: { id } });
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
  return new SnapshotError('AF_SNAPSHOT_OBJECT_CORRUPT', `the manifest of snapshot ${id} is damaged`, { cause, details: { id } });
}
