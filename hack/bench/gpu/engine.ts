// One engine of vLLM on this machine's GPU, started with the command line that the operator gives it.
import { spawn, execFileSync, type ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { vllmArguments, vllmEnvironment, type VllmDemand } from '../../../operator/src/serving/vllm/command.ts';

export interface EngineOptions {
  /** Command that starts vLLM's server, before its arguments: `vllm serve` or `python3 -m …`. */
  readonly command: readonly string[];
  readonly demand: VllmDemand;
  /** vLLM chooses itself how many tokens it batches. */
  readonly ownBatch: boolean;
  readonly logFile: string;
  readonly startSeconds: number;
}

/** Bytes in use on the GPU, of all processes. */
export function usedBytes(): number {
  const text = execFileSync('nvidia-smi', ['--query-gpu=memory.used', '--format=csv,noheader,nounits'], { encoding: 'utf8' });
  return Number(text.trim().split('\n')[0]) * 2 ** 20;
}

export class RunningEngine {
  readonly origin = 'http://127.0.0.1:8000';
  readonly startedAfter: number;
  readonly #process: ChildProcess;
  readonly #logFile: string;

  private constructor(child: ChildProcess, logFile: string, startedAfter: number) {
    this.#process = child;
    this.#logFile = logFile;
    this.startedAfter = startedAfter;
  }

  /** @throws Error it ended, or did not answer in time; the message has the end of its log */
  static async start({ command, demand, ownBatch, logFile, startSeconds }: EngineOptions): Promise<RunningEngine> {
    const [program = 'vllm', ...words] = command;
    const environment = Object.fromEntries(vllmEnvironment(demand).map(({ name, value }) => [name, value]));
    const own = vllmArguments(demand);
    const bound = own.indexOf('--max-num-batched-tokens');
    const child = spawn(program, [...words, ...(ownBatch ? own.toSpliced(bound, 2) : own)], {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const log = createWriteStream(logFile);
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    const began = performance.now();
    while (performance.now() - began < startSeconds * 1000) {
      const health = await fetch('http://127.0.0.1:8000/health').catch(() => undefined);
      if (health?.ok === true) return new RunningEngine(child, logFile, (performance.now() - began) / 1000);
      if (child.exitCode !== null) break;
      await wait(500);
    }
    child.kill('SIGKILL');
    throw new Error(`vLLM did not start: ${(await readFile(logFile, 'utf8')).slice(-3000)}`);
  }

  /** Returns the lines of its log about memory, in its own words. */
  async memoryLines(): Promise<readonly string[]> {
    const lines = (await readFile(this.#logFile, 'utf8')).split('\n');
    return lines
      .filter((line) => /GiB|KV cache size|max_num_batched_tokens|Using .* (?:attention )?backend/i.test(line))
      .map((line) => line.slice(0, 400));
  }

  /** Seconds until its process has ended after a SIGTERM. */
  async stop(): Promise<number> {
    const began = performance.now();
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGTERM');
    await Promise.race([ended, wait(40_000).then(() => this.#process.kill('SIGKILL'))]);
    return (performance.now() - began) / 1000;
  }
}
