import { createHash } from 'node:crypto';
import type { PatchReport, PatchRequest } from '@agentfleet/protocol/keeper';
import { errnoOf, KeeperError, messageOf } from '../../failure.ts';
import { canonicalJson, type EventLog } from '../../log/index.ts';
import { resolveFolder } from '../resolve.ts';
import type { SyntaxCheck } from '../syntax/index.ts';
import { clean, commit, stepsOf, undo } from './commit.ts';
import type { PatchJournal, PatchRecord } from './journal.ts';
import { parseDiff } from './parse.ts';
import { planPatch, type Change } from './plan.ts';
import type { Section } from './section.ts';

/** What a patch asks before it changes anything, and whom it tells. */
export interface PatchRules {
  readonly random: (bytes: number) => Buffer;
  /** Lets so many bytes and new paths in. @throws KeeperError */
  readonly admit: (bytes: number, paths: readonly string[]) => Promise<void>;
  readonly checkSyntax: SyntaxCheck;
  /** Whether there is time left for checking one more file. */
  readonly patience: () => boolean;
  /** Throws when the caller may not write any more. */
  readonly assertMayWrite: () => void;
  /** Puts a phase on disk, in the event log. */
  readonly record: (body: Readonly<Record<string, unknown>>) => Promise<void>;
}

/** A request that was understood. */
export interface ParsedPatch {
  readonly request: PatchRequest;
  readonly digest: string;
  readonly sections: readonly Section[];
}

/** @throws KeeperError `AF_PATCH_INVALID`, `AF_INVALID` */
export function parsePatch(request: PatchRequest): ParsedPatch {
  if (!request.diff.isWellFormed()) throw new KeeperError('AF_INVALID', 'diff: it holds half of a surrogate pair');
  const sections = parseDiff(Buffer.from(request.diff, 'utf8').toString('latin1'), request.strip ?? 1);
  return { request, digest: sha256(canonicalJson(request)), sections };
}

/** The answer that a request got before; null for a new one. @throws KeeperError `AF_REQUEST_ID_REUSED` */
export async function answered(journal: PatchJournal, { request, digest }: ParsedPatch): Promise<PatchReport | null> {
  const known = request.dryRun === true ? null : await journal.find(request.requestId);
  if (known === null || known.state === 'Applying') return null;
  if (known.requestDigest === digest) return known.report;
  throw new KeeperError('AF_REQUEST_ID_REUSED', `the id ${request.requestId} belongs to another request`);
}

/**
 * Applies a patch whole or not at all: what fails is undone before this rejects, what a crash cuts off is undone by
 * {@link recoverPatches}. The caller holds the gate, and asked {@link answered} under it.
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
  const report = { requestId, path: folder, applied: request.dryRun !== true, files: changes.map(({ told }) => told) };
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
async function judged(changes: readonly Change[], { checkSyntax, patience }: PatchRules): Promise<readonly Change[]> {
  const looked: Change[] = [];
  for (const change of changes) {
    const { fresh, told, before } = change;
    if (fresh === null) looked.push(change);
    else {
      const syntax = patience() ? await checkSyntax({ path: told.path, before, after: fresh.content }) : 'NotChecked';
      looked.push({ ...change, told: { ...told, syntax } });
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

/** Finishes or undoes all that a crash left, and says so in the log. */
export async function recoverPatches(journal: PatchJournal, log: Pick<EventLog, 'append'>): Promise<void> {
  const { begun, unreadable } = await journal.unfinished();
  for (const requestId of unreadable) log.append('PatchApplied', { requestId, phase: 'NeverBegan', why: 'RecordUnreadable' });
  for (const record of begun) log.append('PatchApplied', await recoverPatch(journal, record));
}

/** Finishes or undoes what a crash left. @returns the body of the record that the log gets */
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

/** Errors of the system that the patch, or what it meets, is to blame for. */
const refusals = new Set(['EACCES', 'EPERM', 'ENAMETOOLONG', 'EEXIST', 'ENOTDIR', 'EISDIR', 'EROFS', 'EXDEV', 'EBUSY']);

function refuse(error: unknown): never {
  if (!refusals.has(errnoOf(error) ?? '')) throw error;
  throw new KeeperError('AF_PATCH_REJECTED', `the system refuses it: ${messageOf(error)}`, {
    cause: error,
    cure: 'look at the modes and names on the way; nothing was written',
  });
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
