import { stripVTControlCharacters } from 'node:util';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import type { Focus } from './localise.ts';

/** How Python, Node and the compiler of TypeScript say that a name is asked for which nothing defines. */
const missing = [
  /\bcannot import name '(?<name>\w+)' from/,
  /\b(?:module|type object) '[\w.]+' has no attribute '(?<name>\w+)'/,
  /'(?<owner>\w+)' object has no attribute '(?<name>\w+)'/,
  /\bname '(?<name>\w+)' is not defined/,
  /\bNo module named '(?<name>[\w.]+)'/,
  /\bdoes not provide an export named '(?<name>[\w$]+)'/,
  /\bReferenceError: (?<name>[\w$]+) is not defined/,
  /(?<name>[\w$]+)\)? is not a (?:function|constructor)\b/,
  /\berror TS(?:2305|2724): .{0,2000} exported member (?:named )?'(?<name>[\w$]+)'/,
  /\berror TS2339: Property '(?<name>[\w$]+)' does not exist/,
  /\berror TS(?:2304|2552): Cannot find name '(?<name>[\w$]+)'/,
];

/** A line of a report that names an error; of an assertion pytest shows the expression alone. */
const errorLine = /^[ \t]*(?:[E#][ \t]+)*(?:Uncaught )?(?:\w[\w.]*(?:Error|Exception)\b|assert\b|\S+: error TS\d).*$/gm;

/** What test runners put around the error of a file that does not load. */
const wrapper = /\bImportError(?:: Failed to import test module| while importing test module)/;

const keywords = new Set(
  'and as assert async await break case class const continue def default del do elif else enum except export extends finally for from function global if import in instanceof interface is lambda let new nonlocal not null or pass raise return self static super switch this throw try type typeof undefined var void while with yield'.split(
    ' ',
  ),
);

/**
 * The names that failing tests ask for and that stand nowhere in the files that may be edited, when every error of theirs asks for
 * one and no name there is spelled nearly so; else none. Then the goal is new code, and edits of expressions cannot reach it.
 * Pure.
 */
export function missingNames({ files, localisation }: Pick<Focus, 'files' | 'localisation'>): readonly string[] {
  const known = new Set(files.flatMap((file) => withoutComments(file).match(/[\w$]+/g) ?? []));
  const words = [...known].filter((word) => !keywords.has(word));
  const isOwn = (owner: string): boolean => files.some(({ content }) => new RegExp(`\\bclass ${owner}\\b`).test(content));
  const near = (name: string): boolean => known.has(name) || words.some((word) => distance(word, name) <= Math.min(2, name.length / 3));
  const names = new Set<string>();
  for (const error of errorsOf(localisation.failingTests)) {
    const { name, owner } = missing.map((pattern) => pattern.exec(error)?.groups).find(Boolean) ?? {};
    if (name === undefined || near(name) || (owner !== undefined && !isOwn(owner))) return [];
    names.add(name);
  }
  return [...names];
}

/** Why experts that only edit expressions cannot reach the goal; null where they may. */
export function newCodeNeeded(focus: Focus, experts: readonly Pick<ExpertEndpoint, 'role' | 'engine'>[]): string | null {
  const proposers = experts.filter(({ role }) => role === 'Generalist' || role === 'Specialist');
  const names = proposers.every(({ engine }) => engine === 'Synth') ? missingNames(focus) : [];
  if (names.length === 0) return null;
  const shown = names.slice(0, 5).join(', ');
  return `every failing test asks for ${shown}, which no file that may be edited has and set-up did not install: new code is needed`;
}

/** What each failing test says; for those of which the runner's format says nothing, each error that the command printed. */
function errorsOf(tests: Focus['localisation']['failingTests']): readonly string[] {
  const reported = tests.map(({ message }) => (isTelling(message) ? errorLines(message) : []));
  const unreported = reported.filter((errors) => errors.length === 0).length;
  const printed = unreported === 0 ? [] : tests.flatMap(({ trace = '' }) => errorLines(trace));
  return printed.length < unreported ? [''] : [...reported.flat(), ...printed];
}

/** Of a file that does not load Node's runner says nothing more, and pytest cuts what it says to the width of a terminal. */
function isTelling(message: string): boolean {
  return message.trim() !== '' && message !== 'test failed' && !message.endsWith('...');
}

/** The lines that name errors; the text itself where it is one line without the name of its error. */
function errorLines(text: string): readonly string[] {
  const plain = stripVTControlCharacters(text);
  const lines = plain.match(errorLine) ?? (/^[^\n]+$/.test(plain) ? [plain] : []);
  return lines.filter((line) => !wrapper.test(line));
}

/** A comment that mentions a name does not define it. */
function withoutComments({ path, content }: Focus['files'][number]): string {
  return content.replaceAll(path.endsWith('.py') ? /#.*|"""[^]*?"""/g : /\/\/.*|\/\*[^]*?\*\//g, ' ');
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
