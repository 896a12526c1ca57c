import { Option, type Command } from 'commander';
import type { ConnectionFlags } from '../base/connection.ts';
import type { ArtifactFlags } from '../evidence/artifact.ts';
import { formats, type Format } from '../text/format.ts';
import { type Dispatch, given, seconds } from './dispatch.ts';
import { fromStore } from './evidence.ts';

const longest = 86_400;

interface ViewFlags extends ConnectionFlags, ArtifactFlags {
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly output?: Format;
  readonly follow?: boolean;
  readonly to?: string;
  readonly timeout: number;
  readonly plain?: boolean;
  readonly events?: boolean;
}

/** Returns the option that sets the format of the answer. */
export const formatOption = (choices: readonly string[] = ['json', 'yaml']): Option =>
  new Option('-o, --output <format>', 'for programs; default: as a table').choices(choices);

const flagsOf = (command: Command): ViewFlags => command.optsWithGlobals<ViewFlags>();

function addTasks(program: Command, dispatch: Dispatch): void {
  program
    .command('tasks [task]')
    .alias('get')
    .description('list tasks, or one')
    .option('-A, --all-namespaces', 'of all namespaces')
    .option('-l, --selector <labels>', 'with these labels only')
    .addOption(formatOption(formats))
    .action((name: string | undefined, _: unknown, command: Command) => {
      const { allNamespaces = false, selector, output, ...flags } = flagsOf(command);
      const options = { allNamespaces, ...given({ name, selector, output }) };
      return dispatch.connected(flags, async (context) => (await import('../commands/tasks.ts')).tasks(context, options));
    });
  program
    .command('show <task>')
    .description('print the story of one task')
    .action((task: string, _: unknown, command: Command) =>
      dispatch.connected(flagsOf(command), async (context) => (await import('../commands/show.ts')).show(context, task)),
    );
  program
    .command('explain <task>')
    .description('say why a task waits, or why it stopped, and what helps')
    .action((task: string, _: unknown, command: Command) =>
      dispatch.connected(flagsOf(command), async (context) => (await import('../commands/explain.ts')).explainTask(context, task)),
    );
}

function addFollowing(program: Command, dispatch: Dispatch): void {
  program
    .command('watch <task>')
    .description('follow a task to its end: phase, plan, budget, conversation, and what waits for you')
    .option('--plain', 'line by line, as where standard output is no terminal')
    .option('--timeout <seconds>', 'how long', seconds, longest)
    .addHelpText('after', '\nExit status: 0 it succeeded, 6 it ended otherwise, 7 the time is over and it goes on.')
    .action((task: string, _: unknown, command: Command) => {
      const flags = flagsOf(command);
      return dispatch.connected(flags, async (context) =>
        context.screen === undefined || flags.plain === true
          ? (await import('../commands/follow.ts')).watchTask(context, task, { timeoutSeconds: flags.timeout })
          : (await import('../commands/screens.ts')).watchScreen(context, task, { timeoutSeconds: flags.timeout }),
      );
    });
  program
    .command('top')
    .description('show tasks as they go on, what needs you first; once, where standard output is no terminal')
    .option('-A, --all-namespaces', 'of all namespaces')
    .option('-l, --selector <labels>', 'with these labels only')
    .action((_: unknown, command: Command) => {
      const { allNamespaces = false, selector, ...flags } = flagsOf(command);
      return dispatch.connected(flags, async (context) =>
        (await import('../commands/screens.ts')).top(context, { allNamespaces, ...given({ selector }) }),
      );
    });
  fromStore(program.command('logs <task>'))
    .description('print what happened to a task: its event log, or with -f its conversation as it goes on')
    .option('-f, --follow', 'until it has ended')
    .option('--events', 'the events of the cluster instead')
    .action((task: string, _: unknown, command: Command) => {
      const { follow = false, ...flags } = flagsOf(command);
      return dispatch.connected(flags, async (context) => (await import('../commands/logs.ts')).logs(context, task, { ...flags, follow }));
    });
}

function addResults(program: Command, dispatch: Dispatch): void {
  fromStore(program.command('report <task>'))
    .description('print how a task ended: outcome, checks, answer, what it used; with -o the whole report.json')
    .addOption(formatOption())
    .action((task: string, _: unknown, command: Command) => {
      const flags = flagsOf(command);
      return dispatch.connected(flags, async (context) => (await import('../commands/results.ts')).report(context, task, flags));
    });
  fromStore(program.command('artifacts <task> [name]'))
    .description('list the artifacts of a task, or fetch one and hold it against its hash')
    .addOption(formatOption())
    .option('--to <path>', 'where the one goes; default: its name, in this folder')
    .action((task: string, name: string | undefined, _: unknown, command: Command) => {
      const flags = flagsOf(command);
      return dispatch.connected(flags, async (context) => (await import('../commands/results.ts')).artifacts(context, task, name, flags));
    });
  program
    .command('snapshots <task>')
    .description('list the snapshots of a task, and what was restored')
    .addOption(formatOption())
    .action((task: string, _: unknown, command: Command) => {
      const flags = flagsOf(command);
      return dispatch.connected(flags, async (context) => (await import('../commands/results.ts')).snapshots(context, task, flags.output));
    });
}

/** Adds the commands that report on tasks. */
export function addViews(program: Command, dispatch: Dispatch): void {
  addTasks(program, dispatch);
  addFollowing(program, dispatch);
  addResults(program, dispatch);
}
