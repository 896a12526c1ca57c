import { inSpan, tool as toolSpan } from '@agentfleet/protocol/tracing';
import { createHash } from 'node:crypto';
import { KeeperRefusal } from '@agentfleet/keeper/client';
import type { ToolCall, ToolDefinition } from '@agentfleet/protocol/chat';
import type { Candidate, Edit } from '@agentfleet/protocol/inference';
import { asksForAnswer } from '../attempt/artifacts.ts';
import { consentTo, deletionRefused, opinionOf, type Consent } from '../attempt/approvals.ts';
import { budgetUsed, earlierRun, identityOf, type ActIdentity } from '../attempt/notes.ts';
import { judgeEffects, reachOfActs, onlyOnce } from '../attempt/acts.ts';
import { sha256 } from '../features/index.ts';
import type { GateVerdict, Proposal } from '../attempt/gate.ts';
import type { ModelProposal } from '../models/models.ts';
import { risks } from '../rails/index.ts';
import type { ConsideredProposal } from './chooseAct.ts';
import type { AttemptContext } from '../attempt/ports.ts';
import type { Scope } from '../attempt/scope.ts';
import { ArgumentError, namedChanges, type Observation, type Tool, type ToolContext, type ToolSet } from '../tools/index.ts';
import { cutInCall, maxCalls, notInLastTurn, notRun } from './discipline.ts';
import type { TranscriptMemory } from './memory.ts';
import type { CallObserved, OpenCall, TreeMark } from './notes.ts';
import { brief, handleOf, type Transcript } from './transcript.ts';

/** Context of the acts of one conversation. */
export interface ActScope extends Pick<ToolContext, 'scope' | 'prepared' | 'baseline' | 'gate'> {
  readonly tools: ToolSet;
  readonly memory: TranscriptMemory;
  readonly conversation: string;
}

const riskOf = ({ tools }: ActScope, name: string): ToolDefinition['risk'] | undefined =>
  tools.definitions.find((tool) => tool.name === name)?.risk;

/** Reports whether the gates judge calls of a tool. */
export function isJudged(acts: ActScope, name: string): boolean {
  const risk = riskOf(acts, name);
  return risk === 'Edit' || risk === 'Execute';
}

/** For the planner, of calls that the gates judge. */
export function factsOf(acts: ActScope, name: string, seconds: number): Pick<CallObserved, 'facts'> {
  if (!isJudged(acts, name)) return {};
  return { facts: { tool: riskOf(acts, name) === 'Edit' ? 'Editor' : 'Shell', seconds, budgetUsed: budgetUsed(acts.scope) } };
}

/** Result of a call. */
export interface Acted extends Observation, Pick<CallObserved, 'refused' | 'tree' | 'energy'> {}

/** A call in its conversation. */
export interface Call extends OpenCall {
  readonly step: number;
  readonly tree: TreeMark;
  /** An earlier worker may have begun it. */
  readonly resumed: boolean;
}

/**
 * Does one call: arguments → both gates → act → what it left is judged → observation. Whatever refuses it becomes an
 * observation that names the rule and what would be allowed. Rejects with an AttemptFailure that ends the attempt.
 */
export function act(at: ActScope, one: Call): Promise<Acted> {
  const { id, name } = one.call;
  return inSpan(toolSpan.name(name), { attributes: toolSpan.request(name, id) }, async (span) => {
    const acted = await actUntraced(at, one);
    span.set({ 'agentfleet.call.ok': acted.ok, 'agentfleet.call.refused': acted.refused !== undefined });
    return acted;
  });
}

async function actUntraced(at: ActScope, one: Call): Promise<Acted> {
  try {
    const { tool, args } = resolved(at, one);
    if (tool.propose === undefined) return await tool.run(args, contextOf(at, one));
    return await gated(at, one, tool, args);
  } catch (error) {
    if (error instanceof ArgumentError) return { text: error.message, ok: false };
    throw error;
  }
}

/** Call number of the checks that a submission runs in place. */
export const handInIndex = maxCalls;

/** Returns the checks' report in place, when they do not all hold: a fresh container is for a result that may pass. Null: it may. */
export async function failingInPlace(
  at: ActScope,
  { step, holds }: Pick<Transcript, 'step' | 'holds'>,
  tree: TreeMark,
): Promise<Acted | null> {
  const checks = at.tools.definitions.some(({ name }) => name === 'run_checks');
  // An answer becomes a file of the workspace only when it is judged.
  if (holds || !checks || asksForAnswer(at.scope.context.task.spec.checks)) return null;
  const call = { id: 'hand-in', name: 'run_checks', arguments: '{}' };
  const seen = await act(at, { call, step, index: handInIndex, tree, resumed: false });
  return seen.holds === false ? seen : null;
}

