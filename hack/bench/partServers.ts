import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const program = join(import.meta.dirname, '../../inference-image/src/main.ts');

export type PartRole = 'Planner' | 'Verifier' | 'Embedder' | 'Policy';

/** Inference servers with the committed weights, each a process of its own as in a pod, on this machine. */
export class PartServers implements AsyncDisposable {
  readonly #children: ChildProcess[] = [];

  /** Starts the server of a role; gives its origin once it has answered an example of what it does. */
  async start(role: PartRole): Promise<string> {
    const env = {
      ...process.env,
      AGENTFLEET_ENGINE: 'Builtin',
      AGENTFLEET_ROLES: role,
      AGENTFLEET_LISTEN: '127.0.0.1:0',
      AGENTFLEET_AUTHENTICATION: 'None',
    };
    const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    this.#children.push(child);
    for await (const line of createInterface({ input: child.stdout })) {
      const said = JSON.parse(line) as { readonly msg: string; readonly addresses?: readonly string[] };
      const [address] = said.msg === 'listening' ? (said.addresses ?? []) : [];
      if (address === undefined) continue;
      child.stdout.resume();
      return address;
    }
    throw new Error(`the server of ${role} ended before it listened; what it said stands above`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null) continue;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
  }
}
