import { mkdir, open, readdir, readFile, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { PatchReport, PatchRequest } from '@agentfleet/protocol/keeper';
import { errnoOf, KeeperError, messageOf } from '../../base/failure.ts';
import { replaceFile, syncFolder } from '../../base/stored.ts';
import { type BytePath, sysPath } from '../../snapshot/index.ts';
import { constants } from 'node:fs';
import { type Change, planPatch } from './plan.ts';
import { hash } from 'node:crypto';
import { canonicalJson } from '@agentfleet/protocol/text';
import type { EventLog } from '../../log/index.ts';
import { lstatOrNull, resolveFolder } from '../tree/resolve.ts';
import type { SyntaxCheck } from '../syntax/index.ts';
import { parseDiff } from './parse.ts';

/** Changes one file by renames only: `staged` goes to `target`, the file at `old` goes to `kept`. */
interface Step {
  readonly old: BytePath | null;
  /** Path of the old file until all is done; null when there is none. */
  readonly kept: BytePath | null;
  readonly staged: BytePath | null;
  readonly target: BytePath | null;
}

/** The stored record of a patch: enough to finish or undo it after a crash, and to answer a repeated request. */
interface PatchRecord {
  readonly requestId: string;
  readonly requestDigest: string;
  /** `Committed`: applied, but the files kept for undoing are still there. */
  readonly state: 'Applying' | 'Committed' | 'Done';
  readonly steps: readonly Step[];
  /** Folders that it makes, the outermost first. */
  readonly folders: readonly BytePath[];
  readonly report: PatchReport;
}

const idPattern = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** The patches of this sandbox, `<store>/patches/<requestId>.json`. */
export class PatchJournal {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async open(folder: string): Promise<PatchJournal> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return new PatchJournal(folder);
  }

  /** Null also for a record that cannot be read: it was never whole on disk, so its patch never began. */
  async find(requestId: string): Promise<PatchRecord | null> {
    try {
      const record = JSON.parse(await readFile(this.#path(requestId), 'utf8')) as PatchRecord | null;
      return Array.isArray(record?.steps) && record.requestId === requestId ? record : null;
    } catch (error) {
      if (errnoOf(error) === 'ENOENT' || error instanceof SyntaxError) return null;
      throw error;
    }
  }

  /** Writes the record atomically and durably: the announced act may begin when this returns. */
  async write(record: PatchRecord): Promise<void> {
    await replaceFile(this.#path(record.requestId), JSON.stringify(record));
  }

  /** Durable when this returns: a record that reappeared would undo later changes. */
  async remove(requestId: string): Promise<void> {
    await rm(this.#path(requestId), { force: true });
    await syncFolder(this.#folder);
  }

  /** Patches that were under way when the keeper died; and the ids of records that could not be read, which are removed. */
  async unfinished(): Promise<{ readonly begun: readonly PatchRecord[]; readonly unreadable: readonly string[] }> {
    const begun: PatchRecord[] = [];
    const unreadable: string[] = [];
    for (const name of await readdir(this.#folder)) {
      const id = name.replace(/\.json$/, '');
      if (!idPattern.test(id)) continue;
      const record = await this.find(id);
      if (record === null) unreadable.push(id);
      else if (record.state !== 'Done') begun.push(record);
    }
    for (const id of unreadable) await this.remove(id);
    return { begun, unreadable };
  }

  #path(requestId: string): string {
    return join(this.#folder, `${requestId}.json`);
  }
}

/** Returns the steps of changes. Temporary names are beside their targets, so that only renames are left to do. */
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
async function commit(changes: readonly Change[], record: Pick<PatchRecord, 'steps' | 'folders'>): Promise<void> {
  for (const act of actsOf(changes, record)) await act();
}

/** Returns the acts of a patch in order; a crash may come between any two. */
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
  await using handle = await open(sysPath(path), constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
  await handle.writeFile(content);
  await handle.chmod(mode);
}

async function clean({ steps }: Pick<PatchRecord, 'steps'>): Promise<void> {
  for (const { kept } of steps) if (kept !== null) await rm(sysPath(kept), { force: true });
}

/**
 * Undoes a patch, however far it got and however often this was tried before: the existing files show whether each
 * rename was done.
 */
export async function undo({ steps, folders }: Pick<PatchRecord, 'steps' | 'folders'>): Promise<void> {
  for (const { old, kept, staged, target } of [...steps].reverse()) {
    // Staged contents are written before anything else: a missing one is at its target. But possibly none has been
    // written yet.
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

/** Checks that a patch makes before it changes anything, and its listeners. */
interface PatchRules {
  readonly random: (bytes: number) => Buffer;
  /** Lets so many bytes and new paths in. @throws KeeperError */
  readonly admit: (bytes: number, paths: readonly string[]) => Promise<void>;
  readonly checkSyntax: SyntaxCheck;
  readonly timeIsLeft: () => boolean;
  /** Throws when the caller may not write any more. */
  readonly assertMayWrite: () => void;
  readonly record: (body: Readonly<Record<string, unknown>>) => Promise<void>;
}

type ParsedPatch = ReturnType<typeof parsePatch>;

/** @throws KeeperError `AF_PATCH_INVALID`, `AF_INVALID` */
export function parsePatch(request: PatchRequest) {
  if (!request.diff.isWellFormed()) throw new KeeperError('AF_INVALID', 'diff: it holds half of a surrogate pair');
  const sections = parseDiff(Buffer.from(request.diff, 'utf8').toString('latin1'), request.strip ?? 1);
  return { request, digest: hash('sha256', canonicalJson(request)), sections };
}

/** The answer that a request got before; null for a new one. @throws KeeperError `AF_REQUEST_ID_REUSED` */
export async function answered(journal: PatchJournal, { request, digest }: ParsedPatch): Promise<PatchReport | null> {
  const known = request.dryRun === true ? null : await journal.find(request.requestId);
  if (known === null || known.state === 'Applying') return null;
  if (known.requestDigest === digest) return known.report;
  throw new KeeperError('AF_REQUEST_ID_REUSED', `the id ${request.requestId} belongs to another request`);
}

/**
 * Applies a patch atomically: a failure is undone before this rejects, an interrupted patch is undone by {@link
 * recoverPatches}. The caller holds the gate and has called {@link answered} under it.
 *
 * @throws KeeperError
 */
export async function applyPatch(
  roots: readonly string[],
  { request, digest, sections }: ParsedPatch,
  journal: PatchJournal,
  rules: PatchRules,
): Promise<PatchReport> {
  const folder = await resolveFolder(roots, request.path, false);
  const planned = await planPatch(folder, sections, request.expected).catch(refuse);
  const changes = await judged(planned, rules);
  const { requestId } = request;
  const report = { requestId, path: folder, applied: request.dryRun !== true, files: changes.map(({ reported }) => reported) };
  if (request.dryRun === true) return report;
  const folders = [...new Set(changes.flatMap(({ fresh }) => fresh?.folders ?? []))];
  const created = changes.flatMap(({ old, fresh }) => (old === null && fresh !== null ? [fresh.path] : []));
  await rules.admit(
    changes.reduce((sum, { fresh }) => sum + (fresh?.content.length ?? 0), 0),
    [...folders, ...created],
  );
  rules.assertMayWrite();
  const record: PatchRecord = {
    requestId,
    requestDigest: digest,
    state: 'Applying',
    steps: stepsOf(changes, rules.random),
    folders,
    report,
  };
  await journal.write(record);
  await carryOut(record, changes, journal, rules);
  return report;
}

/** Each file as it will be; the first that gets new syntax errors refuses the whole. */
async function judged(changes: readonly Change[], { checkSyntax, timeIsLeft }: PatchRules): Promise<readonly Change[]> {
  const looked: Change[] = [];
  for (const change of changes) {
    const { fresh, reported, before } = change;
    if (fresh === null) looked.push(change);
    else {
      const syntax = timeIsLeft() ? await checkSyntax({ path: reported.path, before, after: fresh.content }) : 'NotChecked';
      looked.push({ ...change, reported: { ...reported, syntax } });
    }
  }
  return looked;
}

async function carryOut(record: PatchRecord, changes: readonly Change[], journal: PatchJournal, rules: PatchRules): Promise<void> {
  const { requestId, requestDigest, report } = record;
  try {
    await rules.record({ requestId, phase: 'Intent', requestDigest, path: report.path, files: report.files });
    rules.assertMayWrite();
    await commit(changes, record);
    await rules.record({ requestId, phase: 'Done' });
    await journal.write({ ...record, state: 'Committed' });
  } catch (error) {
    await undo(record);
    await journal.remove(requestId);
    await rules.record({ requestId, phase: 'RolledBack', why: messageOf(error) }).catch(() => undefined); // the log is why
    refuse(error);
  }
  await finish(record, journal);
}

async function finish(record: PatchRecord, journal: PatchJournal): Promise<void> {
  await clean(record);
  await journal.write({ ...record, state: 'Done', steps: [], folders: [] });
}

/** Finishes or undoes all interrupted patches, and records this in the log. */
export async function recoverPatches(journal: PatchJournal, log: Pick<EventLog, 'append'>): Promise<void> {
  const { begun, unreadable } = await journal.unfinished();
  for (const requestId of unreadable) log.append('PatchApplied', { requestId, phase: 'NeverBegan', why: 'RecordUnreadable' });
  for (const record of begun) log.append('PatchApplied', await recoverPatch(journal, record));
}

async function recoverPatch(journal: PatchJournal, record: PatchRecord): Promise<Readonly<Record<string, unknown>>> {
  const { requestId, state } = record;
  if (state === 'Committed') {
    await finish(record, journal);
    return { requestId, phase: 'Done', why: 'KeeperRestarted' };
  }
  await undo(record);
  await journal.remove(requestId);
  return { requestId, phase: 'RolledBack', why: 'KeeperRestarted' };
}

/** System errors that the patch or the tree causes. */
const refusals = new Set(['EACCES', 'EPERM', 'ENAMETOOLONG', 'EEXIST', 'ENOTDIR', 'EISDIR', 'EROFS', 'EXDEV', 'EBUSY']);

function refuse(error: unknown): never {
  if (!refusals.has(errnoOf(error) ?? '')) throw error;
  throw new KeeperError('AF_PATCH_REJECTED', `the system refuses it: ${messageOf(error)}`, {
    cause: error,
    cure: 'look at the modes and names on the way; nothing was written',
  });
}
