/** Whether a conversation repeats itself, and what follows: go on, a nudge, the end. Pure. */
import { createHash } from 'node:crypto';
import type { ToolCall } from '@agentfleet/protocol/chat';
import { canonicalJson } from '@agentfleet/protocol/text';
import { jsonIn, learnedScore } from '../base/text.ts';
import type { ModelProposal } from '../models/models.ts';
import { isLoop } from './kept.ts';
import type { CallObserved } from './notes.ts';
import { spoken } from './summary.ts';

/** One call and its outcome. */
export interface CallTrace {
  readonly name: string;
  /** As the model wrote them. */
  readonly arguments: string;
  readonly outcome: 'Done' | 'Failed' | 'Refused' | 'NotRun';
  /** `resultDigest` of what the model got to see. */
  readonly digest: string;
  readonly rule?: string;
  /** It waited for a person, or for something that still runs. */
  readonly waited?: boolean;
}

/** Cause that ended a reply before a call: its bound of output tokens, or a filter of the provider. */
type Cut = { readonly by: 'Length'; readonly tokens: number; readonly repeats?: true } | { readonly by: 'Filter' };

/** One reply of the model, and what became of it. */
export interface StepTrace {
  readonly calls: readonly CallTrace[];
  /** Absent: it has a call, or the model ended it by itself. */
  readonly cut?: Cut;
  /** Of one without a call: what its words miss. */
  readonly remark?: string;
  /** Time at which it ended, ms of the wall clock. */
  readonly at: number;
}

/** Decision after the last step. `text` goes to the model as a notice. After a LastTurn only `submit` is run, and then comes the end. */
export type Assessment =
  | { readonly kind: 'Continue'; readonly text: string | null }
  | { readonly kind: 'Nudge' | 'Reassess' | 'LastTurn'; readonly text: string }
  /** The attempt ends: `class` is that of the failure, `reason` its reason. */
  | {
      readonly kind: 'End';
      readonly class: 'Stuck' | 'PolicyViolation';
      readonly reason: 'RepeatedCall' | 'RepeatedError' | 'NoAct' | 'Alternation' | 'RefusedRepeatedly';
      readonly text: string;
    };

/** Bounds of a conversation's repetitions, in steps. */
export const bounds = {
  sameCall: 4,
  sameError: 3,
  noAct: 3,
  alternation: 6,
  /** Refusals by one rule among the last `refusalWindow` steps, after which only `submit` is left; twice as many where only a score objects. */
  refusals: 6,
  refusalWindow: 30,
  /** Steps without a repetition after which an earlier one is forgotten. */
  calm: 12,
  /** Time for which waits are no repetition, ms. */
  waitMs: 3_600_000,
};
type Repetitions = Pick<typeof bounds, 'sameCall' | 'sameError' | 'noAct' | 'alternation'>;

/** Most calls of one reply that are done. */
export const maxCalls = 16;

/** Returns the text that the model gets for a call beyond `maxCalls`. */
export function notRun(calls: number): string {
  return `Not run: the reply had ${calls} calls, and at most ${maxCalls} of one reply are run. Look at the results of those before you call more.`;
}

type Pattern = 'RepeatedCall' | 'RepeatedError' | 'NoAct' | 'Alternation';
interface Keyed extends StepTrace {
  readonly same: string;
  readonly exact: string;
}

interface Found {
  readonly pattern: Pattern;
  readonly count: number;
  readonly what: string;
  /** Cause that ended each of the replies, of those without a call. */
  readonly cut?: Cut;
}

/**
 * Judges the conversation after its last step: goes on, nudges, asks for a reassessment, or ends it. A pattern that comes again
 * after a nudge about it counts from half its bound on. Pure: the same steps get the same judgement in every worker.
 *
 * @param now ms of the wall clock
 */
export function assess(steps: readonly StepTrace[], now: number): Assessment {
  const refused = assessRefusals(steps);
  if (refused !== null && refused.kind !== 'Nudge') return refused;
  const repeated = assessRepetitions(steps, now);
  return refused === null || repeated.kind === 'Reassess' || repeated.kind === 'End' ? repeated : refused;
}

