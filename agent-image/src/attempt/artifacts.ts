import { Readable } from 'node:stream';
import { KeeperRefusal } from '@agentfleet/keeper/client';
import { sleep } from '@agentfleet/kube';
import { maxPatchCharacters, type Check, type Run } from '@agentfleet/protocol/api';
import { AttemptFailure, retryWhileUnavailable, throwIfSuperseded } from '../base/failure.ts';
import { StoreFailure } from '../store/index.ts';
import type { AttemptContext } from './ports.ts';
import { Redaction } from '@agentfleet/protocol/redact';
import { traceName } from '@agentfleet/protocol/results';
import type { SandboxSession } from './sandboxSession.ts';

const head = 'diff --git ';

type IsMade = (path: string) => boolean;

interface Section {
  /** As git prints it, quoted where git quotes; null for a section that is not the keeper's. */
  readonly path: string | null;
  readonly text: string;
}

/**
 * Returns the part of the keeper's unified diff (paths `workspace/…`, `home/…`) that `git apply` takes at the root of the
 * workspace: paths without `workspace/`, and only sections that git can apply. Each other change is named in a line in front
 * of the first section, which git ignores: `revert.tar` holds it whole. Pure.
 *
 * @param isMade of a path below the workspace, whether running the checks or a build makes it
 */
export function workspacePatch(unified: string, isMade: IsMade = () => false): string {
  const parts = unified.split(/^(?=diff --git )/m);
  const preamble = parts[0]?.startsWith(head) === false ? (parts.shift() ?? '') : '';
  const byReason = Map.groupBy(parts.map(sectionOf), (section) => whyLeftOut(section, isMade));
  const kept = (byReason.get(null) ?? []).map(relative);
  const left = [...byReason].flatMap(([why, sections]) => (why === null ? [] : [leftOut(why, sections)]));
  return [preamble, ...left, ...kept].join('');
}

/** One line for all of a reason: an agent that commits changes hundreds of git's own files. */
function leftOut(why: string, sections: readonly Section[]): string {
  const named = sections.slice(0, 3).map(({ path }) => path ?? 'a section of unknown form');
  const more = sections.length - named.length;
  return `# not in this patch (${why}), but in revert.tar: ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}\n`;
}

