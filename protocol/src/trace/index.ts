/**
 * The trace of a task: what a model was sent, what it proposed, and what came of that, as training data. `fleet trace` writes it
 * out of the event log. Imports nothing of the project.
 *
 * JSON Lines. For each task one `TraceHeader`, then a `TraceProposal` for each answer of a model (oldest first; of K answers to
 * one request all K) and a `TraceCandidate` for each edit that a search tried. Members that are not known are left out.
 */
import { Type, type Static } from 'typebox';
import { closed } from '../object.ts';

/** Version of the format. A member may be added within it; a reader ignores those that it does not know. */
export const traceFormat = 'agentfleet.dev/trace/v1';

/** Uses that the trace of a task may be put to, least first. */
export const traceConsents = ['None', 'Internal', 'Training'] as const;
export type TraceConsent = (typeof traceConsents)[number];

/** Reports whether a consent is at least the one that is asked for. */
export function consentCovers(given: TraceConsent, asked: TraceConsent): boolean {
  return traceConsents.indexOf(given) >= traceConsents.indexOf(asked);
}

const described = (description: string) => ({ description });
const text = (description: string) => Type.String(described(description));
const count = (description: string) => Type.Integer({ minimum: 0, description });
const real = (description: string) => Type.Number(described(description));
const nullable = (description: string) => Type.Union([Type.Number(), Type.Null()], described(description));
const open = (description: string) => Type.Record(Type.String(), Type.Unknown(), described(description));

const name = Type.String();
const NamedObject = closed({ namespace: name, name });

const Check = closed({
  name,
  type: text('Command, Artifact or Review'),
  command: Type.Optional(Type.Array(Type.String())),
  path: Type.Optional(text('of the artifact')),
  expect: Type.Optional(text('Pass, FailThenPass or NoRegression, as judged at snapshot 0')),
  failingBefore: Type.Optional(Type.Array(Type.String(), described('ids of tests that failed at snapshot 0'))),
  flaky: Type.Optional(Type.Array(Type.String(), described('ids of tests that fail by chance'))),
  end: Type.Optional(
    closed(
      {
        passed: count('tests'),
        failed: count('tests'),
        skipped: count('tests'),
        newlyPassing: Type.Optional(Type.Array(Type.String(), described('ids of tests; at most 200'))),
        stillFailing: Type.Optional(Type.Array(Type.String(), described('ids of tests; at most 200'))),
      },
      { description: 'last run: in a fresh container where `verified` names a tree, else at snapshot 0' },
    ),
  ),
});

const Attempt = closed({
  attempt: Type.Integer({ minimum: 1 }),
  result: text('Succeeded, Failed or Stopped'),
  reason: text('CamelCase'),
  class: Type.Optional(text('of a failure')),
});

/** First line of a task. */
export const TraceHeader = closed({
  type: Type.Literal('Header'),
  format: Type.Literal(traceFormat),
  task: closed({ namespace: name, name, uid: name }),
  consent: Type.Enum([...traceConsents], described('as the first note of the log has it, written before any work')),
  pool: NamedObject,
  models: Type.Array(
    closed({ name, role: name, engine: name, model: Type.Optional(text('its name at its provider')) }),
    described('experts of the pool'),
  ),
  versions: closed({ keeper: Type.Optional(name) }),
  goal: text('spec.goal'),
  checks: Type.Array(Check),
  tools: Type.Array(
    closed({ name, description: Type.String(), parameters: open('JSON schema') }),
    described('offered with each request, as the first conversation began'),
  ),
  attempts: Type.Array(Attempt, described('that ended, oldest first')),
  outcome: Type.Union([Attempt, Type.Null()], described('the last of them; null: the log has no end')),
  verified: Type.Union([Type.String(), Type.Null()], described('digest of the tree on which all checks held in a fresh container')),
  usage: closed({ input: count('tokens'), cachedInput: count('tokens, of input'), output: count('tokens'), requests: count('answered') }),
  redactions: count('secrets taken out of this trace, beside those that the log never had'),
  log: closed({
    root: text('hash of its last record'),
    records: count('in the log'),
    checked: Type.Enum(
      ['Chain', 'Head'],
      described('Chain: every record by the one before. Head: also the newest by a hash from elsewhere'),
    ),
  }),
});
export type TraceHeader = Static<typeof TraceHeader>;

const Call = closed({ id: name, name, arguments: text('as the model wrote them, which may be no JSON') });

/** One message, as `ConversationMessage` of `protocol/chat`. */
export const TraceMessage = Type.Union([
  closed({ role: Type.Literal('System'), text: Type.String() }),
  closed({ role: Type.Literal('User'), origin: Type.Enum(['Goal', 'Notice', 'Person', 'Summary']), text: Type.String() }),
  closed({ role: Type.Literal('Assistant'), text: Type.String(), calls: Type.Array(Call), providerState: Type.Optional(Type.Unknown()) }),
  closed({ role: Type.Literal('Tool'), callId: name, name, text: Type.String() }),
]);
export type TraceMessage = Static<typeof TraceMessage>;

/**
 * The messages of a request, in order: a new one stands here and gets the next number of its task, from 0 on; earlier ones are
 * named by `[first, last]`. So each message is in the file once.
 */
