import { InvalidArgumentError, type Command } from 'commander';
import type { CommandContext, LocalContext } from '../commands/index.ts';
import type { ConnectionFlags } from '../base/connection.ts';

/** Runs one command. */
export interface Dispatch {
  /** With a connection that is closed after it. */
  readonly connected: (flags: ConnectionFlags, command: (context: CommandContext) => Promise<void>) => Promise<void>;
  /** Without one: nothing is asked of any cluster. */
  readonly locally: (command: (context: LocalContext) => Promise<void>) => Promise<void>;
}

/** A module with a command: a function of its context, its arguments, and its flags with those of the program, as commander reads them. */
type Module<Name extends string, Context> = Readonly<Record<Name, (context: Context, ...given: never[]) => Promise<void>>>;
export type Load<Name extends string, Context> = () => Promise<Module<NoInfer<Name>, Context>>;
export type Action = (...given: unknown[]) => Promise<void>;

/** Flags of a call, with those of the program. */
export const flagsOf = (given: readonly unknown[]): ConnectionFlags => (given.at(-1) as Command).optsWithGlobals<ConnectionFlags>();

const argumentsOf = (given: readonly unknown[]): never[] => [...given.slice(0, -2), flagsOf(given)] as never[];

/** The action of a command that asks a cluster; its module is loaded when it is called. */
export const connected =
  <Name extends string>(dispatch: Dispatch, load: Load<Name, CommandContext>, name: Name): Action =>
  (...given) =>
    dispatch.connected(flagsOf(given), async (context) => (await load())[name](context, ...argumentsOf(given)));

/** The same of one that asks none. */
export const locally =
  <Name extends string>(dispatch: Dispatch, load: Load<Name, LocalContext>, name: Name): Action =>
  (...given) =>
    dispatch.locally(async (context) => (await load())[name](context, ...argumentsOf(given)));

/** Reads an option that is a time to wait. */
export function seconds(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 86_400) throw new InvalidArgumentError('write whole seconds from 1 to 86400');
  return value;
}

const collected = (text: string, before: readonly string[]): readonly string[] => [...before, text];

/** Making a task. */
export function addRun(program: Command, dispatch: Dispatch): void {
  program
    .command('run <file-or-goal>')
    .description(
      'create a task, follow it, print its result and save its patch; the argument is YAML (- is standard input), with --from the goal',
    )
    .option('--from <folder>', 'the task begins with the files of this folder, or with its commit that was pushed')
    .option('--check <command>', 'with --from: a command that succeeds when the goal is reached; may be given again', collected, [])
    .option('--review', 'with --from: you accept or reject the result, for goals whose checks hold already; checks may be left out then')
    .option('--pool <pool>', 'NAME or NAMESPACE/NAME; default: the default pool of the namespace')
    .option('--name <name>', 'of the task; default: made from the goal')
    .option('--patch <path>', 'where the patch goes; default: NAME.patch')
    .option('--pull-request', 'with --from: push the result to the repository of the folder, and open a pull request')
    .option('--credential <name>', 'with --pull-request: the credential of the pool for that repository')
    .option('--detach', 'do not follow it')
    .option('--dry-run', 'have the API server check the task, and print it')
    .option('--timeout <seconds>', 'how long to follow it', seconds, 86_400)
    .addHelpText(
      'after',
      '\nExit status: 0 it succeeded, 1 it was not created, 6 it ended otherwise, 7 the time is over and it goes on, 11 it stands still.',
    )
    .action(connected(dispatch, () => import('../commands/run.ts'), 'runTask'));
}
