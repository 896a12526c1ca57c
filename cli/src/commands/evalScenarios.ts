import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defaultBudget, EvalError, loadPack, type PackTask } from '@agentfleet/eval';
import { faultsOf, loadScenarios, type Scenario } from '@agentfleet/eval/scenarios';
import { CliError } from '../base/failure.ts';
import type { LocalContext } from './command.ts';
import { openLocal, packFolder } from './evalRun.ts';

interface EvalScenariosFlags {
  readonly only?: string;
  readonly out?: string;
}

/** Course of a scenario, as `--out` keeps it. */
export interface Played {
  readonly name: string;
  readonly says: string;
  readonly task: string;
  readonly tried: readonly string[];
  readonly decided: readonly string[];
  readonly outcome: string;
  readonly hidden: string;
  readonly rolledBack: boolean;
  readonly faults: readonly string[];
}

function taskOf(tasks: readonly PackTask[], { name, task }: Scenario, pack: string): PackTask {
  const found = tasks.find(({ id }) => id === `${pack}/${task}`);
  if (found === undefined) throw new EvalError(`scenario ${name}: pack ${pack} has no task ${task}`);
  return found;
}

/** Plays the scenarios of a pack. @throws CliError when one of them did not go as it expects */
export async function evalScenarios({ env, signal, print }: LocalContext, pack: string, flags: EvalScenariosFlags): Promise<void> {
  const folder = packFolder(pack, env);
  const { manifest, tasks } = await loadPack(folder);
  const scenarios = (await loadScenarios(join(folder, 'scenarios.yaml'))).filter(({ name }) => name.includes(flags.only ?? ''));
  if (scenarios.length === 0) throw new CliError(`no scenario of ${pack} has ${flags.only ?? ''} in its name; correct --only`);
  await using pool = await openLocal(env, defaultBudget);
  const all: Played[] = [];
  for (const scenario of scenarios) {
    const observed = await pool.play(scenario, taskOf(tasks, scenario, manifest.name), signal);
    const faults = faultsOf(scenario, observed);
    const { name, says, task } = scenario;
    const { decided, outcome, hidden } = observed;
    const tried = observed.tried.map(({ result }) => result);
    all.push({ name, says, task, tried, decided, outcome, hidden, rolledBack: observed.rolledBack?.verified === true, faults });
    print(`${faults.length === 0 ? 'as expected' : 'NOT SO '} ${name}: ${says}`);
    for (const fault of faults) print(`          ${fault}`);
  }
  if (flags.out !== undefined) {
    await mkdir(flags.out, { recursive: true });
    await writeFile(join(flags.out, 'scenarios.json'), `${JSON.stringify(all, null, 2)}\n`);
  }
  const wrong = all.filter(({ faults }) => faults.length > 0).length;
  print(`${all.length} scenarios, ${wrong} not as they say`);
  if (wrong > 0) throw new CliError(`${wrong} scenarios did not go as they say; the reasons stand below each of them`);
}