export const TracePrompt = Type.Array(Type.Union([TraceMessage, Type.Array(Type.Integer({ minimum: 0 }), { minItems: 2, maxItems: 2 })]));
export type TracePrompt = Static<typeof TracePrompt>;

const Act = closed({
  call: count('index in the calls of the reply'),
  tool: name,
  outcome: Type.Enum(['Done', 'Failed', 'Refused', 'NotRun'], described('Refused: by a gate or a person, or undone for what it left')),
  rule: Type.Optional(text('who refused it, and why')),
  energy: Type.Optional(real('by the verifier, lower is better; without a unit')),
  people: Type.Optional(
    Type.Array(closed({ decision: name, why: Type.Optional(Type.String()) }), described('what people decided about it')),
  ),
  observation: text('what the model got to see'),
  holds: Type.Optional(Type.Boolean(described('whether all checks held in place'))),
  tree: Type.Optional(text('digest of the tree after it, where it changed')),
  seconds: Type.Optional(real('wall time; of acts that the gates judge')),
});

/** One answer of a model to one request. */
export const TraceProposal = closed({
  type: Type.Literal('Proposal'),
  id: text('conversation.step.index; unique in its task'),
  attempt: Type.Integer({ minimum: 1 }),
  step: Type.Integer({ minimum: 1, description: 'one for each request' }),
  index: count('among the k answers'),
  k: Type.Integer({ minimum: 1 }),
  at: text('RFC 3339, when the answer was recorded'),
  expert: text('that was asked'),
  prompt: TracePrompt,
  reply: closed({
    text: Type.String(),
    calls: Type.Array(Call),
    finish: Type.Enum(['Stop', 'Calls', 'Length', 'Filter']),
    entropyNats: nullable('mean surprise of its tokens; null: no log probabilities'),
    providerState: Type.Optional(Type.Unknown(described('opaque, of the provider'))),
  }),
  chosen: Type.Boolean(described('whether it was acted on')),
  judged: Type.Optional(
    closed(
      {
        refused: Type.Boolean(),
        why: Type.Optional(text('rule and reason of the gate')),
        energy: nullable('null: nobody measured it'),
        risk: real('by gate 1: 0 reads … 1 cannot be taken back'),
      },
      { description: 'its first call before the choice, where k > 1' },
    ),
  ),
  signals: Type.Optional(
    closed(
      {
        risk: nullable('by the planner, 0…1; null: it has no voice'),
        disagreement: nullable('share of the proposals that do something else, 0…1'),
        margin: nullable('gap of energy to the second best'),
      },
      { description: 'what the choice was based on, of the chosen one' },
    ),
  ),
  acts: Type.Array(Act, described('what came of the calls, of the chosen one')),
  undone: Type.Boolean(described('what it changed is not in the tree any more: undone by the model, or lost')),
  submission: Type.Optional(
    closed({ accepted: Type.Boolean(), why: Type.Optional(Type.String()) }, { description: 'where it handed the work in' }),
  ),
  usage: Type.Union(
    [
      closed({
        input: count('tokens'),
        cachedInput: count('tokens, of input'),
        output: count('tokens'),
        estimated: Type.Boolean(),
        costMicros: nullable('millionths of the currency of the pool; null: no price'),
      }),
      Type.Null(),
    ],
    described('of the whole request, with the first of its answers; null: with another'),
  ),
});
export type TraceProposal = Static<typeof TraceProposal>;

/** One edit that a search tried; it sends no messages. */
export const TraceCandidate = closed({
  type: Type.Literal('Candidate'),
  id: text('digest of the candidate'),
  attempt: Type.Integer({ minimum: 1 }),
  step: count('round of the search'),
  at: text('RFC 3339'),
  operator: text('of the edit'),
  location: text('path:line'),
  state: text('names the tree that it was tried on'),
  decision: text('of gate 1'),
  result: text('see `TrialResult`: Unusable, Denied, Worse, Equal, Better, Reached, NotVerified or Crashed'),
  why: Type.Optional(Type.String()),
  signals: Type.Optional(open('energy, pSuccess, risk, margin, entropyNats and others; see `StepSignals`')),
  facts: Type.Optional(open('tests failing, fixed and in all, seconds and others; see `StepFacts`')),
  edits: Type.Optional(Type.Array(open('path, before, after, range in bytes'))),
  acts: Type.Optional(Type.Array(open('commands after the edits'))),
  accepted: Type.Boolean(described('whether the work went on from it')),
});
export type TraceCandidate = Static<typeof TraceCandidate>;

export type TraceLine = TraceHeader | TraceProposal | TraceCandidate;

/** The messages of each proposal's request, by its id; the lines are those of one task, in order. @throws RangeError for a number that is not there */
export function promptsOf(lines: readonly TraceLine[]): ReadonlyMap<string, readonly TraceMessage[]> {
  const known: TraceMessage[] = [];
  const prompts = new Map<string, readonly TraceMessage[]>();
  for (const line of lines) {
    if (line.type !== 'Proposal') continue;
    const prompt = line.prompt.flatMap((part): readonly TraceMessage[] => {
      if (!Array.isArray(part)) {
        known.push(part);
        return [part];
      }
      const [first = 0, last = 0] = part;
      if (first > last || last >= known.length) throw new RangeError(`${line.id} names messages ${first} to ${last} of ${known.length}`);
      return known.slice(first, last + 1);
    });
    prompts.set(line.id, prompt);
  }
  return prompts;
}
