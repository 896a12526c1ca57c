import { constants } from 'node:fs';
import { mkdir, open, rename, rm, rmdir } from 'node:fs/promises';
import { errnoOf } from '../../failure.ts';
import { sysPath, type BytePath } from '../../snapshot/index.ts';
import type { PatchRecord, Step } from './journal.ts';
import { lstatOrNull } from './place.ts';
import type { Change } from './plan.ts';

/** The steps of changes: temporary names lie beside their targets, so that a rename is all that is left to do. */
export function stepsOf(changes: readonly Change[], random: (bytes: number) => Buffer): readonly Step[] {
  const beside = (path: BytePath): BytePath => `${path.slice(0, path.lastIndexOf('/'))}/.agentfleet-${random(8).toString('hex')}.tmp`;
  return changes.map(({ old, fresh }) => ({
    old,
    kept: old === null ? null : beside(old),
    staged: fresh === null ? null : beside(fresh.path),
    target: fresh?.path ?? null,
  }));
}

/** Writes all new contents beside their targets, then puts them there. Throws with a part done: then {@link undo} it. */
export async function commit(changes: readonly Change[], record: Pick<PatchRecord, 'steps' | 'folders'>): Promise<void> {
  for (const act of actsOf(changes, record)) await act();
}

/** The acts of a patch in their order; a crash may come between any two. */
export function actsOf(
  changes: readonly Change[],
  { steps, folders }: Pick<PatchRecord, 'steps' | 'folders'>,
): readonly (() => Promise<unknown>)[] {
  const acts: (() => Promise<unknown>)[] = folders.map((folder) => () => mkdir(sysPath(folder), 0o755));
  for (const [n, { fresh }] of changes.entries()) {
    const staged = steps[n]?.staged ?? null;
    if (fresh !== null && staged !== null) acts.push(() => stage(staged, fresh.content, fresh.mode));
  }
  for (const { old, kept, staged, target } of steps) {
    if (old !== null && kept !== null) acts.push(() => rename(sysPath(old), sysPath(kept)));
    if (staged !== null && target !== null) acts.push(() => rename(sysPath(staged), sysPath(target)));
  }
  return acts;
}

async function stage(path: BytePath, content: Buffer, mode: number): Promise<void> {
  const handle = await open(sysPath(path), constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
  try {
    await handle.writeFile(content);
    await handle.chmod(mode);
  } finally {
    await handle.close();
  }
}

/** Removes what a finished patch kept for its undoing. */
export async function clean({ steps }: Pick<PatchRecord, 'steps'>): Promise<void> {
  for (const { kept } of steps) if (kept !== null) await rm(sysPath(kept), { force: true });
}

/**
 * Takes a patch back, however far it came and however often this was tried before: each rename tells by what is there
 * whether it was done.
 */
export async function undo({ steps, folders }: Pick<PatchRecord, 'steps' | 'folders'>): Promise<void> {
  for (const { old, kept, staged, target } of [...steps].reverse()) {
    // Staged contents are written before anything else: where one is gone, it is at its target. But none may be there yet.
    const begun = kept === null || (await lstatOrNull(kept)) !== null;
    if (begun && target !== null && staged !== null && target !== old && (await lstatOrNull(staged)) === null) {
      await rm(sysPath(target), { force: true });
    }
    if (old !== null && kept !== null && begun) await rename(sysPath(kept), sysPath(old));
    if (staged !== null) await rm(sysPath(staged), { force: true });
  }
  for (const folder of [...folders].reverse()) await removeEmpty(folder);
}

async function removeEmpty(folder: BytePath): Promise<void> {
  try {
    await rmdir(sysPath(folder));
  } catch (error) {
    const code = errnoOf(error) ?? '';
    if (code !== 'ENOENT' && code !== 'ENOTEMPTY') throw error;
  }
}