/**
 * @throws ArgumentError, also for the call that a reply was cut off in: whole arguments prove nothing, as some servers end what they lack
 */
function resolved({ tools }: ActScope, { call, cut }: Call): ReturnType<ToolSet['resolve']> {
  let fault = 'its arguments may end too early';
  try {
    const found = tools.resolve(call.name, call.arguments);
    if (cut === undefined) return found;
  } catch (error) {
    if (cut === undefined || !(error instanceof ArgumentError)) throw error;
    fault = error.message;
  }
  throw new ArgumentError(cutInCall(cut, fault));
}

async function gated(at: ActScope, one: Call, tool: Tool, args: Readonly<Record<string, unknown>>): Promise<Acted> {
  const { scope, gate } = at;
  const context = contextOf(at, one);
  const proposed = (await tool.propose?.(args, context)) ?? nothing;
  const acts = proposed.acts.length > 0;
  // A call that an earlier worker began was allowed then: the keeper gives its result, and runs nothing again.
  if (acts && one.resumed) return settle(at, one, await tool.run(args, context), { approved: true, acts });
  scope.meter.check();
  scope.meter.add('candidates');
  const candidate = candidateOf(context.callKey, tool.definition.name, proposed);
  const verdict = gate.judge(proposed);
  if (!verdict.allowed) return refusal(at, verdict.why.replace(/ \((?:Deny|NeedsApproval)\)$/, ''), verdict.cure);
  const node = { state: context.callKey };
  const { unseen } = await earlierRun(scope, node, candidate);
  const consent = await consentTo(scope, candidate, proposed, verdict, unseen);
  const measured = consent.energy === undefined ? {} : { energy: consent.energy };
  if (!consent.allowed)
    return {
      ...refusal(at, consent.why, acts ? `${plainer(at.tools)}${await partsSaid(at, candidate, verdict, consent)}` : smaller),
      ...measured,
    };
  const { approved } = consent;
  const outside = (proposed.outside ?? []).length > 0;
  const once = outside || (acts && onlyOnce(gate, { acts: proposed.acts, approved, reach: reachOfActs(scope.context) }));
  const identity: ActIdentity = { ...identityOf(scope, node, candidate), once };
  const observed = await tool.run(args, contextOf(at, one, { approved, ...(once && { identity }) }));
  return { ...(await settle(at, one, observed, { approved, acts, candidate, unseen })), ...measured };
}

const nothing: Proposal = { rewrites: [], acts: [] };
/** Lists ways to try after a person or gate 2 refused, as text for the model; names only tools that this task offers. */
function plainer({ definitions }: ToolSet): string {
  const offers = (tool: string): boolean => definitions.some(({ name }) => name === tool);
  const ways = [
    ...(offers('edit_file') ? ['edit_file for files'] : []),
    'paths written out in place of variables and loops',
    ...(offers('bash') ? ['a trial program by the stdin of bash'] : []),
  ];
  return `A plainer way, one act a call: ${ways.join(', ')}; or submit with unreachable, where the goal needs this act.`;
}

/** Ways to try after a person or gate 2 refused an edit, as text for the model. */
const smaller =
  'The lines that an edit adds are scored together, and the same lines get the same score. Make a smaller edit, or leave out what the goal does not need.';

/**
 * Names the commands of a refused line that gate 2 would refuse by themselves: it judges a line as a whole, as commands that are
 * harmless alone may do harm together, and a model cannot see which part it means. Nothing is allowed by this.
 */
async function partsSaid(at: ActScope, candidate: Candidate, verdict: GateVerdict, { why }: Consent): Promise<string> {
  const [part] = [...verdict.review, ...verdict.scored];
  if (!why.startsWith('gate 2') || part === undefined || part.commands.length === 0) return '';
  const refused: string[] = [];
  for (const command of part.commands) {
    const proposal: Proposal = { rewrites: [], acts: [{ tool: 'Shell', command }] };
    const alone = at.gate.judge(proposal);
    const judged = [...alone.review, ...alone.scored];
    const opinions = await Promise.all(judged.map((one) => opinionOf(at.scope, candidate, proposal, one)));
    if (!alone.allowed || opinions.some(({ allowed }) => !allowed)) refused.push(`\`${brief(command)}\``);
  }
  const count = part.commands.length;
  return refused.length === 0
    ? `\nEach of the ${count} commands would pass by itself; what is refused is that they are one line. Make each a call of its own.`
    : `\nOf the ${count} commands these are refused by themselves too: ${refused.join(', ')}. Do without them, and make each of the others a call of its own.`;
}

