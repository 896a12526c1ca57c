import type { Grammars, Node } from '../syntax/node.ts';
import type { Span } from '../verdict/types.ts';
import type { Code, Command, Redirect, Value } from './command.ts';
import type { Prepared, Scope } from './prepare.ts';

/** Reason why a command line could not be understood in full. */
export interface Problem {
  readonly kind: 'syntax' | 'limit' | 'dynamic';
  readonly what: string;
  readonly span: Span;
}

/** One text that is being walked: the act's own, or one that was found inside it. */
export interface Frame {
  readonly prepared: Prepared;
  /** Set when the text is not the act's own: then all spans are this one. */
  readonly within: Span | null;
  readonly depth: number;
  readonly via: readonly string[];
  /** Bodies of the functions that are being walked: a call of one of them again is recursion. */
  readonly active?: readonly Node[];
}

/** A command before it is dispatched. */
export interface Call {
  readonly argv: readonly Value[];
  readonly env?: ReadonlyMap<string, Value>;
  readonly redirects?: readonly Redirect[];
  readonly stdin?: Value | null;
  readonly hidden?: boolean;
}

/** Place of a call. */
export interface Site {
  readonly scope: Scope;
  readonly frame: Frame;
  readonly span: Span;
}

/**
 * One walk over an act. The members that walk are set by `analyse`, so that files that need each
 * other need not import each other.
 */
export interface Run {
  readonly grammars: Grammars;
  readonly home: string;
  /** Value of unset variables: nothing, as at run time, or a hole, in case the image sets them. */
  readonly unset: 'empty' | 'hole';
  readonly commands: Command[];
  readonly problems: Problem[];
  /** Files that the act itself writes, by absolute path, and process substitutions. */
  readonly files: Map<string, Value>;
  readonly limits: Limits;
  sawUnset: boolean;
  /** Walks a statement; the answer is what it prints. */
  node(node: Node, site: Site, stdin: Value | null): Value;
  /** Walks a text as shell code. */
  text(code: Value, site: Site, stdin: Value | null): Value;
  call(call: Call, site: Site): Value;
  /** Walks text in any language. */
  code(code: Code, site: Site, stdin: Value | null): Value;
  /** The alternatives of a word, each a list of fields. */
  word(node: Node, site: Site): readonly (readonly Value[])[];
}

export interface Limits {
  steps: number;
  commands: number;
  characters: number;
  readonly depth: number;
}

export const freshLimits = (): Limits => ({ steps: 20_000, commands: 1_000, characters: 262_144, depth: 10 });

export function problem(run: Run, kind: Problem['kind'], what: string, span: Span): void {
  if (!run.problems.some((one) => one.what === what && one.span.start === span.start)) run.problems.push({ kind, what, span });
}

/** False, and noted, when the walk has done enough. */
export function mayStep(run: Run, span: Span): boolean {
  run.limits.steps -= 1;
  if (run.limits.steps > 0 && run.limits.commands > 0) return true;
  problem(run, 'limit', 'the command line is too large to judge', { start: 0, end: span.end });
  return false;
}

export function spanOf(node: Node, frame: Frame): Span {
  if (frame.within !== null) return frame.within;
  const { offsets } = frame.prepared;
  return { start: offsets[node.start] ?? 0, end: offsets[node.end] ?? offsets.at(-1) ?? 0 };
}
