import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../base/failure.ts';

const run = promisify(execFile);
const source = join(import.meta.dirname, '../../../runner');
/** The runner is made to be PID 1: on the order to exit it kills every process it can see. It never runs outside a PID namespace. */
const namespace = ['--pid', '--fork', '--kill-child=SIGKILL', '--mount-proc'];

/** Builds the Go runner into a new folder; returns the reason when it cannot be built or contained. */
export async function buildRunner(): Promise<{ readonly binary: string } | { readonly why: string }> {
  const binary = join(await mkdtemp(join(tmpdir(), 'runner-')), 'runner');
  try {
    await run('unshare', [...namespace, 'true']);
    await run('go', ['build', '-trimpath', '-o', binary, '.'], { cwd: source, env: { ...process.env, CGO_ENABLED: '0' } });
    return { binary };
  } catch (error) {
    return { why: messageOf(error) };
  }
}

/** A keeper in a separate process, which may be killed; another one with the same environment continues with its store. */
export class KeeperProcess {
  /** Resolves when it listens. */
  readonly listening: Promise<void>;
  readonly exited: Promise<void>;
  readonly #child: ChildProcess;

  constructor(environment: Readonly<Record<string, string>>) {
    const env = { PATH: process.env['PATH'], LOG_LEVEL: 'info', ...environment };
    this.#child = spawn(process.execPath, [join(import.meta.dirname, '../main.ts')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    this.exited = new Promise((resolve) => {
      this.#child.once('exit', () => resolve());
    });
    this.listening = new Promise((resolve) => {
      this.#child.stdout?.on('data', (chunk: Buffer) => {
        if (chunk.includes('"listening"')) resolve();
      });
    });
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.exited;
  }
}

/** The Go runner as PID 1 of a separate namespace. */
export class RealRunner {
  readonly #child: ChildProcess;
  readonly exited: Promise<void>;
  stderr = '';

  constructor(binary: string, linkPath: string, linkKey: string) {
    this.#child = spawn('unshare', [...namespace, binary, 'serve'], {
      env: { PATH: process.env['PATH'], AGENTFLEET_LINK: linkPath, AGENTFLEET_LINK_KEY: linkKey },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.stderr += chunk.toString('utf8');
    });
    this.exited = new Promise((resolve) => {
      this.#child.once('exit', () => resolve());
    });
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.exited;
  }
}