/** Returns what is known of a proposal before it is chosen: of its first call that the gates judge. */
export async function consider(at: ActScope, proposal: ModelProposal, step: number): Promise<ConsideredProposal> {
  const known = { proposal, refused: false, energy: null, risk: 0 };
  const [call] = proposal.calls;
  if (call === undefined) return known;
  try {
    const { tool, args } = at.tools.resolve(call.name, call.arguments);
    const context = contextOf(at, { step, index: 0 });
    const proposed = await tool.propose?.(args, context);
    if (proposed === undefined) return known;
    const verdict = at.gate.judge(proposed);
    const risk = risks.indexOf(verdict.risk) / (risks.length - 1);
    const part = [...verdict.review, ...verdict.scored][0];
    if (!verdict.allowed) return { ...known, refused: true, why: verdict.why, risk };
    if (part === undefined) return { ...known, risk };
    const candidate = candidateOf(context.callKey, tool.definition.name, proposed);
    const opinion = await opinionOf(at.scope, candidate, proposed, part);
    return {
      ...known,
      refused: !opinion.allowed,
      ...(!opinion.allowed && { why: `gate 2: ${opinion.why}`, byScore: true as const }),
      energy: opinion.energy,
      risk,
    };
  } catch (error) {
    if (error instanceof ArgumentError) return { ...known, refused: true, why: error.message };
    throw error;
  }
}

interface Settling {
  readonly approved: boolean;
  readonly acts: boolean;
  readonly candidate?: Candidate;
  readonly unseen?: number;
}

