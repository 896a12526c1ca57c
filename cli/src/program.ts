import { Command, InvalidArgumentError } from 'commander';
import { answer } from './commands/answer.ts';
import { cancel } from './commands/cancel.ts';
import { message } from './commands/message.ts';
import { show } from './commands/show.ts';
import { tasks } from './commands/tasks.ts';
import type { ConnectionFlags } from './connection.ts';
import { given, type Dispatch } from './dispatch.ts';
import { addEval } from './evalProgram.ts';
import { addEvidence } from './evidenceProgram.ts';

function seconds(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 86_400) throw new InvalidArgumentError('write whole seconds from 1 to 86400');
  return value;
}

interface OrderFlags extends ConnectionFlags {
  readonly reason?: string;
  readonly action?: string;
  readonly wait?: boolean;
  readonly timeout: number;
}

function addAnswer(program: Command, dispatch: Dispatch, type: 'Approve' | 'Reject'): void {
  const verb = type.toLowerCase();
  program
    .command(`${verb} <task>`)
    .description(`${verb} the act that the task waits with`)
    .option('--reason <text>', 'why, for the record')
    .option('--action <digest>', 'the act that is meant; it is an error when another one waits')
    .option('--timeout <seconds>', 'how long to wait for the operator', seconds, 60)
    .action((task: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<OrderFlags>();
      const { reason, action, timeout: timeoutSeconds } = flags;
      return dispatch.connected(flags, (context) => answer(context, { type, task, timeoutSeconds, ...given({ reason, action }) }));
    });
}

function addWords(program: Command, dispatch: Dispatch): void {
  program
    .command('answer <task> <text>')
    .description('answer the question that the task waits with')
    .option('--action <digest>', 'the question that is meant; it is an error when another one waits')
    .option('--timeout <seconds>', 'how long to wait for the operator', seconds, 60)
    .action((task: string, text: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<OrderFlags>();
      const { action, timeout: timeoutSeconds } = flags;
      const options = { type: 'Answer', task, message: text, timeoutSeconds, ...given({ action }) } as const;
      return dispatch.connected(flags, (context) => answer(context, options));
    });
  program
    .command('message <task> <text>')
    .description('give the model of the task words, which it gets at its next step')
    .option('--wait', 'until the model has them')
    .option('--timeout <seconds>', 'how long to wait', seconds, 300)
    .action((task: string, text: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<OrderFlags>();
      const { wait = false, timeout: timeoutSeconds } = flags;
      return dispatch.connected(flags, (context) => message(context, { task, message: text, wait, timeoutSeconds }));
    });
}

function addCancel(program: Command, dispatch: Dispatch): void {
  program
    .command('cancel <task>')
    .description('cancel the task and undo what it changed')
    .option('--reason <text>', 'why, for the record')
    .option('--wait', 'until the task has ended')
    .option('--timeout <seconds>', 'how long to wait', seconds, 300)
    .action((task: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<OrderFlags>();
      const { reason, wait = false, timeout: timeoutSeconds } = flags;
      return dispatch.connected(flags, (context) => cancel(context, { task, wait, timeoutSeconds, ...given({ reason }) }));
    });
}

function addViews(program: Command, dispatch: Dispatch): void {
  program
    .command('tasks')
    .description('list tasks')
    .option('-A, --all-namespaces', 'of all namespaces')
    .option('-l, --selector <labels>', 'with these labels only')
    .action((_: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ConnectionFlags & { readonly allNamespaces?: boolean; readonly selector?: string }>();
      const { allNamespaces = false, selector } = flags;
      return dispatch.connected(flags, (context) => tasks(context, { allNamespaces, ...given({ selector }) }));
    });
  program
    .command('show <task>')
    .description('tell the story of one task')
    .action((task: string, _: unknown, command: Command) =>
      dispatch.connected(command.optsWithGlobals<ConnectionFlags>(), (context) => show(context, task)),
    );
}

export type { Dispatch } from './dispatch.ts';

/** Commands and options. */
export function createProgram(dispatch: Dispatch): Command {
  const program = new Command('fleet')
    .description('What people do with agent tasks. As kubectl-fleet on the PATH it is "kubectl fleet".')
    .version('0.1.0')
    .option('-n, --namespace <name>', 'namespace of the task; default: that of the context')
    .option('--kubeconfig <path>', 'kubeconfig; default: $KUBECONFIG, then ~/.kube/config')
    .option('--context <name>', 'context of the kubeconfig; default: the current one')
    .showHelpAfterError('look at the options with --help');
  addAnswer(program, dispatch, 'Approve');
  addAnswer(program, dispatch, 'Reject');
  addWords(program, dispatch);
  addCancel(program, dispatch);
  addViews(program, dispatch);
  addEvidence(program, dispatch);
  addEval(program, dispatch);
  return program;
}
