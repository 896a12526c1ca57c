import { isTimeOnly, type Change } from '../compare.ts';
import type { Contents } from '../contents.ts';
import type { TreeChange, TreeDiff } from '../engine.ts';
import type { ManifestEntry } from '../manifest.ts';
import { displayPath } from '../pathBytes.ts';
import type { Slices } from '../slices.ts';
import { patchOf } from './patchText.ts';

/** Limit of the patch text, in UTF-16 units. */
const MAX_PATCH = 1024 * 1024;

/** One change for people and JSON. */
export function describeChange({ path, from, to }: Change): TreeChange {
  const entry = to ?? from;
  if (entry === null) throw new Error('a change has at least one side');
  return {
    path: displayPath(path),
    op: operation(from, to),
    type: entry.type,
    modeFrom: from === null ? null : octal(from),
    modeTo: to === null ? null : octal(to),
    sizeFrom: from === null ? null : from.size,
    sizeTo: to === null ? null : to.size,
  };
}

function operation(from: ManifestEntry | null, to: ManifestEntry | null): TreeChange['op'] {
  if (from === null) return 'A';
  if (to === null) return 'D';
  return from.type === to.type ? 'M' : 'T';
}

function octal({ mode }: ManifestEntry): string {
  return mode.toString(8).padStart(4, '0');
}

/** Describes changes and writes the patch, up to its limit; a cut patch ends with a line that says so. */
export async function makeTreeDiff(
  names: { from: string; to: string },
  all: readonly Change[],
  contents: Contents,
  slices: Slices,
): Promise<TreeDiff> {
  const changes = all.filter((change) => !isTimeOnly(change));
  let unified = '';
  let shown = 0;
  for (const change of changes) {
    const patch = patchOf(change, contents);
    if (unified.length + patch.length > MAX_PATCH) break;
    unified += patch;
    shown++;
    if (slices.due()) await slices.pause();
  }
  const truncated = shown < changes.length;
  if (truncated) unified += `# cut at ${MAX_PATCH} characters: ${changes.length - shown} more changed paths\n`;
  return { ...names, changes: changes.map(describeChange), unified, truncated };
}
