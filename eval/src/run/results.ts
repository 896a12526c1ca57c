/**
 * `results.jsonl`: a first line that describes the run, then a line for each attempt. Only ever appended to, so that a
 * run can be cut off at any moment.
 */
import { halves, type Kind, type Language, type Read } from '../format/index.ts';
import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { Type, type Static } from 'typebox';
import { EvalError } from './failure.ts';

/** The record of one task under one variant: a line of `results.jsonl`. */
export const recordFormat = 'agentfleet.dev/eval-record/v1';

const exactly = { additionalProperties: false } as const;
const text = Type.String();
const count = Type.Integer({ minimum: 0 });
const known = Type.Unsafe<number | null>({ type: ['number', 'null'] });

/** A tried candidate, and its prediction. */
const Tried = Type.Object({ result: text, operator: text, energy: known, pSuccess: known, k: count }, exactly);
export type TriedCandidate = Read<Static<typeof Tried>>;

/** Counts of a conversation with a chat model. */
const Conversation = Type.Object(
  {
    /** Replies of the model. */
    steps: count,
    /** Calls that were answered, the refused ones too. */
    calls: count,
    /** Calls that a gate refused. */
    refusals: count,
    /** Times that the tree was put back to an earlier one. */
    undone: count,
    compactions: count,
  },
  exactly,
);
export type ConversationCounts = Read<Static<typeof Conversation>>;

const Usage = Type.Object(
  { tokensIn: count, tokensOut: count, toolCalls: count, cpuMillis: count, candidates: count, vetoes: count, backtracks: count },
  exactly,
);

const EvalRecord = Type.Object(
  {
    format: Type.Literal(recordFormat),
    task: text,
    variant: text,
    seed: count,
    /** From 1; more than one round of the same seed shows flakes. */
    round: Type.Integer({ minimum: 1 }),
    pack: text,
    packDigest: text,
    variantDigest: text,
    half: Type.Enum([...halves]),
    kind: Type.Unsafe<Kind>(text),
    languages: Type.Array(Type.Unsafe<Language>(text)),
    tags: Type.Array(text),
    /** As in `status.run.outcome`; `Error`: there was no attempt to judge, because of a fault of pool or machine. */
    result: Type.Enum(['Succeeded', 'Failed', 'Stopped', 'Error']),
    reason: text,
    /** Class of the failure, if any. */
    class: Type.Optional(text),
    message: text,
    /** Result of the hidden check, at the end. `NotJudged`: the attempt gave nothing to judge, which counts as not correct. */
    hidden: Type.Enum(['Passed', 'Failed', 'NotJudged']),
    tried: Type.Array(Tried),
    usage: Usage,
    /** For a chat model; absent where the search for edits worked. */
    conversation: Type.Optional(Conversation),
    /** From the start of a sandbox to the verdict. */
    wallSeconds: Type.Number(),
    degraded: Type.Array(text),
  },
  exactly,
);
export type EvalRecord = Read<Static<typeof EvalRecord>>;

/** Identity of an attempt: the same task, variant, seed and round is done once. */
export type AttemptKey = Pick<EvalRecord, 'task' | 'variant' | 'seed' | 'round'>;

/** A pool's report of an attempt at a task. */
export type Attempted = Pick<
  EvalRecord,
  'result' | 'reason' | 'class' | 'message' | 'hidden' | 'tried' | 'usage' | 'conversation' | 'wallSeconds' | 'degraded'
>;

export const keyOf = ({ task, variant, seed, round }: AttemptKey): string => JSON.stringify([task, variant, seed, round]);

/** Reports whether the task is solved: the attempt succeeded and the hidden check agrees. */
export const solved = ({ result, hidden }: Pick<Attempted, 'result' | 'hidden'>): boolean => result === 'Succeeded' && hidden === 'Passed';

/** Returns how an attempt with this outcome counts: failures of the infrastructure prove nothing about the agent. */
export function resultOf(outcome: { readonly result: 'Succeeded' | 'Failed' | 'Stopped'; readonly class?: string }): Attempted['result'] {
  return outcome.result === 'Failed' && outcome.class === 'Infrastructure' ? 'Error' : outcome.result;
}

/** The counts of an attempt; 0 for those that nothing is known of. */
export function usageOf(used: Partial<Attempted['usage']> = {}): Attempted['usage'] {
  const names = Object.keys(Usage.properties) as (keyof Attempted['usage'])[];
  return Object.fromEntries(names.map((name) => [name, used[name] ?? 0])) as Attempted['usage'];
}

/** Returns a fault of pool or machine as a result: it proves nothing about the agent. */
export function notAttempted(error: unknown, wallSeconds: number): Attempted {
  const message = error instanceof Error ? error.message : String(error);
  return { result: 'Error', reason: 'NotAttempted', message, hidden: 'NotJudged', tried: [], usage: usageOf(), wallSeconds, degraded: [] };
}

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
  const validate = new Ajv({ allErrors: true, allowUnionTypes: true }).compile<EvalRecord>(EvalRecord);
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
