/** Inference servers of the checkout with its weights, each a separate process as in a pod. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { EvalError } from '../run/failure.ts';
import type { LearnedPart } from '../run/run.ts';

type ServerRole = LearnedPart | 'Synth';

/** A listening server in a separate process. */
export interface RunningServer extends AsyncDisposable {
  /** Its origin. */
  readonly address: string;
}

/** Starts the inference server's program and waits until it listens. @throws EvalError when it ends before */
export async function startServer(
  checkout: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<RunningServer> {
  const program = join(checkout, 'inference-image', 'src', 'main.ts');
  const own = { PATH: process.env['PATH'] ?? '', AGENTFLEET_LISTEN: '127.0.0.1:0', AGENTFLEET_AUTHENTICATION: 'None' };
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, ...args], {
    env: { ...own, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let words = '';
  child.stderr.on('data', (chunk: Buffer) => {
    words = (words + chunk.toString('utf8')).slice(-1000);
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, addresses } = JSON.parse(line) as { readonly msg: string; readonly addresses?: readonly string[] };
    const [address] = msg === 'listening' ? (addresses ?? []) : [];
    if (address === undefined) {
      words = (words + line).slice(-1000);
      continue;
    }
    child.stdout.resume();
    return { address, [Symbol.asyncDispose]: () => stop(child) };
  }
  throw new EvalError(`the server ${[...args, ...Object.values(env)].join(' ')} ended before it listened: ${words.trim()}`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

/** Starts each server when it is first asked for. */
export class PartServers implements AsyncDisposable {
  readonly #checkout: string;
  readonly #running = new Map<ServerRole, Promise<RunningServer>>();

  constructor(checkout: string) {
    this.#checkout = checkout;
  }

  /** Origin of the server of a role. */
  async url(role: ServerRole): Promise<string> {
    const known = this.#running.get(role) ?? startServer(this.#checkout, [], settingsOf(role));
    this.#running.set(role, known);
    return (await known).address;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const starting of this.#running.values()) {
      const server = await starting.catch(() => undefined);
      await server?.[Symbol.asyncDispose]();
    }
  }
}

const settingsOf = (role: ServerRole): Readonly<Record<string, string>> =>
  role === 'Synth' ? { AGENTFLEET_ENGINE: 'Synth' } : { AGENTFLEET_ENGINE: 'Builtin', AGENTFLEET_ROLES: role };
