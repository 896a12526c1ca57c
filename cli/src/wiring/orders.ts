import type { Command } from 'commander';
import type { ConnectionFlags } from '../base/connection.ts';
import { type Dispatch, given, seconds } from './dispatch.ts';

interface OrderFlags extends ConnectionFlags {
  readonly reason?: string;
  readonly action?: string;
  readonly revision?: string;
  readonly restore?: string;
  readonly wait?: boolean;
  readonly timeout: number;
}

/** Adds `approve` or `reject`. */
function addAnswer(program: Command, dispatch: Dispatch, type: 'Approve' | 'Reject'): void {
  const verb = type.toLowerCase();
  program
    .command(`${verb} <target>`)
    .description(`${verb} the act that the task waits with, or the revision that expertpool/NAME or energymodel/NAME tries`)
    .option('--reason <text>', 'why, for the record')
    .option('--action <digest>', 'the act that is meant; it is an error when another one waits')
    .option('--revision <name>', 'the revision that is meant; it is an error when another one is tried')
    .option('--timeout <seconds>', 'how long to wait for the operator', seconds, 60)
    .action((task: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<OrderFlags>();
      const { reason, action, revision, timeout: timeoutSeconds } = flags;
      if (task.includes('/'))
        return dispatch.connected(flags, async (context) =>
          (await import('../commands/order.ts')).decideRollout(context, {
            type,
            target: task,
            timeoutSeconds,
            ...given({ reason, revision }),
          }),
        );
      return dispatch.connected(flags, async (context) =>
        (await import('../commands/order.ts')).answer(context, { type, task, timeoutSeconds, ...given({ reason, action }) }),
      );
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
      return dispatch.connected(flags, async (context) => (await import('../commands/order.ts')).answer(context, options));
    });
  program
    .command('message <task> <text>')
    .description('give the model of the task words, which it gets at its next step')
    .option('--restore <snapshot>', 'put all files back as they were at this snapshot of the conversation before')
    .option('--wait', 'until the model has them')
    .option('--timeout <seconds>', 'how long to wait', seconds, 300)
    .action((task: string, text: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<OrderFlags>();
      const { wait = false, timeout: timeoutSeconds, restore: snapshot } = flags;
      return dispatch.connected(flags, async (context) =>
        (await import('../commands/order.ts')).message(context, { task, message: text, wait, timeoutSeconds, ...given({ snapshot }) }),
      );
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
      return dispatch.connected(flags, async (context) =>
        (await import('../commands/order.ts')).cancel(context, { task, wait, timeoutSeconds, ...given({ reason }) }),
      );
    });
}

function addSuspend(program: Command, dispatch: Dispatch): void {
  for (const [verb, value, about] of [
    ['suspend', true, 'let the task wait after its current step, its clocks stopped'],
    ['resume', false, 'let a suspended task go on'],
  ] as const)
    program
      .command(`${verb} <task>`)
      .description(about)
      .action((task: string, _: unknown, command: Command) =>
        dispatch.connected(command.optsWithGlobals<ConnectionFlags>(), async (context) =>
          (await import('../commands/order.ts')).suspend(context, task, value),
        ),
      );
}

/** Adds the commands by which people give orders to a task. */
export function addOrders(program: Command, dispatch: Dispatch): void {
  addAnswer(program, dispatch, 'Approve');
  addAnswer(program, dispatch, 'Reject');
  addWords(program, dispatch);
  addSuspend(program, dispatch);
  addCancel(program, dispatch);
}
