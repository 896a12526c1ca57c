import { execBounds } from '@agentfleet/protocol/keeper';
import { KeeperError } from '../failure.ts';
import type { Command } from './command.ts';
import type { Journal } from './journal.ts';

/** A command that runs, before and after its journal exists. */
export interface Running {
  readonly command: Command;
  readonly journal: Promise<Journal>;
  readonly finished: Promise<void>;
}

/** The commands that run: at most one that writes, and some that read. */
export class RunningCommands {
  readonly #byId = new Map<string, Running>();

  get(execId: string): Running | undefined {
    return this.#byId.get(execId);
  }

  get all(): readonly Running[] {
    return [...this.#byId.values()];
  }

  /** Id of the one that writes, or else of the oldest. */
  get first(): string | null {
    return (this.#writer ?? this.all[0])?.command.id ?? null;
  }

  /** Whether one writes. */
  get writes(): boolean {
    return this.#writer !== undefined;
  }

  get #writer(): Running | undefined {
    return this.all.find(({ command }) => command.plan.access === 'Write');
  }

  add(running: Running): void {
    this.#byId.set(running.command.id, running);
  }

  delete(execId: string): void {
    this.#byId.delete(execId);
  }

  /** @throws KeeperError `AF_BUSY` */
  assertRoomForReader(): void {
    const readers = this.all.filter(({ command }) => command.plan.access === 'Read').length;
    if (readers >= execBounds.readers) throw new KeeperError('AF_BUSY', `${readers} reading commands run, more are not let in`);
  }
}
