// agent-image, rails/shell: commands and programs inside other commands. May import rails/verdict and rails/syntax, no rail.
import { type Command, type Language, concat, dynamic, fixed, isFixed, type Value } from './command.ts';
import { printable } from './marks.ts';
import { absolute } from './places.ts';
import type { Inner, Run, Site, Unwrapper } from './run.ts';
import { prefixes } from './prefixes.ts';
import { runners } from './runners.ts';

interface Interpreter {
  readonly language: Language;
  /** Options whose next word, or attached rest, is a program. */
  readonly code: RegExp;
  /** Options that take a word which is none. */
  readonly takes?: readonly string[];
  /** Words after which a program follows, as in `deno eval`. */
  readonly verbs?: readonly string[];
}

const shellLike: Interpreter = {
  language: 'shell',
  code: /^-(?=[a-zA-Z]*$)[a-zA-Z]*c/,
  takes: ['-o', '+o', '-O', '+O', '--rcfile', '--init-file'],
};
const python: Interpreter = { language: 'python', code: /^-[bBdEhiIOqsSuvVx]*c/, takes: ['-W', '-X'] };
const javascript: Interpreter = {
  language: 'javascript',
  code: /^(?:-[a-z]*[ep]|--eval|--print)(?:=|$)/,
  takes: ['-r', '--require', '--import', '-C', '--loader', '--input-type'],
  verbs: ['eval'],
};
const perl: Interpreter = { language: 'text', code: /^-[a-zA-Z0-9]*[eE]$/, takes: ['-I', '-M', '-m'] };

const families: readonly (readonly [RegExp, Interpreter])[] = [
  [/^(?:ba|da|z|k|a|mk|r?ba|fi|c|tc|ya|o|po)?sh$/, shellLike],
  [/^(?:python|pypy|jython|micropython)[\d.]*$/, python],
  [/^(?:node|nodejs|deno|bun|qjs|d8|tsx|ts-node)\d*$/, javascript],
  [/^(?:perl|ruby|jruby|lua|luajit|tclsh|julia|Rscript|elixir|ghc|osascript|raku|guile|groovy|scala|crystal)[\d.]*$/, perl],
  [/^(?:emacs|erl)$/, { language: 'text', code: /^--?eval$/ }],
  [/^php[\d.]*$/, { language: 'text', code: /^-[rRB]$/ }],
];

/** The unwrapper of a shell or interpreter; null for other programs. */
function interpreters(name: string): Unwrapper | null {
  const family = families.find(([pattern]) => pattern.test(name));
  return family === undefined ? null : (command, run) => programs(command, run, family[1]);
}

/** Options with which a file is only parsed. */
const parses = /^(?:(?:ba|da|z|k)?sh -n|node (?:-c|--check)|ruby -w?c|php -l)$/;

function programs(command: Command, run: Run, kind: Interpreter): readonly Inner[] {
  const words = command.argv;
  if (parses.test(`${command.name} ${words[1]?.text}`) && words.slice(2).every(({ text }) => !/^[-+]/.test(text))) return [];
  for (let at = 1; at < words.length; at += 1) {
    const word = words[at] as Value;
    if (kind.verbs?.includes(word.text) === true)
      return inner(kind, words.slice(at + 1).filter((one) => !one.text.startsWith('-'))[0], [], command);
    if (kind.code.test(word.text)) return coded(kind, command, at);
    if (kind.takes?.includes(word.text) === true) at += 1;
    else if (word.text === '-m' && kind.language === 'python') return module(command, at);
    else if (word.text === '-' || /^\/(?:dev\/stdin|proc\/self\/fd\/0|dev\/fd\/0)$/.test(word.text))
      return input(command, kind, words.slice(at + 1));
    else if (word.text === '-s' && kind.language === 'shell') return input(command, kind, words.slice(at + 1));
    else if (word.text === '--') continue;
    else if (!/^[-+]/.test(word.text)) return script(command, run, kind, word, words.slice(at + 1));
  }
  return input(command, kind, []);
}

