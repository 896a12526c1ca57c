import type { PackTask } from '../format/index.ts';
import type { Attempted } from './record.ts';
import type { Variant } from './variant.ts';

/** What an attempt may use. Commands are counted, so that a busy machine gives the same results as an idle one. */
export interface AttemptBudget {
  readonly toolCalls: number;
  readonly wallSeconds: number;
}

/** A chat model that does the tasks, in place of the search for edits. */
export interface ModelOptions {
  /** Base URL of a server of the OpenAI chat API, as http://localhost:11434/v1. */
  readonly endpoint?: string;
  /** Folder of recorded conversations that are played, in place of an endpoint. */
  readonly recordings?: string;
  /** The recorded answers are given again although prompts may differ, and the conversations that come of it are kept. */
  readonly again?: boolean;
  /** Its name at the endpoint. */
  readonly model: string;
  /** Variable of the environment that holds the key of the endpoint. */
  readonly keyEnv?: string;
  /** Of a request with its answer. */
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  /** Json: the model has no tool calls and answers with one JSON object. */
  readonly toolCalls: 'Native' | 'Json';
  /** Of one request. */
  readonly timeoutSeconds: number;
}

export const defaultBudget: AttemptBudget = { toolCalls: 150, wallSeconds: 600 };

export interface AttemptOptions {
  readonly seed: number;
  readonly round: number;
  readonly signal: AbortSignal;
}

/** Where tasks are attempted: processes of this machine, or a pool of a cluster. */
export interface EvalPool extends AsyncDisposable {
  /** `local`, or namespace/name. */
  readonly name: string;
  /** What results under a variant depend on beside task and seed: programs, weights, settings. */
  digest(variant: Variant): Promise<string>;
  /** Never rejects but for the signal: what fails is told as a result. */
  attempt(task: PackTask, variant: Variant, options: AttemptOptions): Promise<Attempted>;
}
