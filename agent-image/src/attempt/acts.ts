import { newExecId } from '@agentfleet/keeper/client';
import { EffectJournal, EffectReader, takeBack, type Answer } from '../effects/index.ts';
import type { CommandAct, Gate } from './gate.ts';
import { actEnvironment } from './actEnvironment.ts';
import { type SandboxSession, reachOf, type Reach } from './sandboxSession.ts';
import { throwIfSuperseded } from '../base/failure.ts';
import { posix } from 'node:path';
import { foldersAbove } from '../base/paths.ts';
import type { AttemptContext } from './ports.ts';
import { isFolder, tail, type Baseline } from './checkRun.ts';
import type { Rewrite } from '../features/index.ts';
import { steersGit } from '../rails/index.ts';
import type { Scope } from './scope.ts';
import type { ActIdentity } from './notes.ts';
import { maxFileBytes, type DiffEntry } from '@agentfleet/protocol/keeper';
import {
  homeCache,
  isJudged,
  judgeChanges,
  type Change,
  type ChangeJudgement,
  type Operation,
  type ProtectedSet,
  type Violation,
} from '../checks/index.ts';

/** Wall time of one question about what stands outside, and of one way back, seconds. */
const askSeconds = 30;
const undoSeconds = 60;

/** Returns the reach of a candidate's commands outside of the sandbox; null: nothing. */
export function reachOfActs(context: Pick<AttemptContext, 'task' | 'pool'>): Reach | null {
  return reachOf(context, context.task.spec.policy.network.mode === 'Allowed' ? 'Allowed' : 'None');
}

async function ask(
  session: SandboxSession,
  reach: Reach | null,
  run: { readonly argv: readonly string[] } | { readonly command: string },
): Promise<Answer> {
  const command = { ...run, timeoutSeconds: 'argv' in run ? askSeconds : undoSeconds, reach, redaction: 'Raw' as const }; // ids of commits look like keys
  const { stdout, end } = await ('argv' in run ? session.ask(command) : session.exec(command));
  return { exitCode: end.exitCode, stdout };
}

/** The journal of what candidates do outside of the sandbox. */
export function effectJournal({ context, session }: { readonly context: AttemptContext; readonly session: SandboxSession }): EffectJournal {
  return new EffectJournal({
    attempt: context.assignment.attempt,
    note: (kind, data) => session.note(kind, data),
    probe: (argv) => ask(session, reachOfActs(context), { argv }),
    newId: newExecId,
  });
}

/** Returns why a way back may not run by itself, or null: the gates judge it as they judge acts; a yes to the act covers its way back. */
export function hindranceOf(gate: Gate, command: string, approved: boolean): string | null {
  const { allowed, decision, why, review, approval } = gate.judge({ rewrites: [], acts: [{ tool: 'Shell', command }] });
  if (allowed && review.length === 0 && approval.length === 0) return null;
  if (decision === 'Deny') return `gate 1 refuses its way back: ${why}`;
  return approved ? null : 'a person has to allow its way back';
}

/**
 * Takes back what stands outside of the sandbox, as far as the gates let it, while the tree is as the agent left it: the
 * ways back need its clones and files. Returns what is left in words; a failure is one of them and keeps no file from its
 * snapshot.
 */
export async function takeBackEffects(context: AttemptContext, session: SandboxSession, gate: Gate): Promise<readonly string[]> {
  const reader = new EffectReader();
  await session.events(reader.visit);
  const { standing } = reader;
  if (standing.length === 0) return [];
  try {
    return await takeBack(standing, {
      attempt: context.assignment.attempt,
      shell: (command) => ask(session, reachOfActs(context), { command }),
      note: (kind, data) => session.note(kind, data),
      hindrance: (command, approved) => hindranceOf(gate, command, approved),
    });
  } catch (error) {
    context.signal.throwIfAborted();
    throwIfSuperseded(error);
    const why = error instanceof Error ? error.message : String(error);
    return standing.map(({ planned, ended }) => {
      const by = ended?.undo == null ? '' : `; take it back with: ${ended.undo.command}`;
      return `${planned.target} may stand: its way back could not be tried (${why})${by}`;
    });
  }
}

