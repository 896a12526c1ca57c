import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentTask } from '@agentfleet/protocol/api';
import { execa } from 'execa';
import { installCli } from '../../cli.ts';
import { conditionOf, namespaces, type Stage } from './stage.ts';

/**
 * A person who approves as soon as a task waits: `kubectl fleet approve`, the command that users have. `settled` rejects when the command
 * failed.
 */
export class Approver {
  readonly #stage: Stage;
  readonly #folder: string;
  #given: Promise<void> | undefined;

  private constructor(stage: Stage, folder: string) {
    this.#stage = stage;
    this.#folder = folder;
  }

  static async open(stage: Stage): Promise<Approver> {
    const folder = await mkdtemp(join(tmpdir(), 'agentfleet-cli-'));
    await installCli(folder);
    return new Approver(stage, folder);
  }

  see(task: AgentTask): void {
    if (this.#given !== undefined || conditionOf(task, 'AwaitingApproval')?.status !== 'True') return;
    this.#given = this.#approve(task.metadata.name ?? '');
    this.#given.catch(() => undefined); // reported by `settled`
  }

  /** Resolves when the order, if any was given, has been obeyed. */
  async settled(): Promise<void> {
    await this.#given;
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true });
  }

  async #approve(name: string): Promise<void> {
    const { cluster } = this.#stage.environment;
    const args = ['fleet', '-n', namespaces.tasks, 'approve', name, '--reason', 'it is retired'];
    console.log(`            kubectl ${args.join(' ')}`);
    const { stdout } = await execa(cluster.bin('kubectl'), [...args, '--kubeconfig', cluster.kubeconfig, '--context', cluster.context], {
      env: { PATH: `${this.#folder}:${process.env['PATH'] ?? ''}` },
    });
    for (const line of stdout.split('\n')) console.log(`            ${line}`);
  }
}