function sectionOf(text: string): Section {
  const line = text.slice(head.length, text.indexOf('\n'));
  // Both names are the same but for their first letter, so that the line falls into two halves.
  const half = (line.length - 1) / 2;
  const [a, b] = [line.slice(0, half), line.slice(half + 1)];
  const same = b === a.replace(/^("?)a\//, '$1b/');
  return { path: same ? a.replace(/^("?)a\//, '$1') : null, text };
}

function whyLeftOut({ path, text }: Section, isMade: IsMade): string | null {
  if (path === null) return 'of unknown form';
  if (!/^"?workspace\//.test(path)) return 'outside of the workspace';
  if (/(^|\/)\.git\//.test(path)) return "git's own";
  if (isMade(path.replace(/^"?workspace\//, ''))) return 'made by the checks or a build';
  return /^Binary files .* differ$/m.test(text.slice(0, hunksAt(text))) ? 'binary or long' : null;
}

/** Without the folder of the root in its head; lines of the hunks are left as they are. */
function relative({ path, text }: Section): string {
  const bare = (path ?? '').replace(/^("?)workspace\//, '$1');
  const name = (side: 'a' | 'b'): string => bare.replace(/^("?)/, `$1${side}/`);
  const at = hunksAt(text);
  const lines = text.slice(0, at).split('\n');
  const renamed = lines.map((line) => {
    if (line.startsWith(head)) return `${head}${name('a')} ${name('b')}`;
    const tab = line.endsWith('\t') ? '\t' : '';
    if (line.startsWith('--- ') && line !== '--- /dev/null') return `--- ${name('a')}${tab}`;
    return line.startsWith('+++ ') && line !== '+++ /dev/null' ? `+++ ${name('b')}${tab}` : line;
  });
  return renamed.join('\n') + text.slice(at);
}

function hunksAt(text: string): number {
  const at = text.search(/^@@ /m);
  return at < 0 ? text.length : at;
}

type Artifact = NonNullable<Run['artifacts']>[number];

/** A file to keep; `content` makes it again for each try, because a stream can be read once. */
export interface KeptFile {
  readonly name: string;
  readonly type: string;
  readonly content: () => Promise<Readable | string>;
}

const longestWaitMs = 15_000;

/** The keeper calls of artifacts go on when the attempt has to end, so they have a signal of their own. */
export interface Keeping {
  readonly context: AttemptContext;
  readonly signal: AbortSignal;
}

/** Longest wait for the files of an attempt that did not succeed, ms. */
export const lateMs = 60_000;

/** Asks the keeper, and waits for one that is away. */
export function keeperOf<T>({ context, signal }: Keeping, call: (keeper: AttemptContext['keeper']) => Promise<T>): Promise<T> {
  return retryWhileUnavailable(() => call(context.keeper), { clock: context.clock, signal });
}

/** `<namespace>/<task>/<uid>/<attempt>/<name>`. */
function artifactKey({ task, assignment }: AttemptContext, name: string): string {
  const { namespace = 'default', name: own, uid = 'unknown' } = task.metadata;
  return `${namespace}/${own}/${uid}/${assignment.attempt}/${name}`;
}

/** A file that the store takes at no time, and why. */
interface LeftOut {
  readonly name: string;
  readonly why: string;
}

export interface Kept {
  readonly artifacts: readonly Artifact[];
  readonly leftOut: readonly LeftOut[];
}

/**
 * Stores files, one after the other, each with as many tries as the signal allows: a person can mend any refusal of a store, except
 * for the size of a file, which is left out. Other files that could not be stored are missing in the answer only when `signal` is
 * aborted, which is no error here: the caller decides what that means.
 */
export async function keep({ context, signal }: Keeping, files: readonly KeptFile[]): Promise<Kept> {
  const artifacts: Artifact[] = [];
  const leftOut: LeftOut[] = [];
  for (const file of files) {
    const kept = await keepOne({ context, signal }, file);
    if (kept === null) continue;
    if ('why' in kept) leftOut.push(kept);
    else artifacts.push(kept);
  }
  return { artifacts, leftOut };
}

async function keepOne({ context, signal }: Keeping, { name, type, content }: KeptFile): Promise<Artifact | LeftOut | null> {
  const { clock, log, store } = context;
  for (let tries = 0; !signal.aborted; tries += 1) {
    try {
      const { uri, sha256, bytes } = await store.put(artifactKey(context, name), await content(), type, signal);
      return { name, uri, sha256, bytes };
    } catch (error) {
      throwIfSuperseded(error);
      // A keeper that answers wrongly does so again.
      if (error instanceof KeeperRefusal && error.code.startsWith('AF_ANSWER_')) throw error;
      const why = error instanceof Error ? error.message : String(error);
      log.warn('an artifact could not be stored', { name, tries, error: why });
      if (error instanceof StoreFailure && error.code === 'TooLarge') return { name, why };
      if (signal.aborted) break;
      const cure = error instanceof StoreFailure ? `; ${error.cure}` : '';
      const progress = { done: 0, total: 0, message: `storing ${name} again, the store said: ${why}${cure}`.slice(0, 256) };
      context.report({ progress });
      await sleep(clock, Math.min(longestWaitMs, 500 * 2 ** tries), signal).catch(() => undefined); // what was kept is reported
    }
  }
  return null;
}

/** Returns the files that were left out, with the reasons, as text for people; `''` without any. */
export function withoutFiles({ leftOut }: Pick<Kept, 'leftOut'>): string {
  return leftOut.map(({ name, why }) => `; ${name} is left out: ${why}`).join('');
}

/** @throws AttemptFailure where the change is too large to be kept: nothing is judged or Succeeded whose patch is lost */
export function assertPatchKept({ leftOut }: Pick<Kept, 'leftOut'>): void {
  const lost = leftOut.find(({ name }) => name === patchFile);
  if (lost === undefined) return;
  const cure = 'let one task change less, or let the store take larger objects';
  throw new AttemptFailure('InvalidInput', 'TooLarge', `${lost.name} cannot be kept: ${lost.why}; ${cure}`);
}

/** The whole event log, one record a line. */
export function trace({ context, signal }: Keeping): KeptFile {
  async function* lines(): AsyncGenerator<string> {
    for await (const record of context.keeper.events()) {
      signal.throwIfAborted();
      yield `${JSON.stringify(record)}\n`;
    }
  }
  return { name: traceName, type: 'application/x-ndjson', content: () => Promise.resolve(Readable.from(lines())) };
}

const patchFile = 'change.patch';

export function patch(keeping: Keeping, from: string, to?: string, isMade?: IsMade): KeptFile {
  const content = async (): Promise<string> =>
    workspacePatch((await keeperOf(keeping, (keeper) => keeper.diff(from, to, 'Raw'))).unified, isMade);
  return { name: patchFile, type: 'text/x-diff', content };
}

export function revertScript(keeping: Keeping, from: string, to?: string): KeptFile {
  const content = (): Promise<Readable> => keeperOf(keeping, (keeper) => keeper.revertBundle(from, to));
  return { name: 'revert.tar', type: 'application/x-tar', content };
}

export function json(name: string, value: unknown): KeptFile {
  return { name, type: 'application/json', content: () => Promise.resolve(`${JSON.stringify(value, null, 2)}\n`) };
}

/** An act that waits for a person, whole: its SHA-256 is its digest, by which it is approved. */
export function heldAct(action: string, whole: string): KeptFile {
  return {
    name: `act-${action.slice('sha256:'.length).slice(0, 16)}.json`,
    type: 'application/json',
    content: () => Promise.resolve(whole),
  };
}

/** Returns the patch for the status, whose bounds cut a longer one: no more of it than shows that it is one. */
export function shownPatch(unified: string, isMade?: IsMade): string {
  return workspacePatch(unified, isMade).slice(0, 2 * maxPatchCharacters + 1);
}

/** Head of the event log. @throws AttemptFailure when its chain does not hold */
export async function auditRoot(keeping: Keeping): Promise<string> {
  const { ok, root, broken } = await keeperOf(keeping, (keeper) => keeper.audit());
  if (ok) return root;
  const where = broken === null ? '' : ` at record ${broken.seq}: ${broken.why}`;
  throw new AttemptFailure(
    'Infrastructure',
    'AuditBroken',
    `the event log of the sandbox does not hold${where}; keep the pod for inspection`,
  );
}

/** Name of the answer, as artifact and below the workspace. */
export const answerFile = 'answer.md';

/** Reports whether a check looks at the answer as a file of the workspace. */
export function isAnswer({ type, path }: Pick<Check, 'type' | 'path'>): boolean {
  return type === 'Artifact' && path === answerFile;
}

/** Reports whether one of the checks does so. */
export function asksForAnswer(checks: readonly Check[]): boolean {
  return checks.some(isAnswer);
}

/**
 * Writes the answer of the model to `answer.md` of the workspace where a check looks at it there, and nothing otherwise;
 * returns whether it did. To be called before the result is verified.
 */
export async function writeAnswer(
  { context, session }: { readonly context: AttemptContext; readonly session: Pick<SandboxSession, 'write'> },
  text: string,
): Promise<boolean> {
  if (!asksForAnswer(context.task.spec.checks)) return false;
  await session.write(answerFile, Buffer.from(withNewline(text)));
  return true;
}

/** The answer as it leaves the sandbox: without secrets. */
export function shownAnswer(text: string): string {
  return new Redaction(() => undefined).open().text(text);
}

/** The whole answer, to outlive the sandbox. */
export function answerArtifact(text: string): KeptFile {
  return { name: answerFile, type: 'text/markdown', content: () => Promise.resolve(withNewline(shownAnswer(text))) };
}

function withNewline(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}
