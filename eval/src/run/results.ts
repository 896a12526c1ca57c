/**
 * `results.jsonl`: a first line that describes the run, then a line for each attempt. Only ever appended to, so that a
 * run can be cut off at any moment.
 */
import type { Half, Kind, Language } from '../format/index.ts';
import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { EvalError } from './failure.ts';

/** The record of one task under one variant: a line of `results.jsonl`. */

export const recordFormat = 'agentfleet.dev/eval-record/v1';

/** A tried candidate, and its prediction. */
export interface TriedCandidate {
  readonly result: string;
  readonly operator: string;
  readonly energy: number | null;
  readonly pSuccess: number | null;
  readonly k: number;
}

/** A pool's report of an attempt at a task. */
export interface Attempted {
  /** As in `status.run.outcome`; `Error`: there was no attempt to judge, because of a fault of pool or machine. */
  readonly result: 'Succeeded' | 'Failed' | 'Stopped' | 'Error';
  readonly reason: string;
  /** Class of the failure, if any. */
  readonly class?: string;
  readonly message: string;
  /** Result of the hidden check, at the end. `NotJudged`: the attempt gave nothing to judge, which counts as not correct. */
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
  /** For a chat model; absent where the search for edits worked. */
  readonly conversation?: ConversationCounts;
  /** From the start of a sandbox to the verdict. */
  readonly wallSeconds: number;
  readonly degraded: readonly string[];
}

/** Counts of a conversation with a chat model. */
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

/** Identity of an attempt: the same task, variant, seed and round is done once. */
export interface AttemptKey {
  readonly task: string;
  readonly variant: string;
  readonly seed: number;
  /** From 1; more than one round of the same seed shows flakes. */
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

/** Reports whether the task is solved: the attempt succeeded and the hidden check agrees. */
export const solved = ({ result, hidden }: Pick<Attempted, 'result' | 'hidden'>): boolean => result === 'Succeeded' && hidden === 'Passed';

/** Returns how an attempt with this outcome counts: failures of the infrastructure prove nothing about the agent. */
export function resultOf(outcome: { readonly result: 'Succeeded' | 'Failed' | 'Stopped'; readonly class?: string }): Attempted['result'] {
  return outcome.result === 'Failed' && outcome.class === 'Infrastructure' ? 'Error' : outcome.result;
}

/** Returns a fault of pool or machine as a result: it proves nothing about the agent. */
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

export const headFormat = 'agentfleet.dev/eval-results/v1';

/** Everything that results depend on; two runs are mixed only when all of it is equal. */
export interface ResultsHead {
  readonly format: typeof headFormat;
  readonly pool: string;
  readonly seed: number;
  /** Digest by name. */
  readonly packs: Readonly<Record<string, string>>;
  readonly variants: Readonly<Record<string, string>>;
}

/** A folder of results. */
export interface Results {
  readonly head: ResultsHead;
  /** Identifier that distinguishes it from another run of the same plan; undefined: an older version wrote it. */
  readonly run: string | undefined;
  readonly records: EvalRecord[];
}

const fileName = 'results.jsonl';

function parsed(file: string, line: string, at: number): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch (cause) {
    throw new EvalError(`${file}:${at + 1} is no JSON; take the line out`, { cause });
  }
}

/** The last record of each attempt: one that pool or machine failed may have been made again. */
const latest = (records: readonly EvalRecord[]): EvalRecord[] => [...new Map(records.map((record) => [keyOf(record), record])).values()];

/** Head and records of a folder. A last line that was cut off counts as not there. @throws EvalError naming the line that is wrong */
export async function readResults(folder: string): Promise<Results> {
  const file = join(folder, fileName);
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new EvalError(`there are no results in ${folder}; name a folder that "fleet eval run" wrote`, { cause });
  });
  const [first, ...lines] = text
    .slice(0, text.lastIndexOf('\n') + 1)
    .trimEnd()
    .split('\n');
  const { run, ...head } = parsed(file, first ?? '', 0) as Omit<ResultsHead, 'format'> & { readonly format: string; readonly run?: string };
  if (head.format !== headFormat) throw new EvalError(`${file} has format ${head.format}, not ${headFormat}; start a new run`);
  const validate: ValidateFunction<EvalRecord> = new Ajv({ allErrors: true, allowUnionTypes: true }).compile<EvalRecord>(recordSchema);
  const records = lines
    .filter((line) => line !== '')
    .map((line, at) => {
      const data = parsed(file, line, at + 1);
      if (validate(data)) return data;
      const fault = validate.errors?.[0];
      throw new EvalError(
        `${file}:${at + 2} ${fault?.instancePath ?? ''} ${fault?.message ?? 'is wrong'}; it was written by another version, start a new run`,
      );
    });
  return { head: { ...head, format: headFormat }, run, records: latest(records) };
}

function refuseMix(old: ResultsHead, now: ResultsHead): void {
  const differs = (what: string, cure: string): never => {
    throw new EvalError(`these results cannot be gone on with: ${what}; ${cure}, or name another --out`);
  };
  if (old.pool !== now.pool) differs(`they are of pool ${old.pool}`, `use that`);
  if (old.seed !== now.seed) differs(`they have --seed ${old.seed}`, 'use that');
  for (const kind of ['packs', 'variants'] as const) {
    for (const [name, digest] of Object.entries(now[kind])) {
      const before = old[kind][name];
      if (before !== undefined && before !== digest)
        differs(`${kind === 'packs' ? 'pack' : 'variant'} ${name} has changed since`, 'restore what it was');
      if (before === undefined) differs(`they are without ${kind === 'packs' ? 'pack' : 'variant'} ${name}`, 'leave it out');
    }
  }
}

/** Results that are written now. */
export class ResultsFile implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #records: Map<string, EvalRecord>;
  readonly run: Results['run'];

  private constructor(file: FileHandle, run: Results['run'], records: EvalRecord[]) {
    this.#file = file;
    this.run = run;
    this.#records = new Map(records.map((record) => [keyOf(record), record]));
  }

  get records(): readonly EvalRecord[] {
    return [...this.#records.values()];
  }

  /**
   * Begins results, or with `resume` continues existing ones.
   *
   * @throws EvalError when there are some without `resume`, or when they depend on something else
   */
  static async open(folder: string, head: ResultsHead, resume: boolean): Promise<ResultsFile> {
    await mkdir(folder, { recursive: true });
    const path = join(folder, fileName);
    const text = await readFile(path, 'utf8').catch(() => '');
    if (!text.includes('\n')) {
      const file = await open(path, 'w');
      const run = randomUUID();
      await file.write(`${JSON.stringify({ ...head, run })}\n`);
      return new ResultsFile(file, run, []);
    }
    if (!resume) throw new EvalError(`${path} has results already; add --resume to go on with them, or name another --out`);
    const known = await readResults(folder);
    refuseMix(known.head, head);
    const file = await open(path, 'r+');
    await file.truncate(Buffer.byteLength(text.slice(0, text.lastIndexOf('\n') + 1)));
    await file.close();
    return new ResultsFile(await open(path, 'a'), known.run, known.records);
  }

  /**
   * Reports whether an attempt is done. One that pool or machine failed is not: it proves nothing about the task, and
   * is repeated.
   */
  has(key: AttemptKey): boolean {
    const record = this.#records.get(keyOf(key));
    return record !== undefined && record.result !== 'Error';
  }

  /** Written when this resolves. */
  async add(record: EvalRecord): Promise<void> {
    await this.#file.appendFile(`${JSON.stringify(record)}\n`);
    this.#records.set(keyOf(record), record);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}