/** A word of a command that stands for all files of a folder. */
const everywhere = /[\s"'](?:\.\/?|[^\s"']*\*[^\s"']*)(?=[\s"';&|\\]|$)/;

/** Holds what a command left to the rules for edits, and keeps the tree. A tree that may not stand is put back. */
async function settle(at: ActScope, { call, step, tree }: Call, observed: Observation, how: Settling): Promise<Acted> {
  const { scope, baseline, gate } = at;
  const { session } = scope;
  const { entries } = observed.changed === false ? { entries: [] } : await session.diff(tree.id);
  if (entries.length === 0) return { ...observed, changed: false };
  const after = await session.snapshot(`step ${step}`);
  const edited: Acted = { ...observed, changed: true, tree: { id: after.id, digest: after.manifestDigest } };
  if (!how.acts) return edited;
  const named = namedChanges(session, entries, baseline.protectedSet.derived);
  const kept = { ...edited, text: withChanges(observed.text, named) };
  const { refused, byPath, deleted } = await judgeEffects(session, baseline, gate, tree.id, after.id);
  const own = everywhere.test(call.arguments) ? ', on files that you name' : '';
  const instead = byPath ? `The same without that change${own}; what is for a trial only may lie below /tmp.` : plainer(at.tools);
  const back = async (why: string): Promise<Acted> => {
    await session.restore(tree.id);
    scope.meter.add('vetoes');
    return {
      text: `${observed.text}\n[refused and undone, the files are as before this call: ${why}]\nAllowed instead: ${instead}`,
      ok: false,
      refused: why,
      changed: false,
    };
  };
  if (refused !== null) return back(refused);
  if (how.approved || how.candidate === undefined) return kept;
  const why = await deletionRefused(scope, how.candidate, deleted, how.unseen ?? 0);
  return why === null ? kept : back(why);
}

const maxChanges = 8;

/** The result of a command with what it changed, on the last line, which has its end. */
function withChanges(text: string, files: readonly string[]): string {
  if (files.length === 0) return text;
  const more = files.length > maxChanges ? ` and ${files.length - maxChanges} more` : '';
  return text.replace(/\]$/, `; files: ${files.slice(0, maxChanges).join(', ')}${more}]`);
}

/** Reason why a call is not run: an earlier one of the reply handed in, or failed before this one hands in, there are too many, or it is the last turn. */
type LeftOut = 'Submitted' | 'FailedBefore' | 'TooMany' | 'LastTurn';

/**
 * Returns why a call of a reply is not run; null: it is. Work is handed in when all before it was done, or the goal is unreachable.
 *
 * @param before results of the calls before it
 * @param last see `isLastTurn`
 */
export function whyLeftOut(
  { name, arguments: text }: ToolCall,
  index: number,
  before: readonly CallObserved[],
  last: boolean,
): LeftOut | null {
  if (before.some(({ answer }) => answer !== undefined)) return 'Submitted';
  if (last && name !== 'submit') return 'LastTurn';
  if (index >= maxCalls) return 'TooMany';
  // A look at what is not there takes nothing back.
  const looked = ({ tool, look }: CallObserved): boolean => look === true || tool === 'read_file' || tool === 'search';
  const failed = before.some((one) => !one.ok && (one.refused !== undefined || !looked(one)));
  return name === 'submit' && failed && !/"unreachable"\s*:\s*"?true/i.test(text) ? 'FailedBefore' : null;
}

/** Returns the result that the model gets for a call that is not run. */
export function leftOut(why: LeftOut, calls: number): Acted {
  const texts: Readonly<Record<LeftOut, string>> = {
    Submitted: 'Not run: an earlier call of this reply handed the work in.',
    FailedBefore: 'Not run: an earlier call of this reply failed or was refused; submit once that is settled.',
    TooMany: notRun(calls),
    LastTurn: notInLastTurn,
  };
  return { text: texts[why], ok: false };
}

function refusal({ scope }: ActScope, why: string, allowed: string): Acted {
  scope.meter.add('vetoes');
  const instead = allowed === '' ? '' : `\nAllowed instead: ${allowed}`;
  return { text: `refused, nothing was done: ${why}${instead}`, ok: false, refused: why, changed: false };
}

/** Reports whether the keeper knows the first command of a call. */
export async function isBegun({ context }: Scope, conversation: string, call: Pick<Call, 'step' | 'index'>): Promise<boolean> {
  try {
    await context.keeper.waitFor(execIdOf(context, callKeyOf(conversation, call), 0), 0);
    return true;
  } catch (error) {
    if (error instanceof KeeperRefusal && error.code === 'AF_EXEC_UNKNOWN') return false;
    throw error;
  }
}

/** Names a call for ever: the same in all workers and attempts of its conversation. */
export function callKeyOf(conversation: string, { step, index }: Pick<Call, 'step' | 'index'>): string {
  return `${conversation}.${step}.${index}`;
}

function contextOf(
  at: ActScope,
  call: Pick<Call, 'step' | 'index'>,
  { approved = false, identity }: { readonly approved?: boolean; readonly identity?: ActIdentity } = {},
): ToolContext {
  const { scope, prepared, baseline, gate, memory } = at;
  const callKey = callKeyOf(at.conversation, call);
  const execId = (n: number): string => execIdOf(scope.context, callKey, n);
  const handle = memory.reads ? handleOf(call) : null;
  return { scope, prepared, baseline, gate, memory, approved, callKey, execId, handle, ...(identity !== undefined && { identity }) };
}

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** A ULID for the n-th command of a call, which every worker gives it. */
function execIdOf({ task }: AttemptContext, callKey: string, n: number): string {
  const name = `${task.metadata.uid ?? ''} ${callKey} ${n}`;
  const bits = [...createHash('sha256').update(name).digest()].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const first = crockford[Number.parseInt(bits.slice(0, 3), 2)] ?? '0';
  const rest = Array.from({ length: 25 }, (_, n) => crockford[Number.parseInt(bits.slice(3 + n * 5, 8 + n * 5), 2)] ?? '0');
  return first + rest.join('');
}

/** A call as gate 2 and approvals see it. */
function candidateOf(callKey: string, tool: string, { rewrites, acts, outside = [] }: Proposal): Candidate {
  const done = [...acts, ...outside.map((command) => ({ tool: 'Shell' as const, command }))];
  const edits = rewrites.map(({ path, before, after }): Edit => {
    const old = before ?? Buffer.alloc(0);
    const range = { startByte: 0, endByte: old.length };
    return { path, range, before: old.toString('utf8'), after: after.toString('utf8'), expectedSha256: sha256(old) };
  });
  const path = rewrites[0]?.path ?? '';
  return {
    id: `call ${callKey}`,
    rank: 1,
    score: 1,
    edits,
    ...(done.length > 0 && { acts: done }),
    operator: tool,
    rationale: '',
    location: { path, line: 1, column: 0 },
  };
}
