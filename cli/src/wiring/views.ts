import { Option, type Command } from 'commander';
import { formats } from '../text/format.ts';
import { connected, type Dispatch, seconds } from './dispatch.ts';
import { fromStore } from './evidence.ts';

const longest = 86_400;

/** Returns the option that sets the format of the answer. */
export const formatOption = (choices: readonly string[] = ['json', 'yaml']): Option =>
  new Option('-o, --output <format>', 'for programs; default: as a table').choices(choices);

function addTasks(program: Command, dispatch: Dispatch): void {
  program
    .command('tasks [task]')
    .alias('get')
    .description('list tasks, or one')
    .option('-A, --all-namespaces', 'of all namespaces')
    .option('-l, --selector <labels>', 'with these labels only')
    .addOption(formatOption(formats))
    .action(connected(dispatch, () => import('../commands/tasks.ts'), 'tasks'));
  program
    .command('show <task>')
    .description('print the story of one task')
    .action(connected(dispatch, () => import('../commands/show.ts'), 'show'));
  program
    .command('explain <task>')
    .description('say why a task waits, or why it stopped, and what helps')
    .action(connected(dispatch, () => import('../commands/explain.ts'), 'explainTask'));
}

function addFollowing(program: Command, dispatch: Dispatch): void {
  program
    .command('watch <task>')
    .description('follow a task to its end: phase, plan, budget, conversation, and what waits for you')
    .option('--plain', 'line by line, as where standard output is no terminal')
    .option('--timeout <seconds>', 'how long', seconds, longest)
    .addHelpText('after', '\nExit status: 0 it succeeded, 6 it ended otherwise, 7 the time is over and it goes on, 11 it stands still.')
    .action(connected(dispatch, () => import('../commands/screens.ts'), 'watch'));
  program
    .command('top')
    .description('show tasks as they go on, what needs you first; once, where standard output is no terminal')
    .option('-A, --all-namespaces', 'of all namespaces')
    .option('-l, --selector <labels>', 'with these labels only')
    .action(connected(dispatch, () => import('../commands/screens.ts'), 'top'));
  fromStore(program.command('logs <task>'))
    .description('print the conversation of a task, and what else happened; "fleet audit show" has the records, uncut')
    .option('-f, --follow', 'until it has ended')
    .option('--events', 'the events of the cluster instead')
    .action(connected(dispatch, () => import('../commands/logs.ts'), 'logs'));
}

function addResults(program: Command, dispatch: Dispatch): void {
  fromStore(program.command('report <task>'))
    .description('print how a task ended: outcome, checks, answer, what it used; with -o the whole report.json')
    .addOption(formatOption())
    .action(connected(dispatch, () => import('../commands/results.ts'), 'report'));
  fromStore(program.command('artifacts <task> [name]'))
    .description('list the artifacts of a task, or fetch one and hold it against its hash')
    .addOption(formatOption())
    .option('--to <path>', 'where the one goes; default: its name, in this folder')
    .action(connected(dispatch, () => import('../commands/results.ts'), 'artifacts'));
  program
    .command('snapshots <task>')
    .description('list the snapshots of a task, and what was restored')
    .addOption(formatOption())
    .action(connected(dispatch, () => import('../commands/results.ts'), 'snapshots'));
}

/** Adds the commands that report on tasks. */
export function addViews(program: Command, dispatch: Dispatch): void {
  addTasks(program, dispatch);
  addFollowing(program, dispatch);
  addResults(program, dispatch);
}