const actSeconds = 60;

/** Failure of a candidate's commands: not all of them ended with 0. */
export interface Failed {
  readonly result: 'Worse' | 'Crashed';
  readonly why: string;
}

/** Commands of one candidate. */
export interface Acts {
  readonly acts: readonly CommandAct[];
  readonly approved: boolean;
  /** Their reach outside of the sandbox; null: nothing. */
  readonly reach: Reach | null;
}

/** Reports whether commands must not be run a second time: a person allowed them once, or their effects outside may stand. */
export function onlyOnce(gate: Gate, { acts, approved, reach }: Acts): boolean {
  return approved || (reach !== null && acts.length > 0) || acts.some((act) => gate.outward(act).external.length > 0);
}

/**
 * Runs the commands of a candidate one after the other; null when each ended with 0. What one does outside of the sandbox
 * stands in the event log before it is done.
 */
export async function runActs(
  { context, session }: Scope,
  gate: Gate,
  { acts, approved, reach }: Acts,
  identity: ActIdentity,
): Promise<Failed | null> {
  const journal = effectJournal({ context, session });
  for (const { command } of acts) {
    const { stdout, stderr, end } = await journal.around({ command, approved, ...gate.outward({ command }) }, async () => {
      const env = await actEnvironment(session);
      const run = await session.exec({ command, env, timeoutSeconds: actSeconds, reach, act: identity });
      return { ...run, ok: run.end.exitCode === 0 && run.end.interrupted === undefined };
    });
    if (end.exitCode === 0 && end.interrupted === undefined) continue;
    const how =
      end.error?.message ??
      (end.timedOut ? `ran out of its ${actSeconds} s` : (end.killed ?? `exit ${String(end.exitCode ?? end.signal)}`));
    const said = tail(`${stdout}\n${stderr}`.trim(), 240);
    const why = `${tail(command, 120)}: ${how}${said === '' ? '' : `; it said: ${said}`}`;
    return { result: end.interrupted === undefined ? 'Worse' : 'Crashed', why };
  }
  return null;
}

/** Writes what files will hold. */
export async function write({ session }: Scope, rewrites: readonly Rewrite[]): Promise<void> {
  for (const { path, after } of rewrites) await session.write(path, after);
}

/**
 * Makes the tree that a trial's candidate leaves, on the clean tree of its node. Commands are not run again, because they
 * may reach out of the sandbox or end otherwise the second time: the snapshot that was taken after them is restored.
 */
export async function perform(
  scope: Scope,
  { after, rewrites }: { readonly after: string | null; readonly rewrites: readonly Rewrite[] },
): Promise<void> {
  if (after === null) await write(scope, rewrites);
  else await scope.session.restore(after);
}

/** Files that acts may write; each is read and judged. What makes more belongs into spec.setup. */
const maxWritten = 256;
/** Bytes of all of them, before and after together, which one judgement holds in memory. One file may have as many as the keeper reads. */
const maxJudgedBytes = 2 * maxFileBytes;

/** Effects of acts on the tree. */
export interface Effects {
  /** Reason why the tree cannot stand; null when it can. */
  readonly refused: string | null;
  /** A file that had to stay as it is is the reason: the same command without that change may stand. */
  readonly byPath: boolean;
  readonly deleted: readonly string[];
}

/**
 * Judges what acts left in the tree as if it had been written by edits: protected files, files that take the place of
 * others, what code could forge, and the rails. A command that hides what it writes is judged by what it wrote.
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
  const own = changes.entries.flatMap((entry) => {
    const relative = session.relative(entry.path);
    return relative === null || protectedSet.derived(relative) ? [] : [{ ...entry, path: relative }];
  });
  const deleted = own.filter(({ op }) => op === 'D').map(({ path }) => path);
  const written = own.filter(({ op }) => op !== 'D');
  const paths = written.map(({ path }) => path);
  const byPath = violation(changes);
  const refused =
    byPath ?? linked(written) ?? tooMany(written.length) ?? tooLarge(written) ?? (await contentRefusal(session, gate, from, to, paths));
  return { refused, byPath: byPath !== null, deleted };
}

function violation({ violations }: Changes): string | null {
  return violations[0] === undefined ? null : `after its commands ${violations[0].message}${othersOf(violations)}`;
}

/** Returns the code and words with which the result is refused, for changes that are not the agent's to make; null: all are. */
export function refusalOf({
  violations,
}: Pick<Changes, 'violations'>): { readonly code: Violation['code']; readonly message: string } | null {
  const [first] = violations;
  return first === undefined ? null : { code: first.code, message: `${first.message}; ${first.cure}${othersOf(violations)}` };
}

