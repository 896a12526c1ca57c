import type { Features } from '@agentfleet/protocol/inference';

/** A range of the judged text in UTF-16 units, end exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The proposed acts, as the keeper would receive them, less what does not matter to a decision. */
export type Act =
  | { readonly tool: 'Shell'; readonly command: string; readonly cwd?: string; readonly stdin?: string }
  | { readonly tool: 'ExecCode'; readonly argv: readonly string[]; readonly cwd?: string }
  | { readonly tool: 'FileWrite'; readonly path: string; readonly content?: string };

/** A source file before and after a change. */
export interface SourceChange {
  /** Relative to the workspace, with `/`. */
  readonly path: string;
  /** Null for a new file. */
  readonly before: string | null;
  readonly after: string;
}

/** A place in a source file that decides by itself how an assertion about its objects ends. */
export interface Override {
  /** Place that it is in: `Money.__eq__`, `Proxy`. */
  readonly where: string;
  /** Reason why it is asked about, as the rest of a sentence about `where`. */
  readonly what: string;
  /** The text of it, by which what was there before is known again. */
  readonly text: string;
}

export const profiles = ['Strict', 'Default', 'Permissive', 'Privileged'] as const;
export type Profile = (typeof profiles)[number];

/** Permissions of the task. All paths are absolute. */
export interface Policy {
  readonly profile: Profile;
  /** Folders the task may write to; the first is the default working folder. */
  readonly roots: readonly string[];
  readonly network: 'Loopback' | 'None' | 'Allowed';
  /** True for files that decide whether the task succeeded: tests, their configuration, check scripts. */
  readonly protectedPaths?: (path: string) => boolean;
  /** True for tests that the agent may add: what is there is its own. */
  readonly ownTests?: (path: string) => boolean;
  /** True for paths that were not there at the start: to delete them loses no work but the agent's own. */
  readonly isNew?: (path: string) => boolean;
}

/** From harmless to final; a verdict takes the last that any finding asks for. */
export const decisions = ['Allow', 'NeedsSnapshot', 'Review', 'NeedsApproval', 'Deny'] as const;
export type Decision = (typeof decisions)[number];

/** Effects of an act on the world, in the order of what the caller must prepare for. */
export const risks = ['ReadOnly', 'Reversible', 'Unknown', 'External', 'Destructive'] as const;
export type Risk = (typeof risks)[number];

/** The last of some values in their order; the first of the order where there are none. */
export function highest<T>(order: readonly T[], values: readonly T[]): T {
  return order[Math.max(0, ...values.map((value) => order.indexOf(value)))] as T;
}

/** Certainty of a rail that an agent has no business there; the profile turns it into a decision. */
export const severities = ['Notice', 'Reversible', 'Suspicious', 'Unknown', 'High', 'Critical'] as const;
export type Severity = (typeof severities)[number];

export interface Finding {
  /** Stable id of the rail, such as `catastrophic-delete`. */
  readonly rail: string;
  readonly severity: Severity;
  readonly span: Span;
  readonly reason: string;
  /** Alternative to the act. */
  readonly cure: string;
  /** The line of a program that does it, where the act runs or writes one; absent: the span shows it. */
  readonly line?: ProgramLine;
}

/** A line of a program. */
export interface ProgramLine {
  /** From 1; absent: the program was put together out of a file, whose lines are others. */
  readonly number?: number;
  /** As the act names it; absent: the program stands in the act. */
  readonly file?: string;
  readonly text: string;
}

/** One simple command as gate 1 understood it; `…` stands for what only the run would show. */
export interface NormalCommand {
  readonly argv: readonly string[];
  /** Wrappers it was found under, outermost first. */
  readonly via: readonly string[];
  readonly span: Span;
}

export interface Verdict {
  readonly decision: Decision;
  readonly risk: Risk;
  /** True when it is of a class that is known to do no harm. What is not goes to gate 2, also where no rail finds anything. */
  readonly allowlisted: boolean;
  readonly findings: readonly Finding[];
  readonly simpleCommands: readonly NormalCommand[];
  /** Features of its parsed form, for gate 2; counts of words that were understood, never of letters. */
  readonly structure: Features;
}
