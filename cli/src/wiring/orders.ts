import type { Command } from 'commander';
import { connected, type Dispatch, seconds } from './dispatch.ts';

const load = () => import('../commands/order.ts');

/** Adds `approve` or `reject`. */
function addDecision(program: Command, dispatch: Dispatch, verb: 'approve' | 'reject'): void {
  program
    .command(`${verb} <target>`)
    .description(`${verb} the act that the task waits with, or the revision that expertpool/NAME or energymodel/NAME tries`)
    .option('--reason <text>', 'why, for the record')
    .option('--action <digest>', 'the act that is meant, by its digest or at least 16 digits of it; it is an error when another one waits')
    .option('--revision <name>', 'the revision that is meant; it is an error when another one is tried')
    .option('--timeout <seconds>', 'how long to wait for the operator', seconds, 60)
    .action(connected(dispatch, load, verb));
}

function addWords(program: Command, dispatch: Dispatch): void {
  program
    .command('answer <task> <text>')
    .description('answer the question that the task waits with')
    .option('--action <digest>', 'the question that is meant, in the same way; it is an error when another one waits')
    .option('--timeout <seconds>', 'how long to wait for the operator', seconds, 60)
    .action(connected(dispatch, load, 'answer'));
  program
    .command('message <task> <text>')
    .description('give the model of the task words, which it gets at its next step')
    .option('--restore <snapshot>', 'put all files back as they were at this snapshot of the conversation before')
    .option('--wait', 'until the model has them')
    .option('--timeout <seconds>', 'how long to wait', seconds, 300)
    .action(connected(dispatch, load, 'message'));
}

/** Adds the commands by which people give orders to a task. */
export function addOrders(program: Command, dispatch: Dispatch): void {
  addDecision(program, dispatch, 'approve');
  addDecision(program, dispatch, 'reject');
  addWords(program, dispatch);
  program
    .command('suspend <task>')
    .description('let the task wait after its current step, its clocks stopped')
    .action(connected(dispatch, load, 'suspend'));
  program
    .command('resume <task>')
    .description('let a suspended task go on')
    .action(connected(dispatch, load, 'resume'));
  program
    .command('cancel <task>')
    .description('cancel the task and undo what it changed')
    .option('--reason <text>', 'why, for the record')
    .option('--wait', 'until the task has ended')
    .option('--timeout <seconds>', 'how long to wait', seconds, 300)
    .action(connected(dispatch, load, 'cancel'));
}