const maxOthers = 5;

/** Returns words that name the paths of all violations but the first, so that one try mends them all; empty where there is one. */
function othersOf([, ...others]: Changes['violations']): string {
  if (others.length === 0) return '';
  const more = others.length > maxOthers ? ` and ${others.length - maxOthers} more` : '';
  const paths = others.slice(0, maxOthers).map(({ path }) => path);
  return ` (also refused: ${paths.join(', ')}${more})`;
}

/**
 * A link shows as an empty file of all rights: code that it leads to could be written under a name by which nobody judges it, and so could
 * hooks and settings of git, which makes no links among its own files.
 */
function linked(written: readonly DiffEntry[]): string | null {
  const isLink = ({ modeTo, sizeTo }: DiffEntry): boolean => modeTo === 0o777 && sizeTo === 0;
  const own = written.find((entry) => /(?:^|\/)\.git(?:\/|$)/.test(entry.path) && isLink(entry));
  if (own !== undefined) return `its commands left a link as ${own.path}; what is git's own has to be a file or folder of its own`;
  const link = written.find((entry) => isJudged(entry.path) && isLink(entry));
  return link === undefined ? null : `its commands left a link as ${link.path}; code has to be a file of its own: copy it`;
}

function tooMany(count: number): string | null {
  return count <= maxWritten ? null : `its commands wrote ${count} files, ${maxWritten} can be judged; do that in spec.setup`;
}

function sizeOf({ sizeFrom = 0, sizeTo = 0 }: DiffEntry): number {
  return Math.max(sizeFrom, sizeTo);
}

function tooLarge(written: readonly DiffEntry[]): string | null {
  const cure = 'keep it below /tmp, or do that in spec.setup';
  const large = written.find((entry) => sizeOf(entry) > maxFileBytes);
  if (large !== undefined)
    return `its commands wrote ${large.path}, of ${sizeOf(large)} bytes before or after, ${maxFileBytes} can be judged; ${cure}`;
  const bytes = written.reduce((sum, { sizeFrom = 0, sizeTo = 0 }) => sum + sizeFrom + sizeTo, 0);
  if (bytes <= maxJudgedBytes) return null;
  return `its commands wrote files of ${bytes} bytes before and after, ${maxJudgedBytes} can be judged; ${cure}`;
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
  // Only text can be source, and code with a zero in a comment; hooks of git are programs too. Other files are judged by their path, above.
  const { allowed, why, review, approval } = gate.judge({
    rewrites: rewrites.filter(({ path, after: bytes }) => !bytes.includes(0) || isJudged(path) || steersGit(session.absolute(path))),
    acts: [],
  });
  const [open] = [...review, ...approval];
  if (allowed && open === undefined) return null;
  const what = allowed
    ? `${open?.subject ?? ''}: ${open?.findings[0] ?? 'it has to be judged'}${open?.where ?? ''} (${open?.decision ?? ''})`
    : why;
  return `its commands left what an edit may not: ${what}`;
}

/** Changes between two snapshots, and those among them that the agent may not make. */
export interface Changes extends ChangeJudgement {
  readonly entries: readonly DiffEntry[];
}

/**
 * Judges what changed between two snapshots. The tree has to be that of `to`, and is so afterwards.
 *
 * @param atStart whether `from` is snapshot 0: tests that stand in files of code have to be as they are there
 */
