import type { PriorRequest, PriorResponse, PriorScore, Edit, FocusFile } from '@agentfleet/protocol/inference';
import { createHash } from 'node:crypto';
import { InferenceError } from '../../base/failure.ts';

/** An edit in UTF-16 units of the file that it belongs to. */
export interface PlacedEdit {
  readonly content: string;
  readonly path: string;
  readonly start: number;
  readonly end: number;
  readonly after: string;
}

/** Finds the places of edits in the files of a request; each file is hashed once. */
export class Places {
  readonly #files: ReadonlyMap<string, { readonly content: string; readonly bytes: Buffer; readonly sha256: string }>;

  constructor(files: readonly FocusFile[]) {
    this.#files = new Map(
      files.map(({ path, content }) => {
        const bytes = Buffer.from(content);
        return [path, { content, bytes, sha256: createHash('sha256').update(bytes).digest('hex') }];
      }),
    );
  }

  /** @throws InferenceError AF_INVALID for an edit that is not of these files; `field` names it */
  place({ path, range, before, after, expectedSha256 }: Edit, field: string): PlacedEdit {
    const refuse = (message: string): InferenceError => new InferenceError('AF_INVALID', `${field}: ${message}`, { field });
    const file = this.#files.get(path);
    if (file === undefined) throw refuse(`${path} is not among the files of the request`);
    if (file.sha256 !== expectedSha256) throw refuse(`${path} has sha256 ${file.sha256}, not ${expectedSha256}`);
    const { startByte, endByte } = range;
    if (endByte < startByte || file.bytes.subarray(startByte, endByte).toString() !== before) {
      throw refuse(`bytes ${startByte}…${endByte} of ${path} are not what "before" says`);
    }
    const start = file.bytes.subarray(0, startByte).toString().length;
    return { content: file.content, path, start, end: start + before.length, after };
  }
}

/** The text around an edit, without and with it. */
interface TextPair {
  readonly before: string;
  readonly after: string;
  /** Common start of both in the file. */
  readonly from: number;
}

/** Lines of context before an edit: at least `near`, at most `near + step − 1`. */
const near = 24;
const step = 24;
/** Bound on that text, for files with long lines. */
const maxBackChars = 4096;
/** More text than a token has on average, so that windows are full. */
const charsPerToken = 12;

/**
 * Cuts a file around an edit. Texts begin at every `step`-th line, so that edits near each other share the evaluation
 * of the lines before them; they end at the same place of the file.
 */
export function textPair({ content, start, end, after }: PlacedEdit, windowTokens: number): TextPair {
  const from = beginning(content, start);
  const until = Math.min(content.length, end + windowTokens * charsPerToken);
  const [head, tail] = [`\n${content.slice(from, start)}`, content.slice(end, until)];
  return { before: head + content.slice(start, end) + tail, after: head + after + tail, from };
}

function beginning(content: string, at: number): number {
  const starts = [0];
  for (let next = content.indexOf('\n'); next !== -1 && next < at; next = content.indexOf('\n', next + 1)) starts.push(next + 1);
  const line = Math.max(0, Math.floor((starts.length - 1 - near) / step) * step);
  const from = starts[line] ?? 0;
  return at - from <= maxBackChars ? from : at - maxBackChars / 2 - (at % (maxBackChars / 2));
}

/** The part of node-llama-cpp 3.22 that this engine calls. The package is in one image only, so its types are declared here. */

export type Token = number;

/** A token to evaluate, and the requested facts about its successor. */
type ControlledInput = readonly [
  Token,
  {
    readonly generateNext: {
      readonly logits: { readonly filter: { readonly tokens: readonly Token[]; readonly includeSelected: true } };
      readonly totalLogitWeight: true;
    };
  },
];

interface ControlledOutput {
  readonly next: {
    readonly logits?: ReadonlyMap<Token, number>;
    /** Sum of exp(logit − greatest logit) over the vocabulary. */
    readonly totalLogitWeight?: number;
  };
}

export interface Sequence {
  readonly nextTokenIndex: number;
  eraseContextTokenRanges(ranges: { start: number; end: number }[]): Promise<void>;
  evaluateWithoutGeneratingNewTokens(tokens: Token[]): Promise<void>;
  controlledEvaluate(input: ControlledInput[]): Promise<(ControlledOutput | undefined)[]>;
  evaluate(tokens: Token[], options: { temperature: 0; topK: 1; grammarEvaluationState: object }): AsyncGenerator<Token, void, void>;
}

