import type { Span } from '../verdict/types.ts';
import { hasHole, hole } from './marks.ts';

/** The entry of a table for a name that comes from outside: never a member that every object has. */
export function lookup<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** A table by name; each row has the names that share an entry, with blanks between them. */
export function byName<T>(...rows: readonly (readonly [names: string, entry: T])[]): Readonly<Record<string, T>> {
  return Object.fromEntries(rows.flatMap(([names, entry]) => names.split(' ').map((name) => [name, entry])));
}

/** A text with marks, and the commands whose output is part of it. */
export interface Value {
  readonly text: string;
  readonly from: readonly Command[];
}

export type Language = 'shell' | 'python' | 'javascript' | 'text';

/** Text that a command runs as a program. */
export interface Code {
  readonly language: Language;
  readonly value: Value;
  readonly source: 'argument' | 'elsewhere';
  /** Name of the file that it stands in. */
  readonly file?: string;
}

/** A place in the text of a program, as an offset. */
export interface ProgramPlace extends Program {
  readonly offset: number;
}

export interface Program {
  readonly text: string;
  readonly file?: string;
}

export interface Redirect {
  /** As written: `>`, `>>`, `<`, `&>`, `>&` … */
  readonly operator: string;
  readonly target: Value;
}

/** One simple command with everything that was known when it would run. */
export interface Command {
  /** Base name of the program; with a hole when it is not known; empty for a bare redirect. */
  readonly name: string;
  readonly argv: readonly Value[];
  /** Assignments in front of it. */
  readonly env: ReadonlyMap<string, Value>;
  readonly redirects: readonly Redirect[];
  /** Text that it reads on standard input; null when nothing is connected. */
  readonly stdin: Value | null;
  /** May hold a hole. */
  readonly cwd: string;
  readonly via: readonly string[];
  readonly span: Span;
  /** Its place in the program that runs it; null: the span is its place. */
  readonly at: ProgramPlace | null;
  /** The name was written so that a reader does not see it, as in `r''m`. */
  readonly hidden: boolean;
  /** Text of the function that it calls while that function runs; null when it does not. */
  readonly recursion: string | null;
  /** Filled while it is unwrapped. */
  readonly code: Code[];
}

export function fixed(text: string): Value {
  return { text, from: [] };
}

export function dynamic(from: readonly Command[] = []): Value {
  return { text: hole, from };
}

export function isFixed(value: Value): boolean {
  return !hasHole(value.text);
}

const maxText = 131_072;

/** One after the other; more than 128 Ki characters are a hole. */
export function concat(values: readonly Value[]): Value {
  const first = values[0];
  if (values.length === 1 && first !== undefined) return first;
  const from = values.some((value) => value.from.length > 0) ? [...new Set(values.flatMap((value) => value.from))] : [];
  let text = '';
  for (const value of values) {
    // `join` would copy all of it each time that a word grows by one part.
    text += value.text;
    if (text.length > maxText) return dynamic(from);
  }
  return { text, from };
}

/** A text, or a hole where it is longer than 128 Ki characters. */
export const bounded = (text: string): string => (text.length > maxText ? hole : text);

/** A text with another one in each place of a third; a hole where it would have more than 128 Ki characters. */
export function substituted(text: string, what: string, by: string): string {
  let count = 0;
  for (let at = text.indexOf(what); at !== -1 && at < text.length; at = text.indexOf(what, at + Math.max(1, what.length))) count += 1;
  return text.length + count * by.length > maxText ? hole : text.replaceAll(what, () => by);
}

/** Characters and words that a list of fields has. */
export const weightOf = (values: readonly Value[]): number => values.reduce((sum, { text }) => sum + text.length + 1, 0);

/** Words with a blank between each two. */
export function spaced(values: readonly Value[]): Value {
  return concat(values.flatMap((value, i) => (i === 0 ? [value] : [fixed(' '), value])));
}

/** Every command that had a part in a value, also through pipes and files. */
export function origins(value: Value | null): ReadonlySet<Command> {
  const seen = new Set<Command>();
  const open = value === null ? [] : [...value.from];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    for (const part of [at.stdin, ...at.argv]) if (part !== null) open.push(...part.from);
    for (const { operator, target } of at.redirects) if (operator.includes('<')) open.push(...target.from);
  }
  return seen;
}

/** Arguments without the name. */
export function args(command: Command): readonly string[] {
  return command.argv.slice(1).map((value) => value.text);
}

function isFlag(text: string): boolean {
  return text.startsWith('-') && text.length > 1;
}

/** Arguments that are no options; what follows `--` always counts. */
export function operands(command: Command): readonly string[] {
  const all = args(command);
  const end = all.indexOf('--');
  if (end < 0) return all.filter((text) => !isFlag(text));
  return [...all.slice(0, end).filter((text) => !isFlag(text)), ...all.slice(end + 1)];
}

/** True when an option is set: a long name, or a letter in a bundle of short ones. */
export function hasFlag(command: Command, letters: string, ...long: readonly string[]): boolean {
  const all = args(command);
  const end = all.indexOf('--');
  return (end < 0 ? all : all.slice(0, end)).some((text) => {
    if (/^-[^-]/.test(text) && letters !== '' && Array.from(letters).some((letter) => text.slice(1).includes(letter))) return true;
    return long.some(
      (name) => text === name || text.startsWith(`${name}=`) || (name.length > 4 && text.length > 4 && name.startsWith(text)),
    );
  });
}