export async function changesBetween(
  session: SandboxSession,
  set: ProtectedSet,
  from: string,
  to: string,
  atStart = false,
): Promise<Changes> {
  const { entries } = await session.diff(from, to);
  const folders = foldersAbove(entries.map(({ path }) => path));
  const isCache = (path: string): boolean => homeCache.test(session.fromWorkspace(path));
  // A new folder of a cache stands for what is in it, which may be thousands of files.
  const caches = new Set(entries.filter(({ op, path }) => op === 'A' && isCache(path)).map(({ path }) => path));
  // One that is too large to be read is judged as changed in all of it.
  const isShared = (path: string): boolean => set.why(path)?.kind === 'Settings' || (atStart && set.inline(path));
  const shared = entries.filter(
    (entry) => entry.op === 'M' && sizeOf(entry) <= maxFileBytes && isShared(session.relative(entry.path) ?? entry.path),
  );
  const contents = await contentsOf(session, from, to, shared);
  const changes = entries
    .filter(({ op, path }) => (isCache(path) ? !caches.has(posix.dirname(path)) : op !== 'A' || !folders.has(path)))
    .map((entry) => changeOf(entry, session.fromWorkspace(entry.path), contents));
  const { violations, ...judged } = judgeChanges(changes, set);
  // An empty folder decides nothing, wherever it is; no edit could take it away again.
  const maybe = new Set(entries.filter(mayBeFolder).map(({ path }) => session.fromWorkspace(path)));
  const isEmptyFolder = async ({ code, path }: Violation): Promise<boolean> =>
    code === 'Protected' && maybe.has(path) && (await isFolder(session, session.absolute(path)));
  const free = await Promise.all(violations.map(isEmptyFolder));
  return { entries, ...judged, violations: violations.filter((_, at) => free[at] === false) };
}

/** Reports whether an entry may be a new folder, empty if nothing else is below it. */
export const mayBeFolder = ({ op, sizeTo, modeTo = 0 }: DiffEntry): boolean => op === 'A' && sizeTo === 0 && (modeTo & 0o111) > 0;

type Contents = ReadonlyMap<string, { readonly before: string | undefined; readonly after: string | undefined }>;

function changeOf({ path, op, modeFrom, modeTo, sizeFrom, sizeTo }: DiffEntry, relative: string, contents: Contents): Change {
  const known = contents.get(path);
  const modeOnly = op === 'M' && modeFrom !== modeTo && sizeFrom === sizeTo && known === undefined;
  const operations = { A: 'Add', M: modeOnly ? 'Mode' : 'Modify', D: 'Delete', T: 'Type' } as const satisfies Record<
    DiffEntry['op'],
    Operation
  >;
  return {
    path: relative,
    op: operations[op],
    ...(known?.before !== undefined && { before: known.before }),
    ...(known?.after !== undefined && { after: known.after }),
  };
}

async function contentsOf(session: SandboxSession, from: string, to: string, entries: readonly DiffEntry[]): Promise<Contents> {
  if (entries.length === 0) return new Map();
  const paths = entries.flatMap(({ path }) => session.relative(path) ?? []);
  const { before, after } = await bothSides(session, from, to, paths);
  const text = (side: ReadonlyMap<string, Buffer>, path: string): string | undefined =>
    side.get(session.relative(path) ?? path)?.toString('utf8');
  return new Map(entries.map(({ path }) => [path, { before: text(before, path), after: text(after, path) }] as const));
}

/** Files of two snapshots, by path below the workspace. The tree has to be that of `to`, and is so afterwards. */
async function bothSides(
  session: SandboxSession,
  from: string,
  to: string,
  paths: readonly string[],
): Promise<{ readonly before: ReadonlyMap<string, Buffer>; readonly after: ReadonlyMap<string, Buffer> }> {
  const read = async (): Promise<ReadonlyMap<string, Buffer>> => {
    const found = new Map<string, Buffer>();
    for (const path of paths) {
      const bytes = await session.read(path);
      if (bytes !== null) found.set(path, bytes);
    }
    return found;
  };
  const after = await read();
  await session.restore(from);
  const before = await read();
  await session.restore(to);
  return { before, after };
}
