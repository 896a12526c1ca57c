import { AttemptFailure } from '../base/failure.ts';
import { shortened } from '../base/text.ts';
import type { Listed } from './forges/index.ts';

interface BranchState {
  /** Commit of the branch at the server; null: no such branch. */
  readonly remote: string | null;
  readonly commit: string;
  /** Commits that this task has meant to push there. */
  readonly ours: ReadonlySet<string>;
}

/** Push: when the branch still is at `lease`, which is empty for a branch that is not there. */
type BranchDecision = { readonly kind: 'There' } | { readonly kind: 'Push'; readonly lease: string };

/**
 * Decides whether to push: a branch belongs to the task as long as the task pushed all of its commits. Pure.
 *
 * @throws AttemptFailure BranchMoved when it holds a commit of another author
 */
export function decideBranch(branch: string, { remote, commit, ours }: BranchState): BranchDecision {
  if (remote === commit) return { kind: 'There' };
  if (remote === null) return { kind: 'Push', lease: '' };
  if (ours.has(remote)) return { kind: 'Push', lease: remote };
  throw branchMoved(branch, remote);
}

/** The branch holds a commit of another author. */
export function branchMoved(branch: string, remote: string): AttemptFailure {
  const how = `branch ${branch} holds commit ${remote.slice(0, 12)}, which this task did not push; nothing was overwritten`;
  const cure = 'delete the branch, or name another one in spec.output.git.branch of a new task';
  return new AttemptFailure('InvalidInput', 'BranchMoved', `${how}; ${cure}`);
}

/** The line at the end of a commit by which a task knows its own. */
export function trailerOf(uid: string): string {
  return `AgentFleet-Task-UID: ${uid}`;
}

/** The line of a body by which a task finds its pull request again. */
export function markOf(uid: string): string {
  return `<!-- agentfleet.dev/task: ${uid} -->`;
}

/**
 * Returns the pull request of the task: its own, also one that was closed or merged since, or else the open one of the
 * branch, as forges open only one per branch. Undefined: one must be opened. Pure.
 */
export function standing(found: readonly Listed[], uid: string): Listed | undefined {
  return found.find(({ body }) => body.includes(markOf(uid))) ?? found.find(({ open }) => open);
}

const maxTitle = 72;

/** Returns the title of commit and pull request: the requested one, or the first line of the goal. Pure. */
export function titleOf(title: string | undefined, goal: string): string {
  const line = (title ?? goal.trim().split('\n')[0] ?? '').replaceAll(/\p{Cc}+/gu, ' ').trim();
  return shortened(line, title === undefined ? maxTitle : 200);
}

/** Default branch of a task; no other task has it. */
export function branchOf(name: string, uid: string): string {
  return `agentfleet/${name}-${uid.slice(0, 8)}`;
}

/** Content of a body. */
export interface Story {
  readonly task: string;
  readonly uid: string;
  readonly attempt: number;
  readonly goal: string;
  readonly answer?: string;
  readonly checks: readonly { readonly name: string; readonly passed: number; readonly failed: number; readonly skipped: number }[];
  /** Changed files below submodules. */
  readonly leftOut: readonly string[];
}

const maxNamed = 20;

function named(leftOut: readonly string[], between: string): string {
  const more = leftOut.length - maxNamed;
  return [...leftOut.slice(0, maxNamed), ...(more > 0 ? [`and ${more} more`] : [])].join(between);
}

/** Returns the sentence about changed files below submodules. Pure. */
export function leftOutWords(leftOut: readonly string[]): string {
  return `left out, because files of a submodule belong to its own repository: ${named(leftOut, ', ')}`;
}

/** Returns the body of the pull request. Text of the goal or a model is in blocks of code, where no forge acts on it. Pure. */
export function bodyOf({ task, uid, attempt, goal, answer, checks, leftOut }: Story): string {
  const rows = checks.map(({ name, passed, failed, skipped }) => `| ${name} | ${passed} | ${failed} | ${skipped} |`);
  const table = rows.length === 0 ? [] : ['| Check | Passed | Failed | Skipped |', '| - | - | - | - |', ...rows, ''];
  const said = answer === undefined ? [] : ['What the agent says:', '', block(answer, 8000), ''];
  const without =
    leftOut.length === 0 ? [] : ['Changed too, and left out as files of submodules:', '', block(named(leftOut, '\n'), 8000), ''];
  return [
    'Goal:',
    '',
    block(goal, 4096),
    '',
    ...said,
    'All checks hold in a fresh container, on a clean restore of this change:',
    '',
    ...table,
    ...without,
    `AgentTask \`${task}\`, attempt ${attempt}.`,
    '',
    markOf(uid),
    '',
  ].join('\n');
}

function block(text: string, max: number): string {
  const shown = text.length <= max ? text : `${text.slice(0, max).toWellFormed()}\n…`;
  const longest = Math.max(2, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}text\n${shown.trimEnd()}\n${fence}`;
}
