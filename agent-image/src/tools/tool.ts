import { foldersAbove } from '../base/paths.ts';
import { homeCache } from '../checks/index.ts';
import { type ToolDefinition, usualBounds, type BoundedTool } from '@agentfleet/protocol/chat';
import type { ActIdentity } from '../attempt/notes.ts';
import type { Gate, Proposal } from '../attempt/gate.ts';
import type { Scope, StrategyScope } from '../attempt/scope.ts';
import type { DiffEntry, ExecEnd } from '@agentfleet/protocol/keeper';
import type { SandboxSession } from '../attempt/sandboxSession.ts';
import type { AttemptContext } from '../attempt/ports.ts';

/** Context of a tool: the attempt, and the current call. */
export interface ToolContext extends Pick<StrategyScope, 'scope' | 'prepared' | 'baseline'> {
  /** Names this call for ever, in all workers: the same call has the same key, and its command the same `execId`. */
  readonly callKey: string;
  /** ULID for the n-th command of this call (0, 1, …): a keeper that knows it replays the command and never runs it again. */
  execId(n: number): string;
  /** Reads `Observation.whole` of this call; null: the task has no tool that reads handles. */
  readonly handle: string | null;
  /** State that other tools keep in the conversation: plan, cut outputs, snapshots. */
  readonly memory: LoopMemory;
  /** Names a command's effects outside of the sandbox, for the journal of effects. It has already judged the call. */
  readonly gate: Gate;
  /** A person allowed the call. */
  readonly approved: boolean;
  /** For commands that must not be run twice: recorded in the log before they begin. */
  readonly identity?: ActIdentity;
}

/** A process that runs beside the conversation. */
export interface BackgroundProcess {
  /** The name that the model calls. */
  readonly name: string;
  readonly execId: string;
  /** Number of the last event of its output that the model has seen. */
  readonly seen: number;
}

/** A snapshot that the model may go back to. */
export interface UndoPoint {
  /** Step after which it was taken; 0 is the start of the task. */
  readonly step: number;
  /** The call that changed the tree, in short, as models see no numbers of steps. */
  readonly by?: string;
  readonly id: string;
  readonly digest: string;
}

/** One item of the plan that `update_plan` keeps. */
export interface PlanItem {
  readonly text: string;
  readonly state: 'Open' | 'Active' | 'Done';
}

/** State that survives in the event log beside the messages; a worker that takes over has the same. */
export interface LoopMemory {
  /** The plan that the model wrote last. */
  plan: readonly PlanItem[];
  /** Snapshots after steps that changed the tree, oldest first. */
  readonly undoPoints: readonly UndoPoint[];
  /** Processes that `bash` started in the background, the newest of each name; folded from `Observation.process`. */
  readonly processes: readonly BackgroundProcess[];
  /** The text of a handle; null when there is none. */
  stored(handle: string): string | null;
  /** Reports whether a result that the model still sees has this text, as `steady` makes it. */
  shows(text: string): boolean;
}

/** The part of a call's result that the model sees. */
export interface Observation {
  /** Plain text, not yet cut: the loop cuts it to head and tail and keeps the rest under a handle. */
  readonly text: string;
  /** Text that the handle of the call reads, where `text` names it: all of `text`, and behind it what that leaves out. */
  readonly whole?: string;
  /** Returns the text in so many characters at most, with words about how to read on: it is cut so and needs no handle. */
  readonly within?: (characters: number) => string;
  /** False: the call failed. */
  readonly ok: boolean;
  /** It only looked, which proves nothing where it failed. */
  readonly look?: true;
  /** The tree may have changed. */
  readonly changed?: boolean;
  /** Set by `run_checks`: whether every check of the task holds on the tree as it is. */
  readonly holds?: boolean;
  /** Set by `submit`: the model hands in. */
  readonly submission?: Submission;
  /** Set by `undo`: the snapshot that the tree is again. */
  readonly restored?: UndoPoint;
  /** Set by `bash`: a background process was started or checked. */
  readonly process?: BackgroundProcess;
}

/** Final submission of a model. */
export interface Submission {
  /** Text: the findings of an investigation, or the work done. */
  readonly answer: string;
  /** The model reports that the goal cannot be reached. */
  readonly unreachable?: true;
}

