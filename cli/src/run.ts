/** The command line to an exit status. */
import type { LocalContext } from './commands/index.ts';
import type { Clock, Random } from '@agentfleet/kube';
import { CommanderError, Command } from 'commander';
import { type Dispatch, addRun } from './wiring/dispatch.ts';
import { CliError, exitCodes } from './base/failure.ts';
import { addCluster } from './wiring/cluster.ts';
import { addEvidence, addMigrate } from './wiring/evidence.ts';
import { addOrders } from './wiring/orders.ts';
import { addViews } from './wiring/views.ts';

/** Commands and options; what `eval` has is there only where the arguments name it. */
export async function createProgram(dispatch: Dispatch, args: readonly string[]): Promise<Command> {
  const program = new Command('fleet')
    .description('What people do with agent tasks. As kubectl-fleet on the PATH it is "kubectl fleet".')
    .version('0.1.0')
    .option('-n, --namespace <name>', 'namespace of the task; default: that of the context')
    .option('--kubeconfig <path>', 'kubeconfig; default: $KUBECONFIG, then ~/.kube/config')
    .option('--context <name>', 'context of the kubeconfig; default: the current one')
    .showHelpAfterError('look at the options with --help');
  addRun(program, dispatch);
  addViews(program, dispatch);
  addOrders(program, dispatch);
  addEvidence(program, dispatch);
  // Packs and their runner are loaded where the arguments ask for them.
  if (args.includes('eval')) (await import('./wiring/eval.ts')).addEval(program, dispatch);
  else program.command('eval').description('measure a pool by packs of tasks');
  addMigrate(program, dispatch);
  addCluster(program, dispatch);
  return program;
}

/** The world around the program. */
export interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly random: Random;
  /** Whether standard output is a terminal. */
  readonly terminal: boolean;
  readonly signal: AbortSignal;
  /** Asks the person at the terminal; absent without a terminal. */
  readonly ask?: NonNullable<LocalContext['ask']>;
  /** Asks an endpoint of a model; absent: none is asked. */
  readonly fetch?: typeof globalThis.fetch;
  /** Draws over what it drew before; absent where standard output is no terminal. */
  readonly screen?: NonNullable<LocalContext['screen']>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

function quieten(command: Command, world: Surroundings): Command {
  command.exitOverride().configureOutput({ writeOut: world.out, writeErr: world.err });
  for (const sub of command.commands) quieten(sub, world);
  return command;
}

/**
 * Runs the program on its arguments (without node and script) and returns the exit status: 0, one of `exitCodes`, or what
 * the command returns (see `fleet undo`).
 */
export async function run(args: readonly string[], world: Surroundings): Promise<number> {
  const { out, err, ...rest } = world;
  const local: LocalContext = { ...rest, print: (line) => out(`${line}\n`), warn: (line) => err(`fleet: ${line}\n`) };
  const dispatch: Dispatch = {
    locally: (command) => command(local),
    connected: async (flags, command) => {
      const { connect } = await import('./base/connection.ts');
      const connection = await connect(flags, world.env);
      try {
        await command({ ...connection, ...local });
      } finally {
        await connection.transport.close();
      }
    },
  };
  try {
    await quieten(await createProgram(dispatch, args), world).parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    // Help and faults of usage were written already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1;
    const { explain } = await import('./base/explain.ts');
    const { message, code } = explain(error);
    const interrupted = world.signal.aborted && code === exitCodes.failed;
    local.warn(interrupted && !(error instanceof CliError) ? 'interrupted' : message);
    return interrupted ? exitCodes.interrupted : code;
  }
}
