import { placeOf, type Place, type Places } from '../shell/places.ts';
import type { Command } from '../shell/command.ts';
import { printable } from '../shell/marks.ts';
import type { Policy, Risk, Severity } from '../verdict/types.ts';

/** Finding of a rail in a command; the span is the command's. */
export interface Found {
  readonly severity: Severity;
  readonly reason: string;
  readonly cure?: string;
}

/** Facts that a rail may use besides the command. */
export interface Surroundings {
  readonly policy: Policy;
  readonly places: Places;
  place(text: string, command: Command): Place;
}

/** One rule of gate 1: pure, and asked about each simple command. */
export interface Rail {
  /** Stable: it stands in logs, verdicts and policies. */
  readonly id: string;
  /** One line for the page of rails. */
  readonly title: string;
  /** The worst verdict that it gives. */
  readonly severity: Severity;
  /** Effect on the world of an act that it finds. */
  readonly risk: Risk;
  /** Alternative to the act, unless a finding has a better one. */
  readonly cure: string;
  check(command: Command, around: Surroundings): readonly Found[];
}

export function surroundings(policy: Policy, places: Places): Surroundings {
  return { policy, places, place: (text, command) => placeOf(text, command.cwd, places) };
}

export const nothing: readonly Found[] = [];

export function found(severity: Severity, reason: string, cure?: string): readonly Found[] {
  return [{ severity, reason: printable(reason), ...(cure === undefined ? {} : { cure }) }];
}
