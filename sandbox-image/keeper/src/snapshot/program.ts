import { spawn, type ChildProcess } from 'node:child_process';

/** What a call of a program ended with. */
export interface Ended {
  /** `code` is null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: Buffer;
  /** The first 4 KiB. */
  readonly stderr: string;
}

/** One call of a program, while it runs. */
export interface Run {
  /** More of its standard input; not to be changed afterwards. */
  write(bytes: Buffer): void;
  end(): void;
  /** Rejects when it cannot be started, or was cut off. */
  readonly ended: Promise<Ended>;
  /** Ends it, where it is a process, and rejects {@link ended}. */
  cut(why: Error): void;
}

/** Something that can be called with words, as the runner can. */
export interface Program {
  readonly name: string;
  /** `maxOutput`: more bytes than these cut it off with what `tooMuch` makes. */
  start(words: readonly string[], bound?: OutputBound): Run;
}

export interface OutputBound {
  readonly maxOutput: number;
  readonly tooMuch: () => Error;
}

/** Collects what a program writes. */
export class Output {
  readonly #pieces: Buffer[] = [];
  readonly #bound: OutputBound | undefined;
  readonly #cut: (why: Error) => void;
  #bytes = 0;
  #stderr = '';

  constructor(bound: OutputBound | undefined, cut: (why: Error) => void) {
    this.#bound = bound;
    this.#cut = cut;
  }

  add(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bound === undefined || this.#bytes <= this.#bound.maxOutput) this.#pieces.push(piece);
    else this.#cut(this.#bound.tooMuch());
  }

  addError(piece: Buffer): void {
    if (this.#stderr.length < 4096) this.#stderr += piece.toString('utf8').slice(0, 4096 - this.#stderr.length);
  }

  ended(code: number | null): Ended {
    return { code, stdout: Buffer.concat(this.#pieces), stderr: this.#stderr };
  }
}

/** A process for each call. */
export function processEach(binary: string): Program {
  return { name: binary, start: (words, bound) => startProcess(binary, words, bound) };
}

function startProcess(binary: string, words: readonly string[], bound?: OutputBound): Run {
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  const child: ChildProcess = spawn(binary, words, { stdio: ['pipe', 'pipe', 'pipe'], env: {} });
  const cut = (why: Error): void => {
    reject(why);
    child.kill('SIGKILL');
  };
  const output = new Output(bound, cut);
  child.stdout?.on('data', (piece: Buffer) => output.add(piece));
  child.stderr?.on('data', (piece: Buffer) => output.addError(piece));
  // A program that exits early closes its input; the exit status tells why.
  child.stdin?.on('error', () => undefined);
  child.on('error', reject);
  child.on('close', (code) => resolve(output.ended(code)));
  promise.catch(() => undefined);
  return { write: (bytes) => child.stdin?.write(bytes), end: () => child.stdin?.end(), ended: promise, cut };
}

/** Runs a program to its end with `input` as its standard input. Rejects when it does not exit with 0. */
export async function runToEnd(program: Program, words: readonly string[], input: Buffer): Promise<void> {
  const run = program.start(words);
  if (input.length > 0) run.write(input);
  run.end();
  throwUnlessZero(program, words, await run.ended);
}

/** @throws Error with the program's standard error */
export function throwUnlessZero({ name }: Program, words: readonly string[], { code, stderr }: Ended): void {
  if (code !== 0) throw new Error(`${name} ${words[0] ?? ''} ended with ${code ?? 'a signal'}: ${stderr.trim()}`);
}
