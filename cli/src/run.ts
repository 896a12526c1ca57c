/** The command line to an exit status. */
import type { Clock } from '@agentfleet/kube';
import { CommanderError, type Command } from 'commander';
import { connect } from './connection.ts';
import { explain } from './failure.ts';
import { createProgram, type Dispatch } from './program.ts';

/** The world around the program. */
export interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

function quiet(program: Command, { out, err }: Surroundings): Command {
  for (const command of [program, ...program.commands]) command.exitOverride().configureOutput({ writeOut: out, writeErr: err });
  return program;
}

/** Runs the program on its arguments (without node and script) and returns the exit status: 0, or 1 when it failed. */
export async function run(args: readonly string[], world: Surroundings): Promise<number> {
  const { env, clock, signal, out, err } = world;
  const dispatch: Dispatch = async (flags, command) => {
    const connection = await connect(flags, env);
    try {
      await command({ ...connection, clock, signal, print: (line) => out(`${line}\n`) });
    } finally {
      await connection.transport.close();
    }
  };
  try {
    await quiet(createProgram(dispatch), world).parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    // Help and faults of usage were written already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1;
    err(`fleet: ${explain(error)}\n`);
    return 1;
  }
}
