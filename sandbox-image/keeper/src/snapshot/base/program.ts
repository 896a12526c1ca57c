// sandbox-image/keeper, snapshot/base: calls of the runner program, all to one process. May import protocol alone.
import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

interface Ended {
  readonly code: number;
  readonly stdout: Buffer;
  /** The first 4 KiB. */
  readonly stderr: string;
}

interface OutputBound {
  readonly maxOutput: number;
  readonly tooMuch: () => Error;
}

const REQUEST_HEAD = 8;
const ANSWER_HEAD = 9;
const [OUTPUT, ERROR, END] = [0, 1, 2] as const;

/** After so long without a call the process gives its memory back. */
const IDLE_MS = 30_000;
/** Processes that one call is given to, should each die under it. */
const ATTEMPTS = 3;

/**
 * The runner, called with words. All calls go to one `<binary> files`, which is started with the first and ends when idle: starting a
 * process takes longer than most calls. When it dies during calls, each is given to a new one: all calls are idempotent.
 */
export class Program {
  readonly name: string;
  readonly #idleMs: number;
  #server: Server | null = null;

  constructor(binary: string, idleMs: number = IDLE_MS) {
    this.name = binary;
    this.#idleMs = idleMs;
  }

  /** `maxOutput`: more bytes than these end the call with the error of `tooMuch`. */
  start(words: readonly string[], bound?: OutputBound): Run {
    return new Run(() => this.#serving(), words, bound);
  }

  /** Runs a call to its end with `input` as its standard input; returns its output. Rejects when it does not exit with 0. */
  async run(words: readonly string[], input: Buffer = Buffer.alloc(0)): Promise<Buffer> {
    const run = this.start(words);
    run.write(input);
    run.end();
    return this.outputOf(words, await run.ended);
  }

  /** @throws Error with the program's standard error */
  outputOf(words: readonly string[], { code, stdout, stderr }: Ended): Buffer {
    if (code === 0) return stdout;
    throw new Error(`${this.name} ${words[0] ?? ''} ended with ${code}: ${stderr.trim()}`);
  }

  #serving(): Server {
    if (this.#server === null || this.#server.isGone) this.#server = new Server(this.name, this.#idleMs);
    return this.#server;
  }
}

class Server {
  readonly #calls = new Map<number, Run>();
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
    this.#child.stdin?.on('error', () => undefined); // its close event reports it
    this.#child.on('error', (error) => this.#end(error));
    this.#child.on('close', () => this.#end(new Error(`${binary} ended before it answered`)));
  }

  open(run: Run, words: readonly string[]): number {
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
    this.#end(new Error('it was ended for another call'));
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

  #end(why: Error): void {
    this.isGone = true;
    clearTimeout(this.#idle);
    const waiting = [...this.#calls.values()];
    this.#calls.clear();
    for (const run of waiting) run.lost(why);
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
export class Run {
  readonly #done = Promise.withResolvers<Ended>();
  readonly #serving: () => Server;
  readonly #words: readonly string[];
  readonly #bound: OutputBound | undefined;
  readonly #sent: Buffer[] = [];
  #server: Server;
  #call: number;
  #attempts = 1;
  #answered = false;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #stderr = '';

  constructor(serving: () => Server, words: readonly string[], bound: OutputBound | undefined) {
    this.#serving = serving;
    this.#words = words;
    this.#bound = bound;
    this.#done.promise.catch(() => undefined);
    this.#server = serving();
    this.#call = this.#server.open(this, words);
  }

  /** Rejects when it cannot be started, or was cut off. */
  get ended(): Promise<Ended> {
    return this.#done.promise;
  }

  /** More of its standard input; not to be changed afterwards. */
  write(bytes: Buffer): void {
    if (bytes.length > 0) this.#send(bytes);
  }

  end(): void {
    this.#send(Buffer.alloc(0));
  }

  /** Ends the process, and rejects {@link ended}. */
  cut(why: Error): void {
    if (this.#answered) return;
    this.#answered = true;
    this.#done.reject(why);
    this.#server.forget(this.#call);
    this.#server.kill();
  }

  answer(kind: number, bytes: Buffer): void {
    if (kind === OUTPUT) this.#add(bytes);
    else if (kind === ERROR) this.#stderr += bytes.toString('utf8').slice(0, 4096 - this.#stderr.length);
    else if (bytes.length > 0) {
      this.#answered = true;
      this.#server.forget(this.#call);
      this.#done.resolve({ code: bytes[0] ?? 0, stdout: Buffer.concat(this.#pieces), stderr: this.#stderr });
    }
  }

  /** The process is gone, or never was. */
  lost(why: Error): void {
    if (this.#attempts === ATTEMPTS) return this.#done.reject(why);
    this.#attempts += 1;
    [this.#pieces, this.#bytes, this.#stderr] = [[], 0, ''];
    this.#server = this.#serving();
    this.#call = this.#server.open(this, this.#words);
    for (const bytes of this.#sent) this.#server.send(this.#call, bytes);
  }

  #send(bytes: Buffer): void {
    this.#sent.push(bytes);
    this.#server.send(this.#call, bytes);
  }

  #add(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bound === undefined || this.#bytes <= this.#bound.maxOutput) this.#pieces.push(bytes);
    else this.cut(this.#bound.tooMuch());
  }
}