/** Error of arguments that are not those of the tool: field and cure, for the model. */
export class ArgumentError extends Error {
  override readonly name = 'ArgumentError';
}

/**
 * A tool: one file in this folder, listed in `registry.ts`. Arguments are validated against `definition.parameters` before
 * `propose` and `run` see them.
 */
export interface Tool {
  readonly definition: ToolDefinition;
  /** Returns whether policy and pool of the attempt offer it to the model; absent: always. */
  offered?(scope: Scope): boolean;
  /** False: arguments are any object, which the executor validates. */
  readonly validates?: false;
  /** Returns its planned changes, for both gates; absent for tools of the risks Read and Control. @throws ArgumentError */
  propose?(args: Readonly<Record<string, unknown>>, context: ToolContext): Promise<Proposal>;
  /**
   * Executes it, after the gates passed it. Rejects with an ArgumentError for the model, or an AttemptFailure that ends
   * the attempt. A worker that takes over calls it again: commands run under `context.execId`, which the keeper
   * replays; a call of risk Edit does the same on the same tree, so that tree is restored first.
   */
  run(args: Readonly<Record<string, unknown>>, context: ToolContext): Promise<Observation>;
}

/** CSI and OSC sequences, strings of DCS, PM, APC and SOS, and two-character escapes. */
const ansi =
  // oxlint-disable-next-line no-control-regex
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b\]|\u009d)[^\u0007\u001b\u009c\n]*(?:\u0007|\u001b\\|\u009c)?|\u001b[P^_X][^\u001b\u009c\n]*(?:\u001b\\|\u009c)?|\u001b[ -/]*[0-~]/g;
/** A character that a terminal draws over. */
// oxlint-disable-next-line no-control-regex
const overstruck = /[^\n\u0008]\u0008/g;
// oxlint-disable-next-line no-control-regex
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/** Invisible characters that may hide text: marks of direction, tags, width zero. The two joiners are letters of some scripts. */
const hidden = /(?![\u200c\u200d])[\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Returns the text without terminal control sequences; characters that hide text are shown as `\u{…}`, and of a line whose parts
 * were drawn over each other, as by progress bars, the last one.
 */
export function plain(text: string): string {
  return text
    .replaceAll(ansi, '')
    .split('\n')
    .map((line) => line.split('\r').findLast((part) => part !== '') ?? '')
    .join('\n')
    .replaceAll(overstruck, '')
    .replaceAll(control, '')
    .replaceAll(hidden, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
    .toWellFormed();
}

/** `1 line`, `3 lines`, `2 entries`, `4 processes`. */
export function count(number: number, noun: string): string {
  if (number === 1) return `1 ${noun}`;
  return `${number} ${noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}${noun.endsWith('s') ? 'es' : 's'}`}`;
}

/** Lines with their numbers, aligned; `from` is the number of the first. */
export function numbered(lines: readonly string[], from: number): string {
  const width = String(from + lines.length - 1).length;
  return lines.map((line, at) => `${String(from + at).padStart(width)} | ${line}`).join('\n');
}

/** Lines of a text; its last line feed ends a line and begins none. */
export function linesOf(text: string): readonly string[] {
  if (text === '') return [];
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
}

const verbs = { A: 'new', M: 'changed', D: 'deleted', T: 'replaced' } as const;

/** Reports whether a path is the repository's own. */
export const isOfGit = (path: string): boolean => path === '.git' || path.startsWith('.git/');

/**
 * Lists changes as `a.py (changed)`, from the older tree to the newer, without folders above others, what git keeps for itself, which
 * `git diff` changes too, and what is derived: caches of the home folder at least.
 */
export function namedChanges(
  session: SandboxSession,
  entries: readonly DiffEntry[],
  derived = (path: string): boolean => homeCache.test(path),
): readonly string[] {
  const folders = foldersAbove(entries.map(({ path }) => path));
  const own = (path: string): boolean => !isOfGit(session.relative(path) ?? path) && !derived(session.fromWorkspace(path));
  const files = entries.filter(({ path }) => !folders.has(path) && own(path));
  return files.map(({ op, path }) => `${plain(session.relative(path) ?? path)} (${verbs[op]})`);
}

/** Characters of one line that a tool shows. */
export const maxLine = 1000;

/** Splits a text that is read by its handle into lines. A long one is shown in pieces: no other tool reads the rest of it. */
export function keptLines(text: string): readonly string[] {
  return linesOf(text).flatMap((line) => line.match(new RegExp(`[^]{1,${maxLine}}`, 'gu')) ?? ['']);
}

/** Text without the durations and addresses that differ in each run. */
export const steady = (text: string): string => text.replaceAll(/\b\d+(?:\.\d+)?\s?m?s\b|\b0x[0-9a-f]+/g, '#');

/** A snapshot of the tree as it is: the newest of the conversation where it still is that. */
export async function treeNow({ scope, memory }: ToolContext): Promise<string> {
  const newest = memory.undoPoints.at(-1);
  if (newest !== undefined && (await scope.session.diff(newest.id)).entries.length === 0) return newest.id;
  return (await scope.session.snapshot('before checks')).id;
}

/** Default and largest time limit of a command, seconds. */
export interface Limit {
  readonly seconds: number;
  readonly max: number;
  /** Of how a command ended, in words; at a limit of time instead of the usual cure. */
  readonly remark?: string;
}

/**
 * Output and, on the last line, how the command ended.
 *
 * @param name of a background process
 */
export function report(output: string, end: ExecEnd, limit: Limit, name = ''): string {
  const text = plain(output).replace(/\n$/, '');
  const dropped = end.dropped.stdout + end.dropped.stderr;
  const facts = [
    howItEnded(end, limit),
    ...(text === '' ? ['no output'] : []),
    ...(limit.remark === undefined || end.timedOut ? [] : [limit.remark]),
    ...(dropped > 0 ? [`${dropped} bytes of output were not kept`] : []),
    ...(end.swept > 0 ? [`${count(end.swept, 'process')} that it left running ended with it; background keeps one`] : []),
  ];
  return `${text}${text === '' ? '' : '\n'}[${name === '' ? '' : `${name}: `}${facts.join(', ')}]`;
}

/** Exit status of a program that SIGPIPE ended. */
const pipeClosed = 141;

const killed: Readonly<Record<string, string>> = {
  Cancelled: 'it was cancelled',
  QuotaExceeded: 'the files of the workspace are over their size limit; delete what is not needed',
  ProcessLimit: 'it had too many processes; start fewer at a time',
  Shutdown: 'the sandbox was stopped',
};

function howItEnded(end: ExecEnd, { seconds, max, remark }: Limit): string {
  const after = `after ${(end.durationMs / 1000).toFixed(1)} s`;
  if (end.error !== undefined) return `it could not start: ${plain(end.error.message)}`;
  if (end.interrupted !== undefined) return 'the container was lost while it ran; what it did is unknown: look before you go on';
  if (end.timedOut && remark !== undefined) return `ended at its limit of ${seconds} s; ${remark}`;
  if (end.timedOut)
    return `ended at its limit of ${seconds} s; do less at once${seconds < max ? `, raise timeout_seconds (at most ${max})` : ''} or use background`;
  if (end.oom === true) return `ended ${after}: out of memory; use less`;
  if (end.killed !== null) return `ended ${after}: ${killed[end.killed] ?? end.killed}`;
  if (end.exitCode === null) return `ended ${after} by signal ${end.signal ?? 'unknown'}`;
  const cause =
    end.exitCode === pipeClosed ? ' (a part of the pipe wrote on when its reader, such as head, had ended; usually no fault)' : '';
  return `exit status ${end.exitCode}${cause}, ${(end.durationMs / 1000).toFixed(1)} s`;
}

type Said = Pick<AttemptContext, 'task' | 'pool'>;

/** Reports whether neither pool nor task denies a tool. Pure. */
export function isAllowed({ task, pool }: Said, name: string): boolean {
  return ![...(pool.tools?.deny ?? []), ...(task.spec.tools?.deny ?? [])].includes(name);
}

/** Returns the most seconds of one call, as the pool sets them for commands. Pure. */
export function boundOf({ pool }: Pick<Said, 'pool'>, tool: BoundedTool): number {
  return (tool === 'bash' ? pool.tools?.timeouts.bash : undefined) ?? usualBounds[tool];
}
