import type { Grammars, Node } from '../syntax/node.ts';
import type { Span } from '../verdict/types.ts';
import { dynamic, fixed, type Code, type Command, type Program, type ProgramPlace, type Value } from './command.ts';
import type { Prepared } from './prepare.ts';

/** Reason why a command line could not be understood in full. */
export interface Problem {
  readonly kind: 'syntax' | 'limit' | 'dynamic';
  readonly what: string;
  readonly span: Span;
  readonly at: ProgramPlace | null;
}

/** One text that is being walked: the act's own, or one that was found inside it. */
export interface Frame {
  readonly prepared: Prepared;
  /** Set when the text is not the act's own: then all spans are this one. */
  readonly within: Span | null;
  /** The whole of the text; null: offsets of nodes are not those of it. */
  readonly program: Program | null;
  /** The outermost place in a program within the act that is being walked. */
  readonly at: ProgramPlace | null;
  readonly depth: number;
  readonly via: readonly string[];
  /** Bodies of the functions that are being walked: a call of one of them again is recursion. */
  readonly active?: readonly Node[];
}

/** A command before it is dispatched. */
export type Call = Pick<Command, 'argv'> & Partial<Pick<Command, 'env' | 'redirects' | 'stdin' | 'hidden'>>;

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

/** Possible values of a variable: alternatives, each a list of fields (one for a plain variable). */
export type Alternatives = readonly (readonly Value[])[];

const maxAlternatives = 8;

/** The state of one shell: a subshell works on a copy, branches are merged. */
export class Scope {
  readonly variables: Map<string, Alternatives>;
  /** Bodies, which are walked in the text that defined them. */
  readonly functions: Map<string, Node & { readonly source: Frame }>;
  positional: readonly Value[];
  cwd: string;

  constructor(from: { variables?: Map<string, Alternatives>; functions?: Scope['functions']; positional?: readonly Value[]; cwd: string }) {
    this.variables = new Map(from.variables);
    this.functions = new Map(from.functions);
    this.positional = from.positional ?? [];
    this.cwd = from.cwd;
  }

  copy(): Scope {
    return new Scope(this);
  }

  set(name: string, alternatives: Alternatives): void {
    this.variables.set(name, limit(alternatives));
  }

  /** After this scope or another ran: what may be true then. */
  merge(other: Scope): void {
    for (const [name, alternatives] of other.variables) {
      const mine = this.variables.get(name);
      if (mine !== alternatives) this.variables.set(name, limit([...(mine ?? [[fixed('')]]), ...alternatives]));
    }
    for (const [name, body] of other.functions) if (!this.functions.has(name)) this.functions.set(name, body);
  }
}

function limit(alternatives: Alternatives): Alternatives {
  const seen = new Map<string, readonly Value[]>();
  for (const fields of alternatives) {
    const key = fields.map((value) => value.text).join('\0');
    const known = seen.get(key);
    if (known === undefined || known.every((value) => value.from.length === 0)) seen.set(key, fields);
  }
  const all = [...seen.values()];
  if (all.length <= maxAlternatives) return all;
  return [...all.slice(0, maxAlternatives), [dynamic(all.flat().flatMap((value) => value.from))]];
}

/** Something that a command runs in turn. */
export type Inner = Common & ({ readonly argv: readonly Value[] } | { readonly code: Code });

export type Unwrapper = (command: Command, run: Run, site: Site) => readonly Inner[];

interface Common {
  readonly env?: ReadonlyMap<string, Value>;
  readonly stdin?: Value;
  readonly positional?: readonly Value[];
  /** Value of `$0` inside. */
  readonly zero?: Value;
  /** It runs in the shell itself, as `eval` does. */
  readonly sameShell?: boolean;
}

export interface Limits {
  steps: number;
  commands: number;
  characters: number;
  /** Characters and words that may still be made and looked at: a line of a few words can become very many. */
  work: number;
  readonly depth: number;
}

export const freshLimits = (): Limits => ({ steps: 20_000, commands: 1_000, characters: 262_144, work: 524_288, depth: 10 });

export function problem(run: Run, kind: Problem['kind'], what: string, span: Span, at: ProgramPlace | null = null): void {
  if (!run.problems.some((one) => one.what === what && one.span.start === span.start)) run.problems.push({ kind, what, span, at });
}

/** False, and noted, when the walk has done enough. */
export function mayStep(run: Run, span: Span): boolean {
  run.limits.steps -= 1;
  return goesOn(run, span);
}

/** The same before so much work. */
export function maySpend(run: Run, { span }: Pick<Site, 'span'>, work: number): boolean {
  run.limits.work -= work;
  return goesOn(run, span);
}

function goesOn(run: Run, span: Span): boolean {
  if (run.limits.steps > 0 && run.limits.commands > 0 && run.limits.work > 0) return true;
  problem(run, 'limit', 'the command line is too large to judge', { start: 0, end: span.end });
  return false;
}

export function spanOf(node: Node, frame: Frame): Span {
  if (frame.within !== null) return frame.within;
  const { offsets } = frame.prepared;
  return { start: offsets[node.start] ?? 0, end: offsets[node.end] ?? offsets.at(-1) ?? 0 };
}
