import { brokenPromises, condition, type Fleet } from '../fleet.ts';
import { taskName, type Cell } from './cells.ts';

/** Result of a cell. */
export interface Played {
  readonly cell: Cell;
  /** Sentences about faults; empty without any. */
  readonly faults: readonly string[];
  /** End of the task, with the attempts that it took and their classes. */
  readonly end: string;
  /** From the kill to the end of the task. */
  readonly seconds: number;
}

const patienceSeconds = { reach: 90, end: 240 } as const;

/** Applies the task of the cell, kills the victim in the phase and waits for the end. */
export async function play(fleet: Fleet, cell: Cell): Promise<Played> {
  const { victim, phase } = cell;
  const name = taskName(cell);
  await fleet.task(name, phase.repository, phase.spec);
  await fleet.until(name, `is ${phase.name}`, patienceSeconds.reach, phase.holds);
  const died = Date.now();
  await victim.kill(fleet, name);
  const task = await fleet.finished(name, patienceSeconds.end);
  const seconds = (Date.now() - died) / 1000;
  const attempts = task.status?.attempts ?? [];
  const classes = attempts.map((attempt) => attempt.class ?? 'done');
  const faults = [...brokenPromises(fleet, name), ...endFaults(cell, fleet, name), ...(await leaks(fleet, name))];
  return { cell, faults, end: `${task.status?.phase ?? ''} (${classes.join(', ')})`, seconds };
}

function endFaults({ phase }: Cell, fleet: Fleet, name: string): readonly string[] {
  const task = fleet.state(name);
  if (task === undefined) return ['the task is gone'];
  const faults: string[] = [];
  const said = condition(task, 'Succeeded');
  const wanted = phase.end === 'Succeeded' ? 'True' : 'False';
  if (said?.status !== wanted) faults.push(`Succeeded is ${said?.status ?? 'absent'} (${said?.reason ?? ''}: ${said?.message ?? ''})`);
  const undone = condition(task, 'RolledBack');
  if (phase.end === 'RolledBack' && undone?.status !== 'True')
    faults.push(`RolledBack is ${undone?.status ?? 'absent'} (${undone?.reason ?? ''})`);
  const { patch = '' } = task.status?.run ?? {};
  const { repaired } = phase.repository;
  if (phase.end === 'Succeeded' && repaired?.test(patch) !== true) faults.push('the patch does not hold the repair');
  const charged = (task.status?.attempts ?? []).filter((one) => one.class !== undefined && one.class !== 'Infrastructure');
  const own = phase.end === 'RolledBack' ? 1 : 0;
  if (charged.length > own) faults.push(`the death was charged to the task: ${charged.map((one) => one.class).join(', ')}`);
  return faults;
}

/** A sandbox that outlives its task. */
async function leaks(fleet: Fleet, name: string): Promise<readonly string[]> {
  const gone = fleet.run('wait', '--for=delete', 'pod', '-l', `agentfleet.dev/task=${name}`, '--timeout=90s');
  return gone.then(
    () => [],
    () => ['a sandbox of the task is left'],
  );
}