function assessRepetitions(steps: readonly StepTrace[], now: number): Assessment {
  const keyed = steps.map((step): Keyed => ({ ...step, ...keysOf(step) }));
  let level = 0;
  let since = 0;
  let limits: Repetitions = bounds;
  let found: Found | null = null;
  for (let end = 1; end <= steps.length; end += 1) {
    if (level > 0 && end - since > bounds.calm) [level, limits] = [0, bounds];
    found = repetition(keyed.slice(since, end), end === steps.length ? now : (steps[end - 1]?.at ?? now), limits);
    if (found === null) continue;
    level += 1;
    since = end;
    const bound = boundOf[found.pattern];
    limits = { ...limits, [bound]: halved[bound] };
  }
  const last = steps.at(-1);
  const cure = last?.cut === undefined ? noCall(last?.remark) : cutOff(last.cut);
  if (found === null) return { kind: 'Continue', text: last?.calls.length === 0 ? cure : null };
  // A notice counts from the one before on, the end what came before them too.
  const whole = level > 2 || found.cut !== undefined ? repetition(keyed, now, halved) : null;
  return intervention(level, { ...found, count: whole?.cut?.by === found.cut?.by ? (whole?.count ?? found.count) : found.count }, cure);
}

/** Returns the cause that ended a reply before a call, as its trace has it. @param tokens the bound of its output */
export function cutOf({ finish, calls, text }: Ended, tokens: number): Pick<StepTrace, 'cut'> {
  if (calls.length > 0 || finish === 'Stop' || finish === 'Calls') return {};
  const repeats = isLoop(text) ? { repeats: true as const } : {};
  return { cut: finish === 'Length' ? { by: finish, tokens, ...repeats } : { by: finish } };
}

/** The part of a reply that says how it ended. */
type Ended = Pick<ModelProposal, 'finish' | 'calls' | 'text'>;

/** Words by which a reply claims that the work is done. */
const claim = /\b(?:done|fixed|finished|completed?|implemented|solved|repaired|works? now|pass(?:es)? now)\b/i;

/** Returns what the words of a reply without a call miss, as its trace has it. */
export function remarkOn(
  { calls, text }: Ended,
  { asksPeople, changed }: { readonly asksPeople: boolean; readonly changed: boolean },
): Pick<StepTrace, 'remark'> {
  if (calls.length > 0) return {};
  if (/^\{?\s*\}?$/.test(spoken(text))) return { remark: 'It was empty, or thought alone.' };
  if (isLoop(text)) return { remark: 'It repeated itself: do not take it up again.' };
  if (/\?\W*$/.test(text.trimEnd()))
    return {
      remark: `Nobody answers questions in it: ${asksPeople ? 'ask by ask_human, or ' : ''}decide by yourself, and say so at the end.`,
    };
  return !changed && claim.test(text) ? { remark: 'No file has been changed yet.' } : {};
}

/** Digest of a result that is equal for results which differ only in times, durations and addresses. */
export function resultDigest(text: string): string {
  const steady = text
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?Z?|\d\d:\d\d:\d\d(?:[.,]\d+)?/g, '#')
    .replaceAll(/\b\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds?|µs|us)\b/g, '#')
    .replaceAll(/\b0x[0-9a-f]+\b/gi, '#')
    .replaceAll(/\bpid[ :=]*\d+/gi, '#');
  return createHash('sha256').update(steady).digest('hex').slice(0, 24);
}

/** Returns a call with what became of it, as its trace has it. */
export function traceOf({ name, arguments: text }: ToolCall, observed: CallObserved | undefined): CallTrace {
  const outcome =
    observed === undefined || observed.notRun === true
      ? 'NotRun'
      : observed.refused !== undefined
        ? 'Refused'
        : observed.ok
          ? 'Done'
          : 'Failed';
  return {
    name,
    arguments: text,
    outcome,
    digest: resultDigest(observed?.text ?? ''),
    ...(observed?.refused !== undefined && { rule: ruleOf(observed.refused) }),
    ...((name === 'ask_human' || (observed?.process !== undefined && observed.ok)) && { waited: true }),
  };
}

