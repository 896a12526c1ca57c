import { Command } from 'commander';
import type { Dispatch } from './wiring/dispatch.ts';
import { addCluster } from './wiring/cluster.ts';
import { addEvidence, addMigrate } from './wiring/evidence.ts';
import { addOrders } from './wiring/orders.ts';
import { addRun } from './wiring/run.ts';
import { addViews } from './wiring/views.ts';

export type { Dispatch } from './wiring/dispatch.ts';

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
