import type { ManifestEntry, Tree } from './manifest.ts';
import type { BytePath } from './pathBytes.ts';

/** One path that is not the same on both sides; exactly one side may be missing. */
export interface Change {
  readonly path: BytePath;
  readonly from: ManifestEntry | null;
  readonly to: ManifestEntry | null;
}

/** Every difference of two manifests, sorted by path. O(n + m). */
export function compareManifests(from: Tree, to: Tree): Change[] {
  const left = from.entries;
  const right = to.entries;
  const changes: Change[] = [];
  for (let i = 0, j = 0; i < left.length || j < right.length;) {
    const a = left[i];
    const b = right[j];
    if (a !== undefined && b !== undefined && a.path === b.path) {
      if (a !== b && a.line !== b.line) changes.push({ path: a.path, from: a, to: b });
      i++;
      j++;
    } else if (b === undefined || (a !== undefined && a.path < b.path)) {
      if (a !== undefined) changes.push({ path: a.path, from: a, to: null });
      i++;
    } else {
      changes.push({ path: b.path, from: null, to: b });
      j++;
    }
  }
  return changes;
}

/** True when only the modification time differs. */
export function isTimeOnly({ from, to }: Change): boolean {
  if (from === null || to === null || from.xattrs !== to.xattrs) return false;
  return from.type === to.type && from.mode === to.mode && from.hash === to.hash && from.link === to.link;
}

/** True when the two sides have not the same extended attributes, or one side that has some is missing. */
export function changesXattrs({ from, to }: Change): boolean {
  return (from?.xattrs ?? '') !== (to?.xattrs ?? '');
}
