/** Runs one command in a folder, within limits; nothing that it started is left. */
import { readdir, readFile, access, constants } from 'node:fs/promises';
import { pid as ownPid } from 'node:process';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { dirname, delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { PackTask } from '../format/index.ts';

/** The processes of one run, found by a mark in their environment: it stays with those that leave their group or lose their parent. */
const markVariable = 'AGENTFLEET_PACK_RUN';
const pageKiB = 4;

async function carries(pid: string, mark: string): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
  return environment.split('\0').includes(`${markVariable}=${mark}`);
}

async function others(): Promise<readonly string[]> {
  return (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== ownPid);
}

/** Pids of the processes that carry the mark. Those in `before` are older than it and are not asked: to ask all of a machine is dear. */
async function marked(mark: string, before: ReadonlySet<string> = new Set()): Promise<number[]> {
  const pids = (await others()).filter((pid) => !before.has(pid));
  const found = await Promise.all(pids.map((pid) => carries(pid, mark)));
  return pids.filter((_, at) => found[at]).map(Number);
}

async function residentKiB(pid: number): Promise<number> {
  const statm = await readFile(`/proc/${pid}/statm`, 'latin1').catch(() => '');
  return Number(statm.split(' ')[1] ?? 0) * pageKiB;
}

async function memoryKiB(pids: readonly number[]): Promise<number> {
  return (await Promise.all(pids.map(residentKiB))).reduce((sum, size) => sum + size, 0);
}

/** Kills processes with the mark, also those started meanwhile. */
async function killMarked(mark: string): Promise<void> {
  for (let round = 0; round < 20; round += 1) {
    const pids = await marked(mark);
    if (pids.length === 0) return;
    for (const pid of pids) kill(pid);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

export interface Limits {
  readonly timeoutSeconds: number;
  readonly memoryMiB: number;
}

/** End of a command; `output` is the end of stdout and stderr together. */
export interface Ending {
  readonly passed: boolean;
  readonly reason: 'Exit' | 'Timeout' | 'Memory' | 'Aborted' | 'NotStarted';
  readonly status: number | null;
  readonly output: string;
}

const keptCharacters = 65_536;
const lookMilliseconds = 200;

/**
 * Returns the environment of a command: this process has variables of test runners, and tests must not depend on time
 * zone or language.
 */
function commandEnvironment(home: string, path: string | undefined): Record<string, string> {
  const own = dirname(process.execPath);
  return {
    PATH: path === undefined ? own : `${own}${delimiter}${path}`,
    HOME: home,
    TMPDIR: home,
    TZ: 'UTC',
    LANG: 'C.UTF-8',
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONHASHSEED: '0',
  };
}

/** Resolves with the exceeded limit; checks until the command is over. */
async function watch(
  { mark, before }: { readonly mark: string; readonly before: ReadonlySet<string> },
  { timeoutSeconds, memoryMiB }: Limits,
  over: AbortSignal,
): Promise<Ending['reason']> {
  const deadline = performance.now() + timeoutSeconds * 1000;
  while (!over.aborted) {
    if (performance.now() > deadline) return 'Timeout';
    if ((await memoryKiB(await marked(mark, before))) > memoryMiB * 1024) return 'Memory';
    await delay(lookMilliseconds, undefined, { signal: over }).catch(() => undefined);
  }
  return 'Exit';
}

function collect(child: ChildProcess): () => string {
  let output = '';
  const take = (chunk: Buffer): void => {
    output = (output + chunk.toString('utf8')).slice(-keptCharacters);
  };
  child.stdout?.on('data', take);
  child.stderr?.on('data', take);
  return () => output;
}

/** Runs a command to its end or its limit; `home` also holds its temporary files. Never throws for a failure of the command. */
export async function runCommand(
  argv: readonly string[],
  folder: string,
  limits: Limits,
  signal: AbortSignal,
  home = folder,
): Promise<Ending> {
  const mark = randomUUID();
  const env = { ...commandEnvironment(home, process.env['PATH']), [markVariable]: mark };
  const before = new Set(await others());
  const child = spawn(argv[0] ?? '', argv.slice(1), { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = collect(child);
  const over = new AbortController();
  const ended = once(child, 'exit').then(
    () => true,
    () => false,
  );
  const aborted = new Promise<Ending['reason']>((resolve) => {
    signal.addEventListener('abort', () => resolve('Aborted'), { once: true, signal: over.signal });
    if (signal.aborted) resolve('Aborted');
  });
  const ending = ended.then((started): Ending['reason'] => (started ? 'Exit' : 'NotStarted'));
  const reason = await Promise.race([ending, watch({ mark, before }, limits, over.signal), aborted]);
  over.abort();
  await killMarked(mark);
  await ended;
  return { passed: reason === 'Exit' && child.exitCode === 0, reason, status: child.exitCode, output: output() };
}

/** Programs that a task needs and that are not on the PATH. */
export async function missingPrograms({ needs }: Pick<PackTask, 'needs'>, path = process.env['PATH'] ?? ''): Promise<string[]> {
  const found = await Promise.all(needs.map((name) => isThere(name, path)));
  return needs.filter((_, at) => found[at] !== true);
}

async function isThere(name: string, path: string): Promise<boolean> {
  for (const folder of path.split(delimiter)) {
    const there = await access(join(folder, name), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (there) return true;
  }
  return false;
}
