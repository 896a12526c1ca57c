import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { Serial } from '@agentfleet/protocol/serial';
import type { Clock } from '../../base/clock.ts';
import { type Answers, type Job, type ParserFiles, type Reply, languageOf } from './jobs.ts';

interface SyntaxParserOptions {
  readonly clock: Clock;
  /** Of one job, the start of the thread included. */
  readonly millis: number;
  /** The thread ends after so long without a job, and gives its memory back. */
  readonly idleMs: number;
}

/**
 * Parses in a separate thread that is started on demand. A job that takes too long, or crashes the parser, costs the
 * thread, never the keeper.
 */
export class SyntaxParser {
  readonly #options: SyntaxParserOptions;
  readonly #files: ParserFiles = parserFiles();
  #thread: Worker | null = null;
  readonly #jobs = new Serial();
  #next = 0;
  #warming = false;
  #stopIdle: () => void = () => undefined;

  constructor(options: SyntaxParserOptions) {
    this.#options = options;
  }

  get running(): boolean {
    return this.#thread !== null;
  }

  /** The answer; null when the file is too hard for the parser. One job after the other. */
  ask<J extends Job>(job: J): Promise<Answers[J['kind']] | null> {
    return this.#jobs.run(() => this.#ask(job)) as Promise<Answers[J['kind']] | null>;
  }

  /** Preloads the grammar for the file at this path without waiting: a file that is read is likely to be edited soon. */
  warm(path: string): void {
    const language = languageOf(path);
    if (language === null || language === 'json' || this.#warming) return;
    this.#warming = true;
    const loaded = (): void => void (this.#warming = false);
    this.ask({ kind: 'Faults', grammar: language, text: '' }).then(loaded, loaded);
  }

  async close(): Promise<void> {
    this.#stopIdle();
    const thread = this.#thread;
    this.#thread = null;
    await thread?.terminate();
  }

  async #ask(job: Job): Promise<Answers[keyof Answers] | null> {
    this.#stopIdle();
    const thread = (this.#thread ??= this.#start());
    const id = (this.#next += 1);
    const { promise, resolve } = Promise.withResolvers<Reply | null>();
    const onMessage = (reply: Reply): void => (reply.id === id ? resolve(reply) : undefined);
    const onGone = (): void => resolve(null);
    thread.on('message', onMessage).once('error', onGone).once('exit', onGone);
    const stop = this.#options.clock.after(this.#options.millis, onGone);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
    thread.postMessage({ id, job });
    const reply = await promise;
    stop();
    thread.off('message', onMessage).off('error', onGone).off('exit', onGone);
    if (reply !== null && 'value' in reply) {
      this.#stopIdle = this.#options.clock.after(this.#options.idleMs, () => void this.close());
      return reply.value;
    }
    // The thread's memory cannot be trusted any more, or it hangs.
    await this.close();
    return null;
  }

  #start(): Worker {
    const inSource = import.meta.url.endsWith('.ts');
    const thread = new Worker(new URL(inSource ? './thread.ts' : './keeper-syntax.js', import.meta.url), {
      workerData: this.#files,
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 4, stackSizeMb: 4 },
    });
    // The runtime prints on exit; the answer already reports the fault.
    thread.stdout.resume();
    thread.stderr.resume();
    thread.on('error', () => undefined);
    thread.unref();
    return thread;
  }
}

/** Next to the bundle in the image, else in npm's folder. */
function parserFiles(): ParserFiles {
  const beside = dirname(fileURLToPath(import.meta.url));
  const runtime = join(beside, 'web-tree-sitter.wasm');
  if (existsSync(runtime)) return { runtime, grammars: beside };
  const { resolve } = createRequire(import.meta.url);
  return {
    runtime: resolve('web-tree-sitter/web-tree-sitter.wasm'),
    grammars: dirname(resolve('@vscode/tree-sitter-wasm/wasm/tree-sitter-python.wasm')),
  };
}
