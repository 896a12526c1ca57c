import { isNotFound, ResourceClient, type Clock, type Random } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { type Connection, agentTasks } from '../base/connection.ts';
import { CliError, exitCodes } from '../base/failure.ts';

/** The terminal, as a picture that is drawn again and again. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
  draw(lines: readonly string[]): void;
  /** Leaves the last picture, and the cursor below it. */
  done(): void;
}

/** Context of a command that asks no cluster. */
export interface LocalContext {
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Whether standard output is a terminal, which obeys what it is shown. */
  readonly terminal: boolean;
  /** Asks the person at the terminal, hiding the answer when asked to; absent without a terminal. */
  readonly ask?: (question: string, hidden: boolean) => Promise<string>;
  /** Asks an endpoint of a model; absent: none is asked. */
  readonly fetch?: typeof globalThis.fetch;
  /** Draws over what it drew before; absent where standard output is no terminal. */
  readonly screen?: () => Promise<Screen>;
  /** Writes one line to standard output. */
  readonly print: (line: string) => void;
  /** Writes one line to standard error. */
  readonly warn: (line: string) => void;
}

/** Context of every other command. */
export interface CommandContext extends LocalContext, Connection {}

/** Throws a CliError when there is no such task. */
export async function taskOf({ transport, namespace, signal }: CommandContext, name: string): Promise<AgentTask> {
  try {
    return await new ResourceClient(transport, agentTasks).get({ namespace, name }, { signal });
  } catch (error) {
    // The server names the object when the kind exists, and nothing when it does not.
    if (isNotFound(error) && (error as Error).message.includes(`"${name}"`))
      throw new CliError(`there is no AgentTask ${name} in namespace ${namespace}; look for it with "fleet tasks -A"`, exitCodes.notFound);
    throw error;
  }
}
