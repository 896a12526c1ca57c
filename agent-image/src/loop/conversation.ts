import { newExecId } from '@agentfleet/keeper/client';
import { isArtifactCheck, isCommandCheck, type Check } from '@agentfleet/protocol/api';
import type { SnapshotRecord } from '@agentfleet/protocol/keeper';
import type { ConversationMessage } from '@agentfleet/protocol/chat';
import type { ChatModel, ExpertEndpoint, PoolBrief } from '@agentfleet/protocol/pool';
import { editable } from '../checks/index.ts';
import { seenAtBaseline } from '../attempt/baseline.ts';
import { findShell, nothingListed, toolsFor, type McpListing, type McpServers, type ToolSet } from '../tools/index.ts';
import type { Scope, StrategyScope } from '../attempt/scope.ts';
import { answerFile, asksForAnswer } from '../attempt/artifacts.ts';
import { constraintsOf, goalMessage, systemPrompt, type PromptFacts } from './prompts.ts';
import { isBegun } from './act.ts';
import { owedOf } from './charges.ts';
import { TranscriptMemory } from './memory.ts';
import { initialCorrection, observationBound, roomOf } from './context.ts';
import { bytesPerToken, keptText, readsHandles } from './observation.ts';
import { plain } from '../tools/tool.ts';
import type { WorkRecord } from './workRecord.ts';
import type { Charge, LoopNotes, TreeMark } from './notes.ts';
import { openCalls, type Transcript, TranscriptReader } from './transcript.ts';

/** An expert that is a chat model. */
export type ChatExpert = ExpertEndpoint & { readonly chat: ChatModel };

/** Whom the loop asks: the first Generalist that is a chat model. */
export function generalistOf({ experts }: Pick<PoolBrief, 'experts'>): ChatExpert {
  for (const expert of experts) if (expert.role === 'Generalist' && expert.chat !== undefined) return { ...expert, chat: expert.chat };
  throw new Error('a pool without a chat model has no loop; report this fault');
}

/** Most protected paths that the goal message lists. */
const maxProtected = 12;

/** The call that an earlier worker may have begun. */
interface ResumedAt {
  readonly step: number;
  readonly index: number;
}

/** A conversation and the way into the log: what is recorded here is in the keeper's hash chain before it counts. */
export class Conversation {
  readonly transcript: Transcript;
  readonly memory: TranscriptMemory;
  /** Limits of the work, for reminders. */
  readonly constraints: readonly string[];
  readonly #resumedAt: ResumedAt | null;
  readonly #scope: Scope;

  constructor(scope: Scope, transcript: Transcript, facts: PromptFacts, resumedAt: ResumedAt | null) {
    this.constraints = constraintsOf(facts);
    this.#scope = scope;
    this.transcript = transcript;
    this.memory = new TranscriptMemory(transcript, facts.readsRest);
    this.#resumedAt = resumedAt;
  }

  /** Whether an earlier worker may have begun this call. */
  isResumedAt(step: number, index: number): boolean {
    return this.#resumedAt?.step === step && this.#resumedAt.index === index;
  }

  async record<K extends keyof LoopNotes>(kind: K, data: LoopNotes[K]): Promise<void> {
    const { session, context } = this.#scope;
    // Written again when the keeper dies before it answers: its name lets readers count it once.
    await session.note(kind, { attempt: context.assignment.attempt, note: newExecId(), ...data });
    this.transcript.apply(kind, data);
  }

  /** Records what was stored to be read later. */
  async keepTexts(step: number): Promise<void> {
    for (const [handle, text] of this.memory.takeStored()) await this.record('TextKept', { step, handle, text: keptText(text) });
  }

  /** Sends a notice to the model. @param about names what it is about; a second notice about the same is left out */
  async notice(text: string, about?: string): Promise<void> {
    if (about !== undefined && this.transcript.hasNotice(about)) return;
    await this.record('NoticeGiven', { step: this.transcript.step, origin: 'Notice', text, ...(about !== undefined && { about }) });
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
  const reader = new TranscriptReader();
  await scope.session.events(reader.visit);
  const transcript = reader.of(scope.context.assignment.attempt);
  const owed = owedOf(reader.before, scope.context.used.earlier);
  if (owed !== null) transcript.owe(owed);
  const { began } = transcript;
  const mcp = began === null ? await servers.list() : (began.mcp ?? nothingListed);
  const tools = await toolsFor(scope, servers.tools(mcp));
  const reads = tools.definitions.some(({ name }) => name === readsHandles);
  const shownCharacters = shownAtOnce(at, expert, tools);
  const facts = { ...(await factsOf(at, left(transcript.charges))), shownCharacters, readsRest: reads };
  const conversation = began === null ? await begin(at, transcript, { expert, tools, mcp, facts }) : await resume(at, transcript, facts);
  if (mcp.warnings.length > 0) await conversation.notice(`Some tools are not there:\n${mcp.warnings.join('\n')}`, 'mcp');
  return { conversation, tools };
}

interface Beginning {
  readonly expert: ExpertEndpoint;
  readonly tools: ToolSet;
  readonly mcp: McpListing;
  readonly facts: PromptFacts;
}

async function begin(
  { scope, prepared }: StrategyScope,
  transcript: Transcript,
  { expert, tools, mcp, facts }: Beginning,
): Promise<Conversation> {
  const conversation = new Conversation(scope, transcript, facts, null);
  const { start } = prepared;
  if (start.id !== prepared.initial.id) await scope.session.restore(start.id);
  await conversation.record('ConversationBegan', {
    id: String(scope.context.assignment.attempt),
    system: systemPrompt,
    goal: goalMessage(facts),
    expert: expert.name,
    tree: markOf(start),
    tools: tools.definitions.map(({ name, description, parameters }) => ({ name, description, parameters })),
    ...((mcp.tools.length > 0 || mcp.warnings.length > 0) && { mcp }),
  });
  return conversation;
}

async function resume({ scope, prepared }: StrategyScope, transcript: Transcript, facts: PromptFacts): Promise<Conversation> {
  const { session, progress } = scope;
  progress.say('going on with the conversation of an earlier worker', { urgent: true });
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
    await conversation.record('ConversationRewound', { step: transcript.step, toStep: back.step });
    await conversation.notice(
      `The sandbox was lost and was rebuilt as it was ${back.step === 0 ? 'at the start' : 'at this point of the conversation'}. What was done after that is gone and not in this conversation; processes in the background are gone too.`,
    );
  }
  await session.restore(resumedAt !== null ? prepared.start.id : newest(kept, transcript.tree ?? markOf(prepared.initial)));
  return conversation;
}

