import { line } from '../base/text.ts';
import { newExecId } from '@agentfleet/keeper/client';
import { isArtifactCheck, isCommandCheck, type Check } from '@agentfleet/protocol/api';
import { maxNoteBytes, maxNotes, type Note, type SnapshotRecord } from '@agentfleet/protocol/keeper';
import type { ConversationMessage } from '@agentfleet/protocol/chat';
import type { ChatModel, ExpertEndpoint, PoolBrief } from '@agentfleet/protocol/pool';
import { guardedPart, packagesOf } from '../checks/index.ts';
import { seenAtBaseline } from '../attempt/baseline.ts';
import {
  findShell,
  nothingListed,
  programsOf,
  putBack,
  toolsFor,
  type McpListing,
  type McpServers,
  type ToolSet,
  type UndoPoint,
} from '../tools/index.ts';
import type { SandboxSession } from '../attempt/sandboxSession.ts';
import type { Scope, StrategyScope } from '../attempt/scope.ts';
import { answerFile, asksForAnswer } from '../attempt/artifacts.ts';
import {
  constraintsOf,
  filesLine,
  goalMessage,
  installedNames,
  summarised,
  testNames,
  systemPrompt,
  type PromptFacts,
  type ShownFile,
} from './prompts.ts';
import { handInIndex, isBegun } from './act.ts';
import { readTranscript } from './charges.ts';
import { TranscriptMemory } from './memory.ts';
import { initialCorrection, observationBound, roomOf } from './context.ts';
import { bytesPerToken, fitted, keptText, observed, readsHandles, textTokens, type Cut } from './observation.ts';
import { forModel, linesAt } from '../tools/arguments.ts';
import { ArgumentError, isOfGit, namedChanges, plain, type Observation } from '../tools/tool.ts';
import { pathsIn, type WorkRecord } from './workRecord.ts';
import type { CallObserved, Charge, LoopNotes, TreeMark } from './notes.ts';
import { openCalls, type Transcript } from './transcript.ts';

/** An expert that is a chat model. */
export type ChatExpert = ExpertEndpoint & { readonly chat: ChatModel };

/** Returns the expert that the loop asks: the first Generalist that is a chat model. */
export function generalistOf({ experts }: Pick<PoolBrief, 'experts'>): ChatExpert {
  for (const expert of experts) if (expert.role === 'Generalist' && expert.chat !== undefined) return { ...expert, chat: expert.chat };
  throw new Error('a pool without a chat model has no loop; report this fault');
}

/** Most protected paths that the goal message lists. */
const maxProtected = 12;

type ResumedAt = Pick<CallObserved, 'step' | 'index'>;

/**
 * A conversation and the way into the log. What is recorded here counts at once for this worker, and is in the keeper's hash
 * chain when `flush` returns: before a request is sent, before a call is done, and before the work is handed in. So a step waits
 * for the disk twice, and a worker that dies between loses nothing but what the next one finds out again.
 */
export class Conversation {
  readonly transcript: Transcript;
  readonly memory: TranscriptMemory;
  readonly constraints: readonly string[];
  readonly #resumedAt: ResumedAt | null;
  readonly #scope: Scope;
  #pending: { readonly note: Note; readonly bytes: number }[] = [];

  constructor(scope: Scope, transcript: Transcript, facts: Omit<PromptFacts, 'files'>, resumedAt: ResumedAt | null) {
    // The rest of the budget changes; each reminder has it anew.
    this.constraints = constraintsOf({ ...facts, budget: [] });
    this.#scope = scope;
    this.transcript = transcript;
    this.memory = new TranscriptMemory(transcript, facts.readsRest);
    this.#resumedAt = resumedAt;
  }

  isResumedAt(step: number, index: number): boolean {
    return this.#resumedAt?.step === step && this.#resumedAt.index === index;
  }

