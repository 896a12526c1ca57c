import { Option, type Command } from 'commander';
import { ablations, defaultBudget } from '@agentfleet/eval';
import type { EvalRunFlags } from '../commands/index.ts';
import { addModelOptions, wholeNumber } from '../base/modelOptions.ts';
import { connected, type Dispatch, flagsOf, locally } from './dispatch.ts';

const list = (text: string): readonly string[] => text.split(',').filter((name) => name !== '');
const mostSeed = 2 ** 31 - 1;

function addRun(program: Command, dispatch: Dispatch): void {
  const run = program
    .command('run <pack...>')
    .description('run packs and judge what was made of their tasks by checks that no agent saw')
    .option('--pool <pool>', 'local: processes of this machine; NAMESPACE/NAME: a pool of the cluster', 'local')
    .addOption(new Option('--split <half>', 'tasks to tune on, or tasks to report').choices(['dev', 'held-out']))
    .option('--only <text>', 'tasks with this in their id, or with one of several, separated by commas')
    .option('--sample <n>', 'so many tasks of each pack, the same for the same seed', wholeNumber(1, 100_000))
    .option('--seed <n>', 'of the sample and of all attempts, the same for all variants', wholeNumber(0, mostSeed), 1)
    .option('--rounds <n>', 'make each attempt so often; 2 shows what flakes', wholeNumber(1, 10), 1)
    .option('--parallel <n>', 'attempts at a time', wholeNumber(1, 64), 2)
    .option('--ablate <names>', `compare with the fleet without a part: ${ablations.join(', ')}`, list, [])
    .option('--matrix', 'compare with every ablation')
    .option('--profiles <names>', 'profiles of the pool of a cluster, to be compared', list, [])
    .addOption(
      new Option(
        '--judge <place>',
        'where patches of a cluster meet hidden checks: in sandboxes of this machine, or in fresh ones of the pool',
      )
        .choices(['local', 'pool'])
        .default('local'),
    )
    .option('--tool-calls <n>', 'commands and edits of each attempt', wholeNumber(1, 1_000_000), defaultBudget.toolCalls)
    .option('--wall-seconds <n>', 'wall time of each attempt', wholeNumber(10, 86_400), defaultBudget.wallSeconds)
    .option('--out <folder>', 'where results and reports go', 'eval-results')
    .option('--resume', 'go on with the results that are there');
  addModelOptions(run).action((...given: unknown[]) => {
    const command = [dispatch, () => import('../commands/evalRun.ts'), 'evalRun'] as const;
    return ((flagsOf(given) as Partial<EvalRunFlags>).pool === 'local' ? locally(...command) : connected(...command))(...given);
  });
}

function addReport(program: Command, dispatch: Dispatch): void {
  program
    .command('report <folder>')
    .description('write the reports of results anew')
    .action(locally(dispatch, () => import('../commands/evalCompare.ts'), 'evalReport'));
  program
    .command('verify <pack>')
    .description('check that oracles pass, and that doing nothing and decoys do not')
    .option('--only <text>', 'tasks with this in their id')
    .option('--sample <n>', 'a fixed sample of so many', wholeNumber(1, 100_000))
    .option('--parallel <n>', 'tasks at a time', wholeNumber(1, 64), 2)
    .option('--out <folder>', 'where the numbers go as JSON')
    .option('--resume', 'go on with the numbers that are there; a task that has changed is verified anew')
    .action(locally(dispatch, () => import('../commands/evalVerify.ts'), 'evalVerify'));
}

/** Commands about packs and how well they are solved. */
export function addEval(root: Command, dispatch: Dispatch): void {
  const program = root.command('eval').description('measure a pool by packs of tasks');
  addRun(program, dispatch);
  program
    .command('compare <first> <second>')
    .description('compare two results task by task; each is a folder, or FOLDER:VARIANT')
    .action(locally(dispatch, () => import('../commands/evalCompare.ts'), 'evalCompare'));
  program
    .command('judge <pack>')
    .description('judge the dev half of hazard, hazard-2, injection or injection-2 by the gates, as before an act; nothing is run')
    .option('--ablate <names>', `compare with the fleet without a part: ${ablations.join(', ')}`, list, [])
    .addOption(new Option('--thresholds <source>', 'of the EnergyModel').choices(['Fixed', 'Calibration']).default('Fixed'))
    .option('--entries', 'list what was judged against its label')
    .option('--out <folder>', 'where the verdicts go as JSON')
    .action(locally(dispatch, () => import('../commands/evalVerify.ts'), 'evalJudge'));
  program
    .command('scenarios <pack>')
    .description('play the scenarios of a pack in processes of this machine, and hold their event logs to what they say')
    .option('--only <text>', 'scenarios with this in their name')
    .option('--out <folder>', 'where the results go as JSON')
    .action(locally(dispatch, () => import('../commands/evalScenarios.ts'), 'evalScenarios'));
  addReport(program, dispatch);
}