export interface Model {
  tokenize(text: string, specialTokens?: boolean): Token[];
  detokenize(tokens: readonly Token[], specialTokens?: boolean): string;
  isEogToken(token: Token): boolean;
  createContext(options: {
    contextSize: number;
    threads: number;
    sequences: number;
    batchSize: number;
  }): Promise<{ getSequence(): Sequence }>;
}

export interface Llama {
  loadModel(options: { modelPath: string; gpuLayers: number }): Promise<Model>;
  createGrammarForJsonSchema(schema: object): Promise<object>;
  dispose(): Promise<void>;
}

interface Library {
  readonly getLlama: (options: { gpu: false; build: 'never'; maxThreads: number; progressLogs: false; logLevel: 'warn' }) => Promise<Llama>;
  readonly LlamaGrammarEvaluationState: new (options: { model: Model; grammar: object }) => object;
}

/**
 * Loads the package. @param specifier of an installed copy; the image has one beside the bundle
 * @throws Error naming the image when there is none
 */
export async function loadLibrary(specifier: string): Promise<Library> {
  try {
    // Never a literal: the bundler would look for a package that most machines do not have.
    return (await import(specifier)) as Library;
  } catch (cause) {
    throw new Error(`engine Llama: cannot load ${specifier}: the image inference-llama has it, with its binary for x64`, { cause });
  }
}

/** Log probabilities of tokens by a sequence of llama.cpp that tracks its tokens; one caller at a time. */
export class SequenceLikelihood {
  readonly #model: Model;
  readonly #sequence: Sequence;
  #held: Token[] = [];
  #evaluated = 0;

  constructor(model: Model, sequence: Sequence) {
    this.#model = model;
    this.#sequence = sequence;
  }

  /** Tokens evaluated since the model was loaded. */
  get evaluated(): number {
    return this.#evaluated;
  }

  /** Texts hold no special tokens, whatever is written in them. */
  tokenize(text: string): readonly Token[] {
    return this.#model.tokenize(text);
  }

  /**
   * ln p of each of `tokens[from … from + count − 1]`, given all before it; nats. `from` is at least 1.
   * Neighbouring calls that share a prefix share its evaluation.
   */
  async logProbs(tokens: readonly Token[], from: number, count: number): Promise<readonly number[]> {
    if (from < 1 || from + count > tokens.length) throw new RangeError(`tokens ${from}…${from + count} of ${tokens.length}`);
    if (count === 0) return [];
    // The token before the first one is evaluated again: its logits are not kept.
    await this.hold(tokens.slice(0, from - 1));
    const fed = tokens.slice(from - 1, from + count - 1);
    const wanted = tokens.slice(from, from + count);
    const outputs = await this.#sequence.controlledEvaluate(fed.map((token, at) => asking(token, wanted[at] ?? 0)));
    this.#held.push(...fed);
    this.#evaluated += fed.length;
    return wanted.map((token, at) => logProb(outputs[at]?.next, token));
  }

