/** What is kept of one task under one variant: a line of `results.jsonl`. */
import type { Half, Kind, Language } from '../format/index.ts';

export const recordFormat = 'agentfleet.dev/eval-record/v1';

/** A candidate that was tried, and what was thought of it before. */
export interface TriedCandidate {
  readonly result: string;
  readonly operator: string;
  readonly energy: number | null;
  readonly pSuccess: number | null;
  readonly k: number;
}

/** What a pool tells of an attempt at a task. */
export interface Attempted {
  /** As `status.run.outcome` says it; `Error`: there was no attempt to judge, for a fault of pool or machine. */
  readonly result: 'Succeeded' | 'Failed' | 'Stopped' | 'Error';
  readonly reason: string;
  /** Of the failure, where there is one. */
  readonly class?: string;
  readonly message: string;
  /** By the hidden check, at the end. `NotJudged`: the attempt gave nothing to judge, which counts as not correct. */
  readonly hidden: 'Passed' | 'Failed' | 'NotJudged';
  readonly tried: readonly TriedCandidate[];
  readonly usage: {
    readonly tokensIn: number;
    readonly tokensOut: number;
    readonly toolCalls: number;
    readonly cpuMillis: number;
    readonly candidates: number;
    readonly vetoes: number;
    readonly backtracks: number;
  };
  /** Of a chat model; absent where the search for edits worked. */
  readonly conversation?: ConversationCounts;
  /** From the start of a sandbox to the verdict. */
  readonly wallSeconds: number;
  readonly degraded: readonly string[];
}

/** How a conversation with a chat model went. */
export interface ConversationCounts {
  /** Replies of the model. */
  readonly steps: number;
  /** Calls that were answered, the refused ones too. */
  readonly calls: number;
  /** Calls that a gate refused. */
  readonly refusals: number;
  /** Times that the tree was put back to an earlier one. */
  readonly undone: number;
  readonly compactions: number;
}

/** Which attempt: the same task, variant, seed and round is done once. */
export interface AttemptKey {
  readonly task: string;
  readonly variant: string;
  readonly seed: number;
  /** From 1; more than one round of the same seed shows what flakes. */
  readonly round: number;
}

export interface EvalRecord extends AttemptKey, Attempted {
  readonly format: typeof recordFormat;
  readonly pack: string;
  readonly packDigest: string;
  readonly variantDigest: string;
  readonly half: Half;
  readonly kind: Kind;
  readonly languages: readonly Language[];
  readonly tags: readonly string[];
}

export const keyOf = ({ task, variant, seed, round }: AttemptKey): string => JSON.stringify([task, variant, seed, round]);

/** Whether the task is solved: the attempt says so and the hidden check agrees. */
export const solved = ({ result, hidden }: Pick<Attempted, 'result' | 'hidden'>): boolean => result === 'Succeeded' && hidden === 'Passed';

/** How an attempt counts that ended so: what the infrastructure failed says nothing about the agent. */
export function resultOf(outcome: { readonly result: 'Succeeded' | 'Failed' | 'Stopped'; readonly class?: string }): Attempted['result'] {
  return outcome.result === 'Failed' && outcome.class === 'Infrastructure' ? 'Error' : outcome.result;
}

/** A fault of pool or machine, told as such: it says nothing about the agent. */
export function notAttempted(error: unknown, wallSeconds: number): Attempted {
  const message = error instanceof Error ? error.message : String(error);
  const usage = { tokensIn: 0, tokensOut: 0, toolCalls: 0, cpuMillis: 0, candidates: 0, vetoes: 0, backtracks: 0 };
  return { result: 'Error', reason: 'NotAttempted', message, hidden: 'NotJudged', tried: [], usage, wallSeconds, degraded: [] };
}

const text = { type: 'string' };
const count = { type: 'integer', minimum: 0 };
const number = { type: 'number' };
const texts = { type: 'array', items: text };
const struct = (properties: Readonly<Record<string, object>>, optional: readonly string[] = []): object => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});
const orNull = { type: ['number', 'null'] };

/** JSON Schema of a record. */
export const recordSchema = struct(
  {
    format: { const: recordFormat },
    task: text,
    variant: text,
    seed: count,
    round: { type: 'integer', minimum: 1 },
    pack: text,
    packDigest: text,
    variantDigest: text,
    half: { enum: ['dev', 'held-out'] },
    kind: text,
    languages: texts,
    tags: texts,
    result: { enum: ['Succeeded', 'Failed', 'Stopped', 'Error'] },
    reason: text,
    class: text,
    message: text,
    hidden: { enum: ['Passed', 'Failed', 'NotJudged'] },
    tried: { type: 'array', items: struct({ result: text, operator: text, energy: orNull, pSuccess: orNull, k: count }) },
    usage: struct({
      tokensIn: count,
      tokensOut: count,
      toolCalls: count,
      cpuMillis: count,
      candidates: count,
      vetoes: count,
      backtracks: count,
    }),
    conversation: struct({ steps: count, calls: count, refusals: count, undone: count, compactions: count }),
    wallSeconds: number,
    degraded: texts,
  },
  ['class', 'conversation'],
);