/** The rule of a refusal, without what it was applied to. */
function ruleOf(refused: string): string {
  const rule = refused.split(/[:(]/).slice(0, 2).join(':').trim().slice(0, 80);
  return refused.includes(learnedScore) ? `${rule}, ${learnedScore}` : rule;
}

const half = (count: number): number => Math.max(2, Math.ceil(count / 2));

/** Bounds of a pattern that comes again. */
const halved: Repetitions = {
  sameCall: half(bounds.sameCall),
  sameError: half(bounds.sameError),
  noAct: half(bounds.noAct),
  alternation: Math.max(4, half(bounds.alternation)),
};

const boundOf = { RepeatedCall: 'sameCall', RepeatedError: 'sameError', NoAct: 'noAct', Alternation: 'alternation' } as const;

/** The repetition that the last of these steps completes. */
function repetition(steps: readonly Keyed[], now: number, { sameCall, sameError, noAct, alternation }: Repetitions): Found | null {
  const last = steps.at(-1);
  if (last === undefined) return null;
  if (last.calls.length === 0) {
    const count = runLength(steps, (step) => step.calls.length === 0);
    const { cut } = last;
    const same = cut !== undefined && steps.slice(-count).every((step) => step.cut?.by === cut.by);
    return count >= noAct ? { pattern: 'NoAct', count, what: 'replies without a call', ...(same && { cut }) } : null;
  }
  if (isWait(steps, now)) return null;
  const what = last.calls
    .map(({ name, arguments: text }) => `${name} ${text.slice(0, 120)}`)
    .join('; ')
    .slice(0, 300);
  const failed = last.calls.every(({ outcome }) => outcome === 'Failed');
  const errors = failed ? runLength(steps, (step) => step.same === last.same && step.calls.every((c) => c.outcome === 'Failed')) : 0;
  if (errors >= sameError) return { pattern: 'RepeatedError', count: errors, what };
  const same = runLength(steps, (step) => step.exact === last.exact);
  if (same >= sameCall) return { pattern: 'RepeatedCall', count: same, what };
  const turns = alternationLength(steps);
  return turns >= alternation ? { pattern: 'Alternation', count: turns, what } : null;
}

function runLength(steps: readonly Keyed[], holds: (step: Keyed) => boolean): number {
  const other = steps.findLastIndex((step) => !holds(step));
  return steps.length - 1 - other;
}

/** Steps at the end that go to and fro between two: A B A B …; 0 when the last two are equal. */
function alternationLength(steps: readonly Keyed[]): number {
  const last = steps.length - 1;
  if (last < 1 || steps[last]?.exact === steps[last - 1]?.exact) return 0;
  let length = 2;
  while (length <= last && steps[last - length]?.exact === steps[last - length + 2]?.exact) length += 1;
  return length;
}

/** A wait is no repetition, as long as it does not take all day. */
function isWait(steps: readonly Keyed[], now: number): boolean {
  const waits = (step: StepTrace): boolean => step.calls.length > 0 && step.calls.every(({ waited }) => waited === true);
  const count = runLength(steps, waits);
  const first = steps.at(-count);
  return count > 0 && first !== undefined && now - first.at <= bounds.waitMs;
}

function keysOf({ calls }: StepTrace): Pick<Keyed, 'same' | 'exact'> {
  const same = JSON.stringify(calls.map(({ name, arguments: text }) => [name, canonical(text)]));
  return { same, exact: `${same} ${calls.map(({ digest }) => digest).join(' ')}` };
}

/** JSON without its white space and order of members; what is no JSON as it is. */
function canonical(text: string): string {
  const value = jsonIn(text);
  return value === undefined ? text.trim() : canonicalJson(value);
}

interface Refusals {
  readonly rule: string;
  readonly count: number;
  readonly most: number;
}

/** The rule of the last step's refusals that has the fewest left among the steps of the window; null: nothing was refused in it. */
function refusalsOf(steps: readonly StepTrace[]): Refusals | null {
  const rulesOf = (step: StepTrace): readonly string[] =>
    step.calls.flatMap(({ outcome, rule }) => (outcome === 'Refused' ? [rule ?? 'a gate'] : []));
  // Several calls of one reply are one try: it was written before the first refusal was seen.
  const counted = steps.slice(-bounds.refusalWindow).map((step) => new Set(rulesOf(step)));
  const found = [...(counted.at(-1) ?? [])].map((rule): Refusals => {
    const most = rule.endsWith(learnedScore) ? 2 * bounds.refusals : bounds.refusals;
    return { rule, count: counted.filter((rules) => rules.has(rule)).length, most };
  });
  return found.toSorted((one, other) => one.most - one.count - (other.most - other.count))[0] ?? null;
}

/** Reports whether the reply after these steps is a last turn, in which only `submit` is run: a rule has refused its bound of calls. */
export function isLastTurn(steps: readonly StepTrace[]): boolean {
  const refusals = refusalsOf(steps);
  return refusals !== null && refusals.count >= refusals.most;
}

/** Refusals by one rule: from half the bound on they are counted down, at the bound comes a last turn, and then the end. */
function assessRefusals(steps: readonly StepTrace[]): Assessment | null {
  const spent = isLastTurn(steps.slice(0, -1)) ? refusalsOf(steps.slice(0, -1)) : null;
  if (spent !== null) {
    const text = `rule ${spent.rule} refused ${spent.count} of the last calls, and the last turn after them handed in nothing that holds; the model did not choose another way. If the task needs such acts, allow them in spec.policy, or say in the goal how to do without`;
    return { kind: 'End', class: 'PolicyViolation', reason: 'RefusedRepeatedly', text };
  }
  const now = refusalsOf(steps);
  if (now === null || now.count < now.most / 2) return null;
  const has = `Rule ${now.rule} has refused ${now.count} of your recent calls`;
  if (now.count >= now.most) return { kind: 'LastTurn', text: `${has}. ${lastTurn}` };
  const left = `After ${now.most - now.count} more of them only submit is left.`;
  if (now.count > now.most / 2) return { kind: 'Nudge', text: `${has}. ${left}` };
  const again =
    now.most === bounds.refusals ? ', and will refuse such acts again, in any wording' : '; smaller acts may pass, the same ones will not';
  const way = 'Choose a way that does not need this act, or submit with unreachable and say what cannot be done without it.';
  return { kind: 'Nudge', text: `${has}${again}. ${left} ${way}` };
}

const lastTurn =
  'This is your last turn, and only submit is run in it: call it alone, with what is done and what is missing. The task succeeds if its checks hold, and ends in any case.';

/** Returns the text that the model gets for a call of a last turn that is not `submit`. */
export const notInLastTurn = 'Not run: in the last turn only submit is.';

const goOn = 'when the goal is reached, or cannot be, call submit with your account.';
const noCall = (remark?: string): string =>
  `Your reply had no tool call, so that nothing was done; commands in its text are not run.${remark === undefined ? '' : ` ${remark}`} Call a tool to go on; ${goOn}`;

/** Returns the text that the model gets about a reply that was ended before it had a call. */
function cutOff(cut: Cut): string {
  if (cut.by === 'Length' && cut.repeats === true)
    return `Your reply repeated itself until it was cut off at ${cut.tokens} tokens, before a tool call, so that nothing was done. Do not take it up again: call a tool at once, with short arguments; ${goOn}`;
  return cut.by === 'Length'
    ? `Your reply was cut off at ${cut.tokens} tokens, before a tool call, so that nothing was done. Think less before you act, and take a smaller step: call a tool soon, and write long texts in several calls; ${goOn}`
    : `A filter of the provider ended your reply before a tool call, so that nothing was done. Go on in other words or in another way, by calling a tool; ${goOn}`;
}

/** Returns the text that the model gets about a call in which its reply was cut off. @param fault of its arguments */
export function cutInCall(tokens: number, fault: string): string {
  return `Not run: your reply was cut off at ${tokens} tokens, in the middle of this call. Think less before you call, and go on in smaller pieces: write a long text in several calls, each with a part of it. (${fault})`;
}

const seen: Readonly<Record<Pattern, (found: Found) => string>> = {
  RepeatedCall: ({ count, what }) => `the same call with the same result ${count} times in a row (${what})`,
  RepeatedError: ({ count, what }) => `the same call failed ${count} times in a row (${what})`,
  NoAct: ({ count, cut }) => {
    if (cut?.by === 'Length') return `${count} replies in a row were cut off at ${cut.tokens} tokens, before a tool call`;
    if (cut?.by === 'Filter') return `a filter of the provider ended ${count} replies in a row before a tool call`;
    return `${count} replies in a row without a tool call`;
  },
  Alternation: ({ count, what }) => `${count} steps that go to and fro between two calls with the same results (last: ${what})`,
};

/** Remedies for the end that the author of the task, or of the pool, can apply. */
const remedies = {
  Length: 'raise maxOutputTokens of the model in its pool, let it reason less, or make the goal smaller',
  Filter: 'word the goal in another way, or use another model',
  Usual: 'make the goal more precise, or use a stronger model',
} as const;

/** @param cure of a reply without a call */
function intervention(level: number, found: Found, cure: string): Assessment {
  const what = seen[found.pattern](found);
  if (level === 1) {
    const other =
      'Repeating it will not change the result. Do something else: read the message again, look at the cause, or try another way.';
    return { kind: 'Nudge', text: `Notice: ${what}. ${found.pattern === 'NoAct' ? cure : other}` };
  }
  if (level === 2) {
    // A reply that was cut off has no room for more words.
    const text =
      found.cut === undefined
        ? `Notice: still no progress: ${what}. Stop and reassess. In your next reply write first what you have learned, what you assumed and did not check, and two other ways to the goal; then take the more promising one with a call that you have not made yet. If there is none, call submit with unreachable and say what is missing.`
        : `Notice: still no progress: ${what}. ${cure} If there is no way, call submit with unreachable and say what is missing.`;
    return { kind: 'Reassess', text };
  }
  const text = `${what}, after a notice and a reassessment; ${remedies[found.cut?.by ?? 'Usual']}`;
  return { kind: 'End', class: 'Stuck', reason: found.pattern, text };
}
