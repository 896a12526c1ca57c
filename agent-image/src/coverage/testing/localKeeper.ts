import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ExecResult } from '@agentfleet/keeper/client';
import { homeDir, workspaceDir, type ExecEnd, type ExecRequest } from '@agentfleet/protocol/keeper';
import type { CoverageOptions } from '../collect.ts';

/** The sandbox's folders and commands in a temporary folder of this machine. */
export class LocalKeeper {
  readonly folder: string;
  readonly workspace: string;
  readonly home: string;
  /** Every command with its environment, as it was asked for. */
  readonly requests: ExecRequest[] = [];
  readonly #running = new Map<string, { readonly pid: number; readonly done: Promise<ExecResult> }>();

  private constructor(folder: string) {
    this.folder = folder;
    this.workspace = join(folder, 'workspace');
    this.home = join(folder, 'home');
  }

  static async create(): Promise<LocalKeeper> {
    const keeper = new LocalKeeper(await mkdtemp(join(tmpdir(), 'coverage-')));
    await mkdir(keeper.workspace);
    await mkdir(keeper.home);
    return keeper;
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  async writeAll(files: Readonly<Record<string, string>>): Promise<void> {
    for (const [path, content] of Object.entries(files)) await this.writeFile(`${workspaceDir}/${path}`, content);
  }

  /** Runs the command; returns the fields that the collector needs. */
  run(body: ExecRequest, signal?: AbortSignal): Promise<ExecResult> {
    const known = this.#running.get(body.execId);
    if (known !== undefined) return known.done;
    this.requests.push(body);
    const [program = '', ...args] = body.tool === 'ExecCode' ? body.argv.map((word) => this.#here(word)) : [];
    const env = Object.entries(body.env ?? {}).map(([name, value]): [string, string] => [name, this.#here(value)]);
    const child = spawn(program, args, {
      cwd: this.#here(body.cwd ?? workspaceDir),
      env: { PATH: process.env['PATH'], HOME: this.home, ...Object.fromEntries(env) },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const pid = child.pid ?? 0;
    let [stdout, stderr, timedOut] = ['', '', false];
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString('utf8')));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
    const timer = setTimeout(
      () => {
        timedOut = true;
        process.kill(-pid, 'SIGKILL');
      },
      (body.timeoutSeconds ?? 60) * 1000,
    );
    const done = new Promise<ExecResult>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (exitCode) => {
        clearTimeout(timer);
        resolve({ stdout, stderr, end: { type: 'end', exitCode, timedOut } as ExecEnd });
      });
    });
    this.#running.set(body.execId, { pid, done });
    if (signal === undefined) return done;
    // Like the client: an abort cuts the stream, the command continues.
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
    return Promise.race([done, aborted]);
  }

  cancel(execId: string): Promise<void> {
    process.kill(-(this.#running.get(execId)?.pid ?? 0), 'SIGKILL');
    return Promise.resolve();
  }

  readFile(path: string): Promise<Buffer> {
    return readFile(this.#here(path));
  }

  async writeFile(path: string, content: string | Uint8Array): ReturnType<CoverageOptions['keeper']['writeFile']> {
    await mkdir(dirname(this.#here(path)), { recursive: true });
    await writeFile(this.#here(path), content);
    return { path, sha256: '', bytes: content.length, created: true };
  }

  #here(text: string): string {
    return text.replaceAll(homeDir, this.home).replaceAll(workspaceDir, this.workspace);
  }
}
