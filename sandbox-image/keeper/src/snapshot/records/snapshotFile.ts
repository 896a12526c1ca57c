import { compareManifests } from '../compare.ts';
import type { SnapshotRecord } from '../engine.ts';
import type { Manifest, ManifestEntry } from '../manifest.ts';
import { parseLine } from '../manifest.ts';
import type { LogEnd } from '../objects/segmentLog.ts';
import { byBytes, decodePath, encodePath } from '../pathBytes.ts';

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

/** Applies bodies, oldest first, and returns the sorted entries. Throws on a line that is neither kind. */
export function decodeBodies(bodies: readonly string[]): ManifestEntry[] {
  const lines = new Map<string, string>();
  for (const body of bodies) {
    for (const line of body.split('\n')) {
      if (line.startsWith('-')) lines.delete(decodePath(line.slice(1)));
      else if (line.startsWith('+')) applyLine(lines, line.slice(1));
      else if (line !== '') throw new Error(`not a line of a snapshot: ${line}`);
    }
  }
  const entries = Array.from(lines.values(), parseLine);
  return entries.sort((a, b) => byBytes(a.path, b.path));
}

function applyLine(lines: Map<string, string>, line: string): void {
  const path = line.split(' ', 6)[5];
  if (path === undefined) throw new Error(`not a manifest line: ${line}`);
  lines.set(decodePath(path), line);
}