  record<K extends keyof LoopNotes>(kind: K, data: LoopNotes[K]): void {
    // Written again when the keeper dies before it answers: its name lets readers count it once.
    const named = { attempt: this.#scope.context.assignment.attempt, note: newExecId() };
    const note = { kind, data: { ...named, ...data } as Record<string, unknown> };
    this.#pending.push({ note, bytes: Buffer.byteLength(JSON.stringify(note.data)) });
    this.transcript.apply(kind, data);
  }

  /** Returns when all that was recorded is on the keeper's disk. */
  async flush(): Promise<void> {
    while (this.#pending.length > 0) {
      let bytes = 0;
      const over = this.#pending.findIndex((one, at) => (bytes += one.bytes) > maxNoteBytes || at === maxNotes);
      const [first, ...next] = this.#pending.slice(0, over === -1 ? undefined : Math.max(1, over)).map(({ note }) => note);
      if (first === undefined) return;
      await this.#scope.session.noteAll([first, ...next]);
      this.#pending.splice(0, 1 + next.length);
    }
  }

  keepTexts(step: number): void {
    for (const [handle, text] of this.memory.takeStored()) this.record('TextKept', { step, handle, text: keptText(text) });
  }

  /** Returns the result of a call, or of a submission, as the model sees it; the rest is recorded under the handle of its call. */
  shown(
    { text, whole, within }: Pick<Observation, 'text' | 'whole' | 'within'>,
    { step, index = handInIndex }: Pick<CallObserved, 'step'> & Partial<Pick<CallObserved, 'index'>>,
    bound: Cut = {},
  ): string {
    const { handle } = this.memory.kept(`${step}.${index}`, whole ?? text);
    if (whole !== undefined) handle?.();
    const shown =
      within === undefined ? observed(text, { ...bound, ...(handle !== undefined && { handle }) }) : fitted(text, within, bound);
    this.keepTexts(step);
    return shown;
  }

  /** Gives a submission back to the model. @param most submissions that may be refused */
  refuse(why: Pick<Observation, 'text' | 'whole'>, most: number): void {
    const { step, refusedSubmissions } = this.transcript;
    const said = this.shown(why, { step });
    const text = `The submission was refused: ${said}\nThe work goes on from the tree as it is; it ends at ${most} refused submissions, and ${most - refusedSubmissions - 1} may follow this one. If the goal cannot be reached, submit with unreachable and say why.`;
    this.record('SubmissionRefused', { step, text });
  }

