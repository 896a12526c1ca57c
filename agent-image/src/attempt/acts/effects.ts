import type { Baseline } from '../baseline.ts';
import { bothSides, changesBetween, type Changes } from '../changes.ts';
import type { Rewrite } from '../edits.ts';
import type { Gate } from '../gate.ts';
import type { SandboxSession } from '../sandboxSession.ts';

/** Files that acts may write; each is read and judged. What makes more belongs into spec.setup. */
export const maxWritten = 256;

/** What acts did to the tree. */
export interface Effects {
  /** Why it cannot stand; null when it can. */
  readonly refused: string | null;
  /** Files of the workspace that are gone. */
  readonly deleted: readonly string[];
}

/**
 * Judges what acts left in the tree as if it had been written by edits: protected files, files that take the place of
 * others, what code could forge, and the rails. A command that hides what it writes is reported by what it wrote.
 *
 * @param from snapshot before the candidate
 * @param to snapshot after its acts, which the tree is, and is afterwards
 */
export async function judgeEffects(
  session: SandboxSession,
  { protectedSet }: Baseline,
  gate: Gate,
  from: string,
  to: string,
): Promise<Effects> {
  const changes = await changesBetween(session, protectedSet, from, to);
  const own = changes.entries.flatMap(({ path, op }) => {
    const relative = session.relative(path);
    return relative === null || protectedSet.derived(relative) ? [] : [{ path: relative, op }];
  });
  const deleted = own.filter(({ op }) => op === 'D').map(({ path }) => path);
  const written = own.filter(({ op }) => op !== 'D').map(({ path }) => path);
  const refused = violation(changes) ?? tooMany(written.length) ?? (await contentRefusal(session, gate, from, to, written));
  return { refused, deleted };
}

function violation({ violations: [first] }: Changes): string | null {
  return first === undefined ? null : `after its commands ${first.message}`;
}

function tooMany(count: number): string | null {
  return count <= maxWritten ? null : `its commands wrote ${count} files, ${maxWritten} can be judged; do that in spec.setup`;
}

async function contentRefusal(
  session: SandboxSession,
  gate: Gate,
  from: string,
  to: string,
  written: readonly string[],
): Promise<string | null> {
  if (written.length === 0) return null;
  const { before, after } = await bothSides(session, from, to, written);
  const rewrites = [...after].map(([path, bytes]): Rewrite => ({ path, before: before.get(path) ?? null, after: bytes }));
  // Only text can be source; what else may not lie there is reported by its path, above.
  const { allowed, why, review, approval } = gate.judge({ rewrites: rewrites.filter((one) => !one.after.includes(0)), acts: [] });
  const [open] = [...review, ...approval];
  if (allowed && open === undefined) return null;
  const what = allowed ? `${open?.subject ?? ''}: ${open?.findings[0] ?? 'it has to be judged'} (${open?.decision ?? ''})` : why;
  return `its commands left what an edit may not: ${what}`;
}
