import { phaseNamed, phases, type Phase } from './phases.ts';
import { victimNamed, victims, type Victim } from './victims.ts';

/** One death at one time. */
export interface Cell {
  readonly victim: Victim;
  readonly phase: Phase;
}

/** Where a container that is killed is not there yet. */
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

/** Each victim and each phase at least once; what every run of the tests plays. */
export const coveringSet: readonly Cell[] = pairs.map(([victim, phase]) => ({ victim: victimNamed(victim), phase: phaseNamed(phase) }));

/** Each victim in each phase in which it is there. */
export const fullMatrix: readonly Cell[] = victims.flatMap((victim) =>
  phases.filter((phase) => !impossible.has(`${victim.name} ${phase.name}`)).map((phase) => ({ victim, phase })),
);

/** Name of the task that plays a cell. */
export function taskName({ victim, phase }: Cell): string {
  return `${victim.name}-${phase.name}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}