  /** Makes the sequence hold exactly these tokens; a common prefix stays. */
  async hold(tokens: readonly Token[]): Promise<void> {
    let common = 0;
    while (common < tokens.length && common < this.#held.length && tokens[common] === this.#held[common]) common += 1;
    if (common < this.#sequence.nextTokenIndex) {
      await this.#sequence.eraseContextTokenRanges([{ start: common, end: this.#sequence.nextTokenIndex }]);
    }
    this.#held = tokens.slice(0, common);
    const missing = tokens.slice(common);
    if (missing.length === 0) return;
    await this.#sequence.evaluateWithoutGeneratingNewTokens(missing);
    this.#held.push(...missing);
    this.#evaluated += missing.length;
  }

  /** Forgets all that was evaluated past it by others. */
  async resync(): Promise<void> {
    const end = this.#sequence.nextTokenIndex;
    if (end > this.#held.length) await this.#sequence.eraseContextTokenRanges([{ start: this.#held.length, end }]);
  }

  /** Forgets evaluated tokens, so that answers do not depend on earlier requests. */
  reset(): Promise<void> {
    return this.hold([]);
  }
}

function asking(token: Token, next: Token): ControlledInput {
  return [token, { generateNext: { logits: { filter: { tokens: [next], includeSelected: true } }, totalLogitWeight: true } }];
}

/** Without sampling the selected token is the greatest, so it must be among the logits. */
function logProb(next: { logits?: ReadonlyMap<Token, number>; totalLogitWeight?: number } | undefined, token: Token): number {
  const own = next?.logits?.get(token);
  if (own === undefined || next?.logits === undefined || next.totalLogitWeight === undefined) {
    throw new Error('llama.cpp returned no logits for a token that was asked for');
  }
  return own - Math.max(...next.logits.values()) - Math.log(next.totalLogitWeight);
}

/** The part that measures need. */
export type Likelihood = Pick<SequenceLikelihood, 'tokenize' | 'logProbs' | 'reset' | 'evaluated'>;

export type Priors = Omit<PriorResponse, 'requestId' | 'modelDigest'>;

/** Bounds of the time, and the clock. */
export interface Limits {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly signal: AbortSignal;
}

/** Candidates that are put in the order of their places, so that one prefix serves its neighbours. */
const group = 16;

/**
 * Returns how much likelier each candidate makes its text: ln p over `windowTokens` tokens from the first one that
 * differs, after minus before. Edits of one candidate are measured separately and added. The first candidates are
 * measured first, in groups; those that the budget cuts off have no figure. Equal requests get equal figures.
 */
export async function prior(request: PriorRequest, likelihood: Likelihood, { now, signal }: Limits): Promise<Priors> {
  const started = now();
  const tokensBefore = likelihood.evaluated;
  const places = new Places(request.files);
  const placed = request.candidates.map(({ edits }, at) =>
    edits.map((edit, which) => places.place(edit, `candidates[${at}].edits[${which}]`)),
  );
  await likelihood.reset();
  const gains = placed.map((): number | null => null);
  const meter = new Meter(likelihood, request.windowTokens);
  for (const at of inGroups(placed)) {
    signal.throwIfAborted();
    if (now() - started >= request.budgetMillis) break;
    gains[at] = await meter.gain(placed[at] ?? []);
  }
  return {
    scores: request.candidates.map(({ id }, at): PriorScore => ({ id, gainNats: gains[at] ?? null })),
    truncated: gains.includes(null),
    tokens: likelihood.evaluated - tokensBefore,
    millis: Math.round(now() - started),
  };
}

/** Indices: group by group as given; inside a group by file and place. */
function inGroups(placed: readonly (readonly PlacedEdit[])[]): readonly number[] {
  const order: number[] = [];
  for (let at = 0; at < placed.length; at += group) {
    const members = placed.slice(at, at + group).map((_, offset) => at + offset);
    order.push(...members.sort((a, b) => compare(placed[a]?.[0], placed[b]?.[0]) || a - b));
  }
  return order;
}

function compare(a: PlacedEdit | undefined, b: PlacedEdit | undefined): number {
  if (a === undefined || b === undefined) return 0;
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.start - b.start;
}

/** Measures edits; the unedited text is measured once per place. */
class Meter {
  readonly #likelihood: Likelihood;
  readonly #window: number;
  readonly #base = new Map<string, readonly number[]>();

  constructor(likelihood: Likelihood, window: number) {
    this.#likelihood = likelihood;
    this.#window = window;
  }

  async gain(edits: readonly PlacedEdit[]): Promise<number> {
    let sum = 0;
    for (const edit of edits) sum += await this.#gainOf(edit);
    return sum;
  }

  async #gainOf(edit: PlacedEdit): Promise<number> {
    const texts = textPair(edit, this.#window);
    if (texts.before === texts.after) return 0;
    const [before, after] = [this.#likelihood.tokenize(texts.before), this.#likelihood.tokenize(texts.after)];
    const from = firstDifference(before, after);
    // Equal numbers of tokens: a text is not likelier for being shorter.
    const count = Math.min(this.#window, before.length - from, after.length - from);
    const base = await this.#baseOf(`${edit.path}:${texts.from}:${from}`, before, from, count);
    const changed = await this.#likelihood.logProbs(after, from, count);
    return total(changed) - total(base.slice(0, count));
  }

  async #baseOf(key: string, tokens: readonly Token[], from: number, count: number): Promise<readonly number[]> {
    const known = this.#base.get(key);
    if (known !== undefined && known.length >= count) return known;
    const measured = await this.#likelihood.logProbs(tokens, from, count);
    this.#base.set(key, measured);
    return measured;
  }
}

/** At least 1: the first token has nothing before it. */
function firstDifference(before: readonly Token[], after: readonly Token[]): number {
  let at = 1;
  while (at < before.length && at < after.length && before[at] === after[at]) at += 1;
  return at;
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
