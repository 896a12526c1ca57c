// test, e2e/matrix: pairs of victim and phase for kills in the fleet. May import any package.
import { phaseNamed, phases, type Phase } from './phases.ts';
import { victimNamed, victims, type Victim } from './victims.ts';

/** One kill at one time. */
export interface Cell {
  readonly victim: Victim;
  readonly phase: Phase;
}

/** Phases in which the container does not exist yet. */
const impossible: ReadonlySet<string> = new Set(['keeper Preparing', 'tools Preparing']);

const pairs: readonly (readonly [victim: string, phase: string])[] = [
  ['operator', 'Preparing'],
  ['worker', 'SettingUp'],
  ['keeper', 'Baseline'],
  ['sandbox', 'Repairing'],
  ['EBM', 'Repairing'],
  ['expert', 'Repairing'],
  ['tools', 'Verifying'],
  ['worker', 'RollingBack'],
  ['API server', 'Repairing'],
];

/** Each victim and each phase at least once; played by every test run. */
export const coveringSet: readonly Cell[] = pairs.map(([victim, phase]) => ({ victim: victimNamed(victim), phase: phaseNamed(phase) }));

/** Each victim in each phase in which it is there. */
export const fullMatrix: readonly Cell[] = victims.flatMap((victim) =>
  phases.filter((phase) => !impossible.has(`${victim.name} ${phase.name}`)).map((phase) => ({ victim, phase })),
);

/** Name of the task that plays a cell. */
export function taskName({ victim, phase }: Cell): string {
  return `${victim.name}-${phase.name}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}
