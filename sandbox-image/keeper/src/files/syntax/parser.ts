import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../base/clock.ts';
import type { Answers, Job, ParserFiles, Reply } from './jobs.ts';
import { languageOf } from './languages.ts';

export interface SyntaxParserOptions {
  readonly clock: Clock;
  readonly files?: ParserFiles;
  /** Of one job, the start of the thread included. */
  readonly millis: number;
  /** The thread ends after so long without a job, and gives its memory back. */
  readonly idleMs: number;
}

/**
 * Parses in a thread of its own that is started when it is needed. A job that takes too long, or that the parser fails at,
 * costs the thread, never the keeper.
 */
export class SyntaxParser {
  readonly #options: SyntaxParserOptions;
  readonly #files: ParserFiles;
  #thread: Worker | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #next = 0;
  #warming = false;
  #stopIdle: () => void = () => undefined;

  constructor(options: SyntaxParserOptions) {
    this.#options = options;
    this.#files = options.files ?? parserFiles();
  }

  /** Whether the thread is there. */
  get running(): boolean {
    return this.#thread !== null;
  }

  /** The answer; null when the file is too hard for the parser. One job after the other. */
  ask<J extends Job>(job: J): Promise<Answers[J['kind']] | null> {
    const answer = this.#last.then(() => this.#ask(job));
    this.#last = answer.catch(() => undefined);
    return answer as Promise<Answers[J['kind']] | null>;
  }

  /** Loads what a check of the file at this path needs. Nobody waits for it: who reads a file is likely to edit it soon. */
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
    // Its memory cannot be trusted any more, or it does not come back.
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
    // The runtime writes about its end; the answer tells it.
    thread.stdout.resume();
    thread.stderr.resume();
    thread.on('error', () => undefined);
    thread.unref();
    return thread;
  }
}

/** Beside the bundle as in the image, else where npm put them. */
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
