import { compareManifests } from '../compare.ts';
import type { SnapshotRecord } from '../engine.ts';
import type { Manifest, ManifestEntry } from '../manifest.ts';
import { parseLine } from '../manifest.ts';
import type { LogEnd } from '../objects/segmentLog.ts';
import { byBytes, decodePath, encodePath, type BytePath } from '../pathBytes.ts';

/**
 * First line of a snapshot's file, as JSON. The body says how to get the manifest from that of
 * `base` (or from nothing): `+<canonical line>` for an entry that is new or other, `-<path>` for
 * one that is gone. A step that changes seven files writes seven lines, not ten thousand.
 */
export interface SnapshotHeader {
  readonly format: 1;
  readonly record: SnapshotRecord;
  readonly base: string | null;
  /** How many files must be read to know the manifest, this one not counted. */
  readonly depth: number;
  /** End of the object log when the snapshot was taken: everything it needs lies before. */
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
export function encodeBody(manifest: Manifest, base: Base | null): { lines: string[]; base: string | null; depth: number } {
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
export function decodeBodies(bodies: readonly string[], known: readonly ManifestEntry[]): ManifestEntry[] {
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
    // On to the next known entry that can be the same: both lists are sorted by path.
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