  /** Sends a notice to the model. @param about names what it is about; a second notice about the same is left out */
  notice(text: string, about?: string): void {
    if (about !== undefined && this.transcript.hasNotice(about)) return;
    this.record('NoticeGiven', { step: this.transcript.step, origin: 'Notice', text, ...(about !== undefined && { about }) });
  }
}

/**
 * The conversation of this attempt: begun here, or the one that an earlier worker recorded, with the tree that belongs to its
 * last observation. Where that tree was lost with its sandbox the conversation goes back to the newest that is kept.
 *
 * @param left lines for the goal message: what is left of the budget after these charges
 */
export async function openConversation(
  at: StrategyScope,
  expert: ChatExpert,
  servers: McpServers,
  left: (charges: readonly Charge[]) => readonly string[],
): Promise<{ readonly conversation: Conversation; readonly tools: ToolSet }> {
  const { scope } = at;
  const transcript = await readTranscript(scope);
  const { began } = transcript;
  const mcp = began === null ? await servers.list() : (began.mcp ?? nothingListed);
  const tools = await toolsFor(scope, servers.tools(mcp));
  const reads = tools.definitions.some(({ name }) => name === readsHandles);
  const shownCharacters = shownAtOnce(at, expert, tools);
  const window = { shownCharacters, windowTokens: expert.chat.contextTokens, replyTokens: expert.chat.maxOutputTokens, readsRest: reads };
  const facts = { ...(await factsOf(at, left(transcript.charges))), ...window };
  const conversation = began === null ? await begin(at, transcript, { expert, tools, mcp, facts }) : await resume(at, transcript, facts);
  if (mcp.warnings.length > 0) conversation.notice(`Some tools are not there:\n${mcp.warnings.join('\n')}`, 'mcp');
  return { conversation, tools };
}

interface Beginning {
  readonly expert: ExpertEndpoint;
  readonly tools: ToolSet;
  readonly mcp: McpListing;
  readonly facts: Omit<PromptFacts, 'files'>;
}

async function begin(
  { scope, prepared, baseline }: StrategyScope,
  transcript: Transcript,
  { expert, tools, mcp, facts }: Beginning,
): Promise<Conversation> {
  const conversation = new Conversation(scope, transcript, facts, null);
  const { start } = prepared;
  if (start.id !== prepared.initial.id) await scope.session.restore(start.id);
  conversation.record('ConversationBegan', {
    id: String(scope.context.assignment.attempt),
    system: systemPrompt,
    goal: goalMessage({ ...facts, files: await smallFiles(scope.session, baseline) }),
    expert: expert.name,
    tree: markOf(start),
    tools: tools.definitions.map(({ name, description, parameters }) => ({ name, description, parameters })),
    ...((mcp.tools.length > 0 || mcp.warnings.length > 0) && { mcp }),
  });
  return conversation;
}

async function resume(
  { scope, prepared }: StrategyScope,
  transcript: Transcript,
  facts: Omit<PromptFacts, 'files'>,
): Promise<Conversation> {
  const { session, progress } = scope;
  progress.say('going on with the conversation of an earlier worker');
  const kept = await session.snapshots();
  const found = transcript.trees.findLast(({ digest }) => kept.some(({ manifestDigest }) => manifestDigest === digest));
  const lost = found === undefined || found.digest !== transcript.tree?.digest;
  const next = lost || transcript.open === null ? undefined : openCalls(transcript.open)[0];
  const at = next === undefined || transcript.open === null ? null : { step: transcript.open.step, index: next.index };
  // A command that an earlier worker began goes on with the tree as it was found; anything else begins on the recorded one.
  const resumedAt = at !== null && (await isBegun(scope, transcript.began?.id ?? '', at)) ? at : null;
  const conversation = new Conversation(scope, transcript, facts, resumedAt);
  if (lost) {
    const back = found ?? { step: 0, ...markOf(prepared.initial) };
    conversation.record('ConversationRewound', { step: transcript.step, toStep: back.step });
    conversation.notice(
      `The sandbox was lost and was rebuilt as it was ${back.step === 0 ? 'at the start' : 'at this point of the conversation'}. What was done after that is gone and not in this conversation; processes in the background are gone too.`,
    );
  }
  await conversation.flush();
  await session.restore(resumedAt !== null ? prepared.start.id : newest(kept, transcript.tree ?? markOf(prepared.initial)));
  return conversation;
}

/** Puts all files back for a person, as the model's own tool does; what is not kept any more stays as it is, and both read so. */
export async function filesBack(
  { session }: Scope,
  { trees }: Transcript,
  snapshot: string,
): Promise<{ readonly said: string; readonly restored?: UndoPoint }> {
  const point = trees.findLast(({ id }) => id === snapshot);
  const done = point === undefined ? null : await putBack(session, point);
  if (point === undefined || done === null)
    return { said: `\n[no files were put back: snapshot ${plain(snapshot)} is not one that this conversation can go back to]` };
  return { said: `\n[${done.text}; what commands did outside of the files stays]`, restored: point };
}

/** Returns the facts of the work that no model reported; the keeper compares the files with the start of the task. */
export async function recordOf({ scope: { session }, prepared, baseline }: StrategyScope, memory: TranscriptMemory): Promise<WorkRecord> {
  const { entries } = await session.diff(prepared.initial.id);
  const { derived } = baseline.protectedSet;
  const known = [...baseline.tree, ...entries.map(({ path }) => session.fromWorkspace(path))];
  return {
    ...memory.record,
    changed: namedChanges(session, entries, derived),
    // Notes shorten paths.
    absent: (paths) => paths.filter((path) => !derived(path) && !known.some((one) => one === path || one.endsWith(`/${path}`))),
  };
}

/**
 * Returns why the account of a submission does not stand: it names files that were never written. Null: it stands. Only that of the first
 * is looked at, as a file may be named that is not to be there; what a task asks for as its answer is not.
 */
export async function accountRefused(at: StrategyScope, { memory, transcript }: Conversation, answer: string): Promise<string | null> {
  if (transcript.refusedSubmissions > 0 || transcript.isLastTurn || asksForAnswer(at.scope.context.task.spec.checks)) return null;
  const named = pathsIn(answer);
  const absent = named.length === 0 ? [] : (await recordOf(at, memory)).absent(named);
  if (absent.length === 0) return null;
  const what = absent.slice(0, maxProtected).map(plain).join(', ');
  return `your account names ${what}: there is no such file, and was none. Write what the goal asks for, or correct the account; then submit again.`;
}

/** The id by which the keeper knows a tree now. */
function newest(kept: readonly SnapshotRecord[], { id, digest }: TreeMark): string {
  return kept.findLast(({ manifestDigest }) => manifestDigest === digest)?.id ?? id;
}

export function markOf({ id, manifestDigest }: SnapshotRecord): TreeMark {
  return { id, digest: manifestDigest };
}

/** Most files of a workspace that is shown whole. */
const maxFiles = 16;
/** Tokens of all files that the goal message shows: they are sent with each request, so that they must cost less than the step that reads them. */
const shownTokens = 400;

/** The files of a workspace that is so small that reading it is not worth a step; of a larger one the scripts that its checks run, where they are small. */
async function smallFiles(session: SandboxSession, baseline: StrategyScope['baseline']): Promise<readonly ShownFile[]> {
  const files = partsOf(baseline).own;
  const whole = files.length > maxFiles ? null : await shownFiles(session, files);
  if (whole !== null) return whole;
  const scripts = files.filter((path) => baseline.protectedSet.why(path)?.kind === 'Entry');
  return scripts.length > maxFiles ? [] : ((await shownFiles(session, scripts)) ?? []);
}

/** All of these; null where they have too many tokens together. */
async function shownFiles(session: SandboxSession, paths: readonly string[]): Promise<readonly ShownFile[] | null> {
  const files: ShownFile[] = [];
  let tokens = 0;
  for (const path of paths) {
    const text = await smallText(session, path);
    if (text === null) continue;
    tokens += textTokens(text);
    if (tokens > shownTokens) return null;
    files.push({ path: plain(path), text });
  }
  return files;
}

/** Text of a file; null for links, and for what no text shows as it is: tools report more about those. */
async function smallText(session: SandboxSession, path: string): Promise<string | null> {
  try {
    const { text, lines } = await forModel('path', () => linesAt(session, session.absolute(path), 1, shownTokens));
    if (lines > shownTokens) return text.padEnd(shownTokens * bytesPerToken + 1);
    return plain(text) === text ? text : null;
  } catch (error) {
    if (error instanceof ArgumentError) return null;
    throw error;
  }
}

/** Characters of the first result that the window of the model has room for. */
function shownAtOnce({ scope }: StrategyScope, { chat }: ChatExpert, { definitions }: ToolSet): number {
  const messages: ConversationMessage[] = [
    { role: 'System', text: systemPrompt },
    { role: 'User', origin: 'Goal', text: scope.context.task.spec.goal },
  ];
  const room = roomOf({ messages, tools: definitions, window: chat, correction: initialCorrection });
  return (observationBound(room, 1).tokens / initialCorrection) * bytesPerToken;
}

/** Separates the files of the project from installed packages, which are counted by their folder. The repository's own are in neither. */
function partsOf({ tree, protectedSet }: StrategyScope['baseline']) {
  const own: string[] = [];
  const packages = new Map<string, number>();
  for (const path of tree) {
    if (isOfGit(path) || protectedSet.derived(path)) continue;
    const folder = protectedSet.why(path) === null ? null : packagesOf(path);
    if (folder === null) own.push(path);
    else packages.set(folder, (packages.get(folder) ?? 0) + 1);
  }
  return { own, packages };
}

/** Facts for the first messages. */
async function factsOf(
  { scope, baseline }: StrategyScope,
  budget: readonly string[],
): Promise<Omit<PromptFacts, 'shownCharacters' | 'windowTokens' | 'replyTokens' | 'readsRest' | 'files'>> {
  const { context, session, meter } = scope;
  const { spec } = context.task;
  const { mode, hosts = [] } = spec.policy.network;
  const { own, packages } = partsOf(baseline);
  const guarded = own.flatMap((path) => {
    const protection = baseline.protectedSet.why(path);
    if (protection === null) return [];
    const part = protection.kind === 'Settings' ? guardedPart(path) : null;
    return [part === null ? path : `${path} (${part})`];
  });
  const seconds = meter.secondsLeft();
  return {
    goal: spec.goal,
    checks: [
      ...baseline.checks.map((judged) => ({ name: judged.check.name, asks: asked(judged.check), baseline: seenAtBaseline([judged]) })),
      ...baseline.reviews.map((check) => ({ name: check.name, asks: asked(check), baseline: 'asked at the end' })),
    ],
    root: session.root.path,
    shell: (await findShell(session)) === 'bash' ? 'bash' : 'sh',
    operating: [...(await programsOf(session)), filesLine(own, packages, baseline.tree.some(isOfGit))],
    testNames: testNames(own.filter((path) => baseline.protectedSet.why(path)?.kind === 'Test')),
    setsAside: spec.protect.mode === 'Default' && baseline.tree.some((path) => baseline.protectedSet.why(path)?.kind === 'Test'),
    protectedPaths: [
      ...installedNames([...packages.keys()]).map((name) => `${name} (installed packages)`),
      ...summarised(guarded, maxProtected),
    ],
    network: { mode, hosts: hosts.map(({ host, port }) => `${host}:${port}`) },
    approvals: [...(spec.policy.approvals?.require ?? [])],
    budget: [...budget, ...(Number.isFinite(seconds) ? [timeOf(seconds)] : [])],
    wantsAnswer: asksForAnswer(spec.checks),
  };
}

/** Wall time in words; single seconds of an hour are left out. */
function timeOf(seconds: number): string {
  return seconds >= 120 ? `${Math.round(seconds / 60)} minutes of wall time` : `${Math.round(seconds)} seconds of wall time`;
}

const maxSchema = 4000;

/**
 * Describes the demand of a check, in words. Pure.
 *
 * @example
 * asked({ name: 'unit', type: 'Command', command: ['npm', 'test'], … }); // 'npm test'
 */
function asked(check: Check): string {
  const may = check.expect === 'NoRegression' ? '; what failed before any change may fail' : '';
  if (isCommandCheck(check)) return `${line(check.command)}${may}`;
  if (!isArtifactCheck(check)) return 'a person accepts the result, with the change as evidence';
  const { path, minBytes, contains = [], jsonSchema } = check;
  return [
    path === answerFile ? `the answer that submit hands in is written to ${path} for you; do not write it` : `the file ${path} is there`,
    ...(minBytes === undefined ? [] : [`it has at least ${minBytes} bytes`]),
    ...contains.map((text) => `it contains ${JSON.stringify(text)}`),
    ...(jsonSchema === undefined ? [] : [`it is JSON that fulfils the schema ${jsonSchema.slice(0, maxSchema)}`]),
  ].join('; ');
}
