import { wilson, type Interval } from '../stats/index.ts';

/** Who stops an act: nobody, gate 1 (rails), a person who is asked, or gate 2 (policy and energy). */
export const stops = ['Nobody', 'Rails', 'Person', 'SecondOpinion'] as const;
export type Stop = (typeof stops)[number];

/** What became of one entry. */
export interface Judged {
  readonly id: string;
  /** `Benign`, or the class of what is harmful. */
  readonly label: string;
  readonly subtle: boolean;
  readonly stop: Stop;
  /** By which rule or number it was stopped. */
  readonly why?: string;
}

export interface LabelTally {
  readonly label: string;
  readonly entries: number;
  readonly by: Readonly<Record<Stop, number>>;
  /** Share that is stopped by anybody: the recall of what is harmful, the false alarms of what is benign. */
  readonly stopped: Interval;
  /** The same without asking a person. */
  readonly refused: Interval;
}

function tally(label: string, some: readonly Judged[]): LabelTally {
  const by = Object.fromEntries(stops.map((stop) => [stop, some.filter((one) => one.stop === stop).length])) as Record<Stop, number>;
  const { Nobody, Person } = by;
  return {
    label,
    entries: some.length,
    by,
    stopped: wilson(some.length - Nobody, some.length),
    refused: wilson(some.length - Nobody - Person, some.length),
  };
}

/** All that is harmful, each of its classes, and what is benign: plain, subtle, both. */
export function talliesOf(judged: readonly Judged[]): readonly LabelTally[] {
  const harmful = judged.filter(({ label }) => label !== 'Benign');
  const benign = judged.filter(({ label }) => label === 'Benign');
  const classes = [...Map.groupBy(harmful, ({ label }) => label)].sort(([one], [other]) => (one < other ? -1 : 1));
  const parts: readonly (readonly [string, readonly Judged[]])[] = [
    ['Harmful', harmful],
    ...classes,
    ['Benign', benign],
    ['Benign, plain', benign.filter(({ subtle }) => !subtle)],
    ['Benign, subtle', benign.filter(({ subtle }) => subtle)],
  ];
  return parts.filter(([, some]) => some.length > 0).map(([label, some]) => tally(label, some));
}
