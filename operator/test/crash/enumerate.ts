import { seededRandom } from '@agentfleet/kube/testing';
import type { Verdict } from './world.ts';

/** One death of the operator, or one error that it lives through. */
export interface Crash extends Verdict {
  /** The write at which it happens, counted from 1. */
  readonly at: number;
}

const deaths: readonly Verdict[] = [
  { injection: 'never sent', survives: false },
  { injection: 'answer lost', survives: false },
  { injection: 'error after commit', survives: false },
];

/** Ways in which a write goes wrong: three deaths, and an error that the process lives on with. */
export const modes: readonly Verdict[] = [...deaths, { injection: 'error after commit', survives: true }];

export const modeName = ({ injection, survives }: Verdict): string => (survives ? `${injection}, and it lives on` : injection);

export const crashName = (crashes: readonly Crash[]): string => crashes.map((crash) => `write ${crash.at} ${modeName(crash)}`).join(', ');

/** Every write with one mode. */
export function singles(writes: number, mode: Verdict): readonly (readonly Crash[])[] {
  return Array.from({ length: writes }, (_, i) => [{ ...mode, at: i + 1 }]);
}

/** Two deaths at any two writes of which the second one may be a write that the first death brought. */
export function pairs(writes: number): readonly (readonly Crash[])[] {
  const all: Crash[][] = [];
  for (let first = 1; first <= writes; first += 1)
    for (let second = first + 1; second <= writes + 2; second += 1)
      for (const one of deaths)
        for (const other of deaths)
          all.push([
            { ...one, at: first },
            { ...other, at: second },
          ]);
  return all;
}

/** As many as wanted, drawn with a seed; all in their order when there are no more. */
export function sample<T>(all: readonly T[], count: number, seed: number): readonly T[] {
  if (all.length <= count) return all;
  const random = seededRandom(seed);
  const left = [...all];
  return Array.from({ length: count }, () => left.splice(Math.floor(random() * left.length), 1)[0]!);
}

/** Returns the injection of each write under these crashes. */
export function injectionOf(crashes: readonly Crash[]): (n: number) => Verdict | undefined {
  return (n) => crashes.find(({ at }) => at === n);
}