function coded(kind: Interpreter, command: Command, at: number): readonly Inner[] {
  const word = command.argv[at] as Value;
  const attached = kind.language === 'python' ? /^-[a-zA-Z]*?c([^]+)$/.exec(word.text)?.[1] : /^--\w+=([^]+)$/.exec(word.text)?.[1];
  if (attached !== undefined) return inner(kind, { text: attached, from: word.from }, command.argv.slice(at + 1), command);
  let next = at + 1;
  // `bash -c -e 'code'`: options may still follow.
  while (kind.language === 'shell' && /^[-+]./.test(command.argv[next]?.text ?? '')) next += 1;
  const more = kind === perl ? command.argv.slice(next + 1).filter((_, i, rest) => kind.code.test(rest[i - 1]?.text ?? '')) : [];
  const first = command.argv[next];
  const value = first === undefined || more.length === 0 ? first : concat([first, ...more.flatMap((one) => [fixed('\n'), one])]);
  const zero = command.argv[next + 1];
  return inner(kind, value, command.argv.slice(next + 2), command).map((one) => (zero === undefined ? one : { ...one, zero }));
}

function inner(kind: Interpreter, value: Value | undefined, positional: readonly Value[], command: Command): readonly Inner[] {
  if (value === undefined) return [];
  const stdin = command.stdin;
  return [{ code: { language: kind.language, value, source: 'argument' }, positional, ...(stdin === null ? {} : { stdin }) }];
}

function input(command: Command, kind: Interpreter, positional: readonly Value[]): readonly Inner[] {
  if (command.stdin === null) return [];
  return [{ code: { language: kind.language, value: command.stdin, source: 'elsewhere' }, positional }];
}

/** A script: judged when this act wrote it, otherwise the project's own. */
function script(command: Command, run: Run, kind: Interpreter, path: Value, positional: readonly Value[]): readonly Inner[] {
  const content = isFixed(path) ? run.files.get(absolute(path.text, command.cwd)) : dynamic(path.from);
  if (content === undefined || (content.text === dynamic().text && content.from.length === 0)) return [];
  return [{ code: { language: kind.language, value: content, source: 'elsewhere', file: printable(path.text) }, positional }];
}

/** Modules that are programs of another kind. */
function module(command: Command, at: number): readonly Inner[] {
  const name = command.argv[at + 1];
  return name === undefined || !/^(?:pip|http\.server|venv|ensurepip|twine|smtpd?|ftplib|base64|timeit)$/.test(name.text)
    ? []
    : [{ argv: [name, ...command.argv.slice(at + 2)] }];
}

const table: ReadonlyMap<string, Unwrapper> = new Map([...Object.entries(prefixes), ...Object.entries(runners)]);

/** Lists what a command runs in turn: wrappers, shells, interpreters, scripts that this act wrote. */
export function unwrap(command: Command, run: Run, site: Site): readonly Inner[] {
  const found = table.get(command.name) ?? interpreters(command.name);
  const inner = found === null ? [] : found(command, run, site);
  return [...inner, ...ownScript(command, run)];
}

/** `./x` where this act wrote x. */
function ownScript(command: Command, run: Run): readonly Inner[] {
  const path = command.argv[0]?.text ?? '';
  if (!path.includes('/')) return [];
  const content = run.files.get(absolute(path, command.cwd));
  if (content === undefined) return [];
  const code = { language: languageOf(path, content.text), value: content, source: 'elsewhere', file: printable(path) } as const;
  return [{ code, positional: command.argv.slice(1) }];
}

/** By the first line, then by the ending. */
export function languageOf(path: string, content: string): Language {
  const line = content.startsWith('#!') ? (content.slice(0, 200).split('\n')[0] as string) : '';
  if (/python/.test(line) || (line === '' && /\.pyw?$/.test(path))) return 'python';
  if (/\b(?:node|deno|bun)\b/.test(line) || (line === '' && /\.[cm]?js$/.test(path))) return 'javascript';
  if (/perl|ruby|php|lua|awk/.test(line) || (line === '' && /\.(?:pl|rb|php|lua)$/.test(path))) return 'text';
  return 'shell';
}
