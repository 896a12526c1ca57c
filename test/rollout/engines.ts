import { spawn, type ChildProcess } from 'node:child_process';
import { execPath } from 'node:process';
import { createInterface } from 'node:readline';
import { labels } from '@agentfleet/protocol/pool';
import type { Bed } from '../../operator/src/controllers/expertpool/testing/bed.ts';
import { type Deployment, resources } from '../../operator/src/runtime/resources.ts';

const main = new URL('../../inference-image/src/main.ts', import.meta.url).pathname;

/** Expert servers of a pool as processes: one for each Deployment of an expert, for as long as the Deployment is there. */
export class Engines {
  readonly #bed: Bed;
  readonly #processes = new Map<string, ChildProcess>();
  /** Addresses by the names of Deployments, which are those of their Services. */
  readonly addresses = new Map<string, string>();
  /** Names of Deployments by the addresses of their pods. */
  readonly #ofPod = new Map<string, string>();

  constructor(bed: Bed) {
    this.#bed = bed;
  }

  /** Returns the answer of a pod at such an address. */
  async ask(origin: string, path: string): Promise<string> {
    const name = this.#ofPod.get(new URL(origin).hostname) ?? '';
    const response = await fetch(`${this.addresses.get(name) ?? ''}${path}`);
    return response.text();
  }

  /** Returns the Deployment of the pod at such an address. */
  deploymentOf(origin: string): string {
    return this.#ofPod.get(new URL(origin).hostname) ?? '';
  }

  /** Starts and ends processes according to the Deployments. */
  async follow(): Promise<void> {
    const wanted = this.#bed.server
      .objects<Deployment>(resources.deployments)
      .filter(({ metadata }) => metadata.labels?.[labels.component] === 'expert');
    for (const { metadata } of wanted) if (!this.#processes.has(metadata.name)) await this.#start(metadata.name, metadata.labels ?? {});
    const names = new Set(wanted.map(({ metadata }) => metadata.name));
    for (const [name, process] of this.#processes) if (!names.has(name)) process.kill('SIGTERM');
  }

  stop(): void {
    for (const process of this.#processes.values()) process.kill('SIGKILL');
  }

  async #start(name: string, own: Readonly<Record<string, string>>): Promise<void> {
    const process = spawn(execPath, [main], {
      env: { AGENTFLEET_LISTEN: '127.0.0.1:0', AGENTFLEET_AUTHENTICATION: 'None' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#processes.set(name, process);
    this.addresses.set(name, await addressOf(process));
    const ip = `10.0.0.${this.#processes.size}`;
    this.#ofPod.set(ip, name);
    await this.#bed.addServer(`${name}-0`, own, ip);
    await this.#bed.rollOut(name, 1);
  }
}

async function addressOf(process: ChildProcess): Promise<string> {
  // Said when the engine has answered its example, so that it is ready too.
  for await (const line of createInterface({ input: process.stdout as NonNullable<typeof process.stdout> })) {
    const { msg, addresses } = JSON.parse(line) as { readonly msg: string; readonly addresses?: readonly string[] };
    if (msg === 'listening' && addresses?.[0] !== undefined) return addresses[0];
  }
  throw new Error('it ended before it was ready');
}