const verbs = { A: 'new', M: 'changed', D: 'deleted', T: 'replaced' } as const;

/** What is known of the work without a model's word; the keeper compares the files with the start of the task. */
export async function recordOf({ scope: { session }, prepared, baseline }: StrategyScope, memory: TranscriptMemory): Promise<WorkRecord> {
  const { entries } = await session.diff(prepared.initial.id);
  const changed = entries.flatMap(({ path, op }) => {
    const relative = session.relative(path) ?? path;
    const isFolder = entries.some((other) => other.path.startsWith(`${path}/`));
    return isFolder || baseline.protectedSet.derived(relative) ? [] : [`${plain(relative)} (${verbs[op]})`];
  });
  return { ...memory.record, changed };
}

/** The id by which the keeper knows a tree now. */
function newest(kept: readonly SnapshotRecord[], { id, digest }: TreeMark): string {
  return kept.findLast(({ manifestDigest }) => manifestDigest === digest)?.id ?? id;
}

export function markOf({ id, manifestDigest }: SnapshotRecord): TreeMark {
  return { id, digest: manifestDigest };
}

/** Most files that are named. */
const maxFiles = 8;

function filesOf(tree: readonly string[]): string {
  if (tree.length === 0) return 'It holds no files yet.';
  return tree.length <= maxFiles ? `Its files: ${tree.join(', ')}.` : `It holds ${tree.length} files.`;
}

/** Characters of the first result that the window of the model has room for. */
function shownAtOnce({ scope }: StrategyScope, { chat }: ChatExpert, { definitions }: ToolSet): number {
  const messages: ConversationMessage[] = [
    { role: 'System', text: systemPrompt },
    { role: 'User', origin: 'Goal', text: scope.context.task.spec.goal },
  ];
  const room = roomOf({ messages, tools: definitions, window: chat, correction: initialCorrection });
  return (observationBound(room, 1) / initialCorrection) * bytesPerToken;
}

/** Facts for the first messages. */
async function factsOf(
  { scope, baseline }: StrategyScope,
  budget: readonly string[],
): Promise<Omit<PromptFacts, 'shownCharacters' | 'readsRest'>> {
  const { context, session, meter } = scope;
  const { spec } = context.task;
  const { mode, hosts = [] } = spec.policy.network;
  const guarded = baseline.tree.flatMap((path) => {
    const protection = baseline.protectedSet.why(path);
    if (protection === null) return [];
    return protection.kind === 'Settings' && editable(path) ? [`${path} (what bears on tests in it)`] : [path];
  });
  const more = guarded.length > maxProtected ? [`and ${guarded.length - maxProtected} more of the same kinds`] : [];
  const seconds = meter.secondsLeft();
  return {
    goal: spec.goal,
    checks: [
      ...baseline.checks.map((judged) => ({ name: judged.check.name, asks: asked(judged.check), baseline: seenAtBaseline([judged]) })),
      ...baseline.reviews.map((check) => ({ name: check.name, asks: asked(check), baseline: 'asked at the end' })),
    ],
    root: session.root.path,
    shell: (await findShell(session)) === 'bash' ? 'bash' : 'sh',
    operating: [filesOf(baseline.tree)],
    protectsNew: spec.protect.mode === 'Default' && baseline.checks.length > 0,
    protectedPaths: [...guarded.slice(0, maxProtected), ...more],
    network: { mode, hosts: hosts.map(({ host, port }) => `${host}:${port}`) },
    approvals: [...(spec.policy.approvals?.require ?? [])],
    budget: [...budget, ...(Number.isFinite(seconds) ? [`${Math.round(seconds)} seconds`] : [])],
    wantsAnswer: asksForAnswer(spec.checks),
  };
}

/** Characters of a JSON schema that are shown. */
const maxSchema = 4000;

/**
 * What a check asks for, in words. Pure.
 *
 * @example
 * asked({ name: 'unit', type: 'Command', command: ['npm', 'test'], … }); // 'npm test'
 */
function asked(check: Check): string {
  if (isCommandCheck(check)) return check.command.map(quoted).join(' ');
  if (!isArtifactCheck(check)) return 'a person accepts the result, with the change as evidence';
  const { path, minBytes, contains = [], jsonSchema } = check;
  return [
    path === answerFile ? `the answer that submit hands in is written to ${path} for you; do not write it` : `the file ${path} is there`,
    ...(minBytes === undefined ? [] : [`it has at least ${minBytes} bytes`]),
    ...contains.map((text) => `it contains ${JSON.stringify(text)}`),
    ...(jsonSchema === undefined ? [] : [`it is JSON that fulfils the schema ${jsonSchema.slice(0, maxSchema)}`]),
  ].join('; ');
}

/** A word as a shell takes it, so that the command can be copied. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
