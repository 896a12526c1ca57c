// sandbox-image/keeper, snapshot/base: calls of the runner program, one process each or shared. May import protocol alone.
import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

interface Ended {
  /** `code` is null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: Buffer;
  /** The first 4 KiB. */
  readonly stderr: string;
}

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
  /** `maxOutput`: more bytes than these end the call with the error of `tooMuch`. */
  start(words: readonly string[], bound?: OutputBound): Run;
}

interface OutputBound {
  readonly maxOutput: number;
  readonly tooMuch: () => Error;
}

class Output {
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
  // A program that exits early closes its input; the exit status has the reason.
  child.stdin?.on('error', () => undefined);
  child.on('error', reject);
  child.on('close', (code) => resolve(output.ended(code)));
  promise.catch(() => undefined);
  return { write: (bytes) => child.stdin?.write(bytes), end: () => child.stdin?.end(), ended: promise, cut };
}

/** Runs a program to its end with `input` as its standard input; returns its output. Rejects when it does not exit with 0. */
export async function runToEnd(program: Program, words: readonly string[], input: Buffer): Promise<Buffer> {
  const run = program.start(words);
  if (input.length > 0) run.write(input);
  run.end();
  const ended = await run.ended;
  throwUnlessZero(program, words, ended);
  return ended.stdout;
}

/** @throws Error with the program's standard error */
export function throwUnlessZero({ name }: Program, words: readonly string[], { code, stderr }: Ended): void {
  if (code !== 0) throw new Error(`${name} ${words[0] ?? ''} ended with ${code ?? 'a signal'}: ${stderr.trim()}`);
}

const REQUEST_HEAD = 8;
const ANSWER_HEAD = 9;
const [OUTPUT, ERROR, END] = [0, 1, 2] as const;

/** After so long without a call the process gives its memory back. */
const IDLE_MS = 30_000;

/**
 * A {@link Program} whose calls go to one `<binary> files`, which is started with the first and ends when idle.
 * Starting a process takes longer than most calls. When it dies during calls, each is repeated by a separate process:
 * all calls are idempotent.
 */
export function lastingProgram(binary: string, idleMs: number = IDLE_MS): Program {
  const each = processEach(binary);
  let server: Server | null = null;
  return {
    name: binary,
    start: (words, bound) => {
      if (server === null || server.isGone) server = new Server(binary, idleMs);
      return new LastingRun(server, each, words, bound);
    },
  };
}

class Server {
  readonly #calls = new Map<number, LastingRun>();
  readonly #child: ChildProcess;
  readonly #idleMs: number;
  /** Head of the answer that is being read, and the bytes of its body still missing. */
  #head: Buffer = Buffer.alloc(0);
  #left = 0;
  #next = 0;
  #idle: NodeJS.Timeout | undefined;
  isGone = false;

  constructor(binary: string, idleMs: number) {
    this.#idleMs = idleMs;
    this.#child = spawn(binary, ['files'], { stdio: ['pipe', 'pipe', 'ignore'], env: {} });
    this.#child.stdout?.on('data', (piece: Buffer) => this.#read(piece));
    this.#child.stdin?.on('error', () => this.#end());
    this.#child.on('error', () => this.#end());
    this.#child.on('close', () => this.#end());
  }

