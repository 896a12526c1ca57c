/** `results.jsonl`: a first line that says what is run, then a line for each attempt. Only ever appended to, so that a run can be cut off at any moment. */
import { mkdir, open, readFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { EvalError } from '../failure.ts';
import { keyOf, recordSchema, type AttemptKey, type EvalRecord } from './record.ts';

export const headFormat = 'agentfleet.dev/eval-results/v1';

/** What results depend on; two runs are mixed only when all of it is equal. */
export interface ResultsHead {
  readonly format: typeof headFormat;
  readonly pool: string;
  readonly seed: number;
  /** Digest by name. */
  readonly packs: Readonly<Record<string, string>>;
  readonly variants: Readonly<Record<string, string>>;
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
export async function readResults(folder: string): Promise<{ head: ResultsHead; records: EvalRecord[] }> {
  const file = join(folder, fileName);
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new EvalError(`there are no results in ${folder}; name a folder that "fleet eval run" wrote`, { cause });
  });
  const [first, ...lines] = text
    .slice(0, text.lastIndexOf('\n') + 1)
    .trimEnd()
    .split('\n');
  const head = parsed(file, first ?? '', 0) as Omit<ResultsHead, 'format'> & { readonly format: string };
  if (head.format !== headFormat) throw new EvalError(`${file} has format ${head.format}, not ${headFormat}; run anew`);
  const validate: ValidateFunction<EvalRecord> = new Ajv({ allErrors: true, allowUnionTypes: true }).compile<EvalRecord>(recordSchema);
  const records = lines
    .filter((line) => line !== '')
    .map((line, at) => {
      const data = parsed(file, line, at + 1);
      if (validate(data)) return data;
      const fault = validate.errors?.[0];
      throw new EvalError(
        `${file}:${at + 2} ${fault?.instancePath ?? ''} ${fault?.message ?? 'is wrong'}; it was written by another version, run anew`,
      );
    });
  return { head: { ...head, format: headFormat }, records: latest(records) };
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

  private constructor(file: FileHandle, records: EvalRecord[]) {
    this.#file = file;
    this.#records = new Map(records.map((record) => [keyOf(record), record]));
  }

  get records(): readonly EvalRecord[] {
    return [...this.#records.values()];
  }

  /**
   * Begins results, or with `resume` goes on with those that are there.
   *
   * @throws EvalError when there are some and `resume` is not asked for, or when they depend on something else
   */
  static async open(folder: string, head: ResultsHead, resume: boolean): Promise<ResultsFile> {
    await mkdir(folder, { recursive: true });
    const path = join(folder, fileName);
    const text = await readFile(path, 'utf8').catch(() => '');
    if (!text.includes('\n')) {
      const file = await open(path, 'w');
      await file.write(`${JSON.stringify(head)}\n`);
      return new ResultsFile(file, []);
    }
    if (!resume) throw new EvalError(`${path} has results already; add --resume to go on with them, or name another --out`);
    const known = await readResults(folder);
    refuseMix(known.head, head);
    const file = await open(path, 'r+');
    await file.truncate(Buffer.byteLength(text.slice(0, text.lastIndexOf('\n') + 1)));
    await file.close();
    return new ResultsFile(await open(path, 'a'), known.records);
  }

  /** Whether an attempt is made. One that pool or machine failed is not: it says nothing about the task, and is made again. */
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
