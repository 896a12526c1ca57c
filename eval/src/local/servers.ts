/** Inference servers of the checkout with its weights, each a process of its own as in a pod. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { EvalError } from '../failure.ts';
import type { LearnedPart } from '../run/variant.ts';

export type ServerRole = LearnedPart | 'Synth';

/** Starts each server when it is first asked for. */
export class PartServers implements AsyncDisposable {
  readonly #program: string;
  readonly #children: ChildProcess[] = [];
  readonly #urls = new Map<ServerRole, Promise<string>>();

  constructor(checkout: string) {
    this.#program = join(checkout, 'inference-image', 'src', 'main.ts');
  }

  /** Origin of the server of a role, once it has answered an example of what it does. */
  url(role: ServerRole): Promise<string> {
    const known = this.#urls.get(role) ?? this.#start(role);
    this.#urls.set(role, known);
    return known;
  }

  async #start(role: ServerRole): Promise<string> {
    const engine: Record<string, string> =
      role === 'Synth' ? { AGENTFLEET_ENGINE: 'Synth' } : { AGENTFLEET_ENGINE: 'Builtin', AGENTFLEET_ROLES: role };
    const env = { PATH: process.env['PATH'] ?? '', ...engine, AGENTFLEET_LISTEN: '127.0.0.1:0', AGENTFLEET_AUTHENTICATION: 'None' };
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', this.#program], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#children.push(child);
    let words = '';
    child.stderr.on('data', (chunk: Buffer) => {
      words = (words + chunk.toString('utf8')).slice(-1000);
    });
    for await (const line of createInterface({ input: child.stdout })) {
      const said = JSON.parse(line) as { readonly msg: string; readonly addresses?: readonly string[] };
      const [address] = said.msg === 'listening' ? (said.addresses ?? []) : [];
      if (address === undefined) continue;
      child.stdout.resume();
      return address;
    }
    throw new EvalError(`the server of ${role} ended before it listened: ${words.trim()}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
  }
}
