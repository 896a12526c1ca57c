import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import type { Focus } from './localise.ts';

/** How Python and Node say that a name is asked for which nothing defines. */
const missing = [
  /\bcannot import name '(\w+)' from/,
  /\bmodule '[\w.]+' has no attribute '(\w+)'/,
  /\bNameError: name '(\w+)' is not defined/,
  /\bdoes not provide an export named '([\w$]+)'/,
  /\bReferenceError: ([\w$]+) is not defined/,
  /\bTypeError: (?:[\w$()]+\.)*([\w$]+) is not a function/,
];

/**
 * The names that failing tests ask for and that stand nowhere in the files that may be edited, when every failing test asks for
 * one and no name there is spelled nearly so; else none. Then the goal is new code, and edits of expressions cannot reach it.
 * Pure.
 */
export function missingNames({ files, localisation }: Pick<Focus, 'files' | 'localisation'>): readonly string[] {
  const asked = errorsOf(localisation.failingTests).map((error) => missing.map((pattern) => pattern.exec(error)?.[1]).find(Boolean));
  const known = new Set(files.flatMap(({ content }) => content.match(/[\w$]+/g) ?? []));
  const names = [...new Set(asked)].filter((name) => name !== undefined);
  const near = (name: string): boolean => [...known].some((word) => distance(word, name) <= Math.min(2, name.length / 3));
  return asked.includes(undefined) || names.some(near) ? [] : names;
}

/** Why experts that only edit expressions cannot reach the goal; null where they may. */
export function newCodeNeeded(focus: Focus, experts: readonly Pick<ExpertEndpoint, 'role' | 'engine'>[]): string | null {
  const proposers = experts.filter(({ role }) => role === 'Generalist' || role === 'Specialist');
  const names = proposers.every(({ engine }) => engine === 'Synth') ? missingNames(focus) : [];
  if (names.length === 0) return null;
  const shown = names.slice(0, 5).join(', ');
  return `every failing test asks for ${shown}, which no file that may be edited has: new code is needed`;
}

/** What each failing test says, or each error in what the command printed where the runner's format names none. */
function errorsOf(tests: Focus['localisation']['failingTests']): readonly string[] {
  if (tests.every(({ message }) => message !== '')) return tests.map(({ message }) => message);
  const printed = tests.map(({ trace = '' }) => trace).join('\n');
  const errors = printed.match(/^(?:E\s+)?[\w.]*(?:Error|Exception)\b.*$/gm) ?? [];
  return errors.length < tests.length ? [''] : errors;
}

/** Levenshtein distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let at = 0; at < a.length; at += 1) {
    const next = [at + 1];
    for (let to = 1; to <= b.length; to += 1)
      next.push(Math.min((row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1, (row[to - 1] ?? 0) + (a[at] === b[to - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length] ?? 0;
}
