// train, data: client of the Python process that runs candidate programs. May import inference-image, eval and protocol.
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A program, the function that is called in it, and the arguments of each call as Python. */
export interface Program {
  readonly source: string;
  readonly name: string;
  readonly calls: readonly string[];
}

export interface Run {
  /** One letter per call: P passed, F failed, T did not end. */
  readonly outcomes: string;
  readonly compiles: boolean;
  /** By index of the call: what is wrong, and the line of an exception (0: none). */
  readonly messages: Readonly<Record<string, readonly [string, number]>>;
  /** Lines that each call executed; only when they were asked for. */
  readonly covered: readonly (readonly number[])[];
  readonly complexity: number;
  /** Number of faults that a linter would find in it. */
  readonly lint: number;
  /** [uses of what a module lacks, places that do not parse], as a worker measures them; null: it cannot be known. */
  readonly api: readonly [mismatches: number | null, broken: number | null];
  readonly crashed: boolean;
}

/** Looks beside the outcomes; each costs time. */
export interface Looks {
  readonly trace?: boolean;
  readonly api?: boolean;
}

interface Reply {
  readonly id: number;
  readonly runs?: readonly Partial<Run>[];
  readonly expected?: readonly string[];
}

/** The program that workers run in a sandbox. */
const apiUse = join(import.meta.dirname, '../../agent-image/src/features/python/api_use.py');

/** Programs run in `judge.py`, each in a bounded process of its own. */
export class Judge {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, { resolve: (reply: Reply) => void; reject: (error: Error) => void }>();
  #next = 0;

  constructor() {
    this.#process = spawn('python3', ['-I', join(import.meta.dirname, 'judge.py'), apiUse]);
    createInterface({ input: this.#process.stdout }).on('line', (line) => {
      const reply = JSON.parse(line) as Reply;
      this.#waiting.get(reply.id)?.resolve(reply);
      this.#waiting.delete(reply.id);
    });
    this.#process.stderr.pipe(process.stderr);
    const lost = (): void => {
      for (const { reject } of this.#waiting.values()) reject(new Error('python3 ended; is it installed?'));
      this.#waiting.clear();
    };
    this.#process.on('exit', lost).on('error', lost);
  }

  /** Returns the reference's answers to each call. @throws Error when it does not end or answers no literal */
  async expected(program: Program): Promise<readonly string[]> {
    const { expected } = await this.#ask({ op: 'oracle', ...program });
    if (expected === undefined) throw new Error(`the reference of ${program.name} cannot be used; see above`);
    return expected;
  }

  async run({ source, ...program }: Program, expected: readonly string[], looks: Looks): Promise<Run> {
    const [run] = await this.runAll(program, [source], expected, looks);
    return run as Run;
  }

  /** Runs variants of one program, in their order. */
  async runAll(
    program: Omit<Program, 'source'>,
    sources: readonly string[],
    expected: readonly string[],
    { trace = false, api = false }: Looks = {},
  ): Promise<Run[]> {
    const { runs = [] } = await this.#ask({ op: 'run', ...program, sources, expected, trace, api });
    const outcomes = 'F'.repeat(program.calls.length);
    return sources.map((_, at) => {
      const none: Run = { outcomes, compiles: true, messages: {}, covered: [], complexity: 0, lint: 0, api: [null, null], crashed: false };
      return { ...none, ...runs[at] };
    });
  }

  #ask(request: object): Promise<Reply> {
    const id = this.#next;
    this.#next += 1;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#process.stdin.write(`${JSON.stringify({ id, ...request })}\n`);
    });
  }

  /** Ends the process; it has no children of its own then. */
  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.stdin.end();
    await ended;
  }
}