  open(run: LastingRun, words: readonly string[]): number {
    const call = ++this.#next;
    clearTimeout(this.#idle);
    this.#hold(true);
    this.#calls.set(call, run);
    this.send(call, Buffer.from(words.join('\0'), 'utf8'));
    return call;
  }

  send(call: number, bytes: Buffer): void {
    const head = Buffer.allocUnsafe(REQUEST_HEAD);
    head.writeUInt32LE(call, 0);
    head.writeUInt32LE(bytes.length, 4);
    this.#child.stdin?.write(head);
    if (bytes.length > 0) this.#child.stdin?.write(bytes);
  }

  /** The caller no longer waits for a call; its remaining output is skipped. */
  forget(call: number): void {
    this.#calls.delete(call);
    if (this.#calls.size > 0 || this.isGone) return;
    this.#hold(false);
    this.#idle = setTimeout(() => this.#retire(), this.#idleMs).unref();
  }

  kill(): void {
    this.#child.kill('SIGKILL');
    this.#end();
  }

  /** An idle process does not keep this one alive; it ends with this one, when its input closes. */
  #hold(busy: boolean): void {
    const pipes = [this.#child.stdin, this.#child.stdout] as (((Readable | Writable) & { ref?(): void; unref?(): void }) | null)[];
    for (const held of [this.#child, ...pipes])
      if (busy) held?.ref?.();
      else held?.unref?.();
  }

  #retire(): void {
    this.isGone = true;
    this.#child.stdin?.end();
  }

  #end(): void {
    this.isGone = true;
    clearTimeout(this.#idle);
    const waiting = [...this.#calls.values()];
    this.#calls.clear();
    for (const run of waiting) run.again();
  }

  /** Bodies are passed on in pieces as they arrive. */
  #read(piece: Buffer): void {
    for (let at = 0; at < piece.length;) {
      if (this.#left === 0) {
        const [taken, rest] = [this.#head.length, piece.subarray(at, at + ANSWER_HEAD - this.#head.length)];
        this.#head = Buffer.concat([this.#head, rest]);
        at += this.#head.length - taken;
        if (this.#head.length < ANSWER_HEAD) return;
        this.#left = this.#head.readUInt32LE(5);
      }
      const body = piece.subarray(at, at + this.#left);
      at += body.length;
      this.#left -= body.length;
      this.#calls.get(this.#head.readUInt32LE(0))?.answer(this.#head[4] ?? END, body);
      if (this.#left === 0) this.#head = Buffer.alloc(0);
    }
  }
}

/** One call. All of its input is kept, because it may have to be repeated. */
class LastingRun implements Run {
  readonly #done = Promise.withResolvers<Ended>();
  readonly #server: Server;
  readonly #each: Program;
  readonly #words: readonly string[];
  readonly #bound: OutputBound | undefined;
  readonly #call: number;
  readonly #sent: Buffer[] = [];
  #output: Output;
  #ended = false;
  #answered = false;
  /** The separate process of a repeated call. */
  #own: Run | null = null;

  constructor(server: Server, each: Program, words: readonly string[], bound: OutputBound | undefined) {
    this.#server = server;
    this.#each = each;
    this.#words = words;
    this.#bound = bound;
    this.#output = new Output(bound, (why) => this.cut(why));
    this.#done.promise.catch(() => undefined);
    this.#call = server.open(this, words);
  }

  get ended(): Promise<Ended> {
    return this.#done.promise;
  }

  write(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#sent.push(bytes);
    if (this.#own === null) this.#server.send(this.#call, bytes);
    else this.#own.write(bytes);
  }

  end(): void {
    this.#ended = true;
    if (this.#own === null) this.#server.send(this.#call, Buffer.alloc(0));
    else this.#own.end();
  }

  cut(why: Error): void {
    if (this.#answered) return;
    this.#answered = true;
    this.#done.reject(why);
    this.#server.forget(this.#call);
    if (this.#own === null) this.#server.kill();
    else this.#own.cut(why);
  }

  answer(kind: number, bytes: Buffer): void {
    if (kind === OUTPUT) this.#output.add(bytes);
    else if (kind === ERROR) this.#output.addError(bytes);
    else if (bytes.length > 0) {
      this.#answered = true;
      this.#server.forget(this.#call);
      this.#done.resolve(this.#output.ended(bytes[0] ?? null));
    }
  }

  /** The process is gone, or never was. */
  again(): void {
    const own = this.#each.start(this.#words, this.#bound);
    this.#own = own;
    for (const bytes of this.#sent) own.write(bytes);
    if (this.#ended) own.end();
    own.ended.then(this.#done.resolve, this.#done.reject);
  }
}
