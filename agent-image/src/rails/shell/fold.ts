import { mayStep, type Run, type Site, problem } from './run.ts';
import {
  byName,
  lookup,
  args,
  bounded,
  concat,
  dynamic,
  fixed,
  isFixed,
  operands,
  type Command,
  type Value,
  type Code,
  type Program,
} from './command.ts';
import { hasHole, plain, hole, markGlobs, withoutMarks } from './marks.ts';
import { escapes } from './words.ts';
import { fileContent } from './redirects.ts';
import type { Action } from './calls.ts';
import { actionsOf } from './program.ts';
import { prepare } from './prepare.ts';
import { type Parsed, walk, withoutTypes } from '../syntax/node.ts';

/**
 * Perl, Ruby, PHP, awk and the like, of which there is no tree: what stands in quotes behind a
 * function that runs, deletes or connects is taken out by pattern. Coarser than a parse, so what
 * evaluates text that is not a constant is called unknown.
 */
const quoted = String.raw`(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|q[qx]?\{([^}]{0,2000})\}|q[qx]?\(([^)]{0,2000})\)|q[qx]?\/([^/]{0,2000})\/|%x\{([^}]{0,2000})\}|\[\[([^\]]{0,2000})\]\])`;

const pattern = (source: string): RegExp => new RegExp(source, 'g');
const command =
  (...words: readonly string[]) =>
  ([text = hole]: readonly string[]): Action => ({ kind: 'argv', argv: [...words, text] });

const calls: readonly (readonly [RegExp, (texts: readonly string[]) => Action])[] = [
  [
    pattern(
      String.raw`\b(?:system|exec|popen|shell_exec|passthru|proc_open|os\.execute|io\.popen|Open3\.\w+|IO\.popen|Kernel\.\w+|spawn)\s*\(?\s*(${quoted}(?:\s*,\s*${quoted})*)`,
    ),
    (texts) => ({ kind: 'shell', text: texts.join(' ') }),
  ],
  [
    pattern(
      String.raw`(?:\x60([^\x60]*)\x60|\bqx\s{0,40}\{([^}]{0,2000})\}|\bqx\s{0,40}\(([^)]{0,2000})\)|\bqx\s{0,40}\/([^/]{0,2000})\/|%x\{([^}]{0,2000})\}|%x\(([^)]{0,2000})\))`,
    ),
    (texts) => ({ kind: 'shell', text: texts.join('') }),
  ],
  [
    pattern(String.raw`(?:^|[\s;{(])(${quoted})\s*\|\s*(?:getline|&)|\bprint\b[^|;]*\|\s*(${quoted})`),
    ([text = hole]) => ({ kind: 'shell', text }),
  ],
  [pattern(String.raw`\b(?:rmtree|remove_tree|rm_rf|rm_r|remove_entry\w*|remove_dir)\s*\(?\s*${quoted}`), command('rm', '-rf')],
  [
    pattern(String.raw`\b(?:unlink|rmdir|File\.delete|os\.remove|delete)\s*\(?\s*(?:glob\s*\(?\s*|Dir\.glob\s*\(\s*|Dir\[\s*)?${quoted}`),
    ([text = hole]) => command('rm')([markGlobs(text)]),
  ],
  [
    pattern(
      String.raw`\b(?:IO::Socket|TCPSocket|fsockopen|Net::HTTP|HTTP::Tiny|LWP::\w+|open-uri|socket\.tcp|curl_exec|stream_socket_client|URI\.open)\b[^;]{0,200}?(?:${quoted})?`,
    ),
    command('curl'),
  ],
  [/\/inet\d?\/(?:tcp|udp)\/[^/"]*\/([^/"]+)/g, command('nc')],
  [
    pattern(String.raw`\b(?:open|File\.(?:read|open)|IO\.read|file_get_contents|readfile|io\.open)[^"';]{0,200}${quoted}`),
    (texts) => command('cat')([(texts.at(-1) ?? hole).replace(/^\s*[<>+]+\s*/, '')]),
  ],
  [pattern(String.raw`\b(?:file_put_contents|File\.write|IO\.write)\s*\(?\s*${quoted}`), command('tee')],
  [/\bkill\s{0,40}(?:\(\s{0,40})?['"]?(?:9|KILL|SIGKILL|-9)['"]?\s{0,40},\s{0,40}(-?\d+)/g, command('kill', '-9')],
  [/\b(?:fork\b(?:(?!\bfork\b)[^;])*?while|while\b(?:(?!\bwhile\b)[^;])*?\bfork\b)/g, () => ({ kind: 'argv', argv: ['fork'] })],
];

const dynamicCode =
  /\beval\b\s*(?:\(\s*)?[$@a-z]|\b(?:unpack|pack|base64_decode|decode_base64|str_rot13|gzinflate|create_function|instance_eval|class_eval|loadstring)\b/;
const dynamicRun =
  /\b(?:system|exec|popen|shell_exec|passthru|os\.execute|io\.popen)\s*(?:\(\s*)?(?:[$@]|[a-z_]{1,200}[^"'\s(]|["'][^"']{0,2000}["']\s*\.)/;

function actionsInText(text: string): readonly Action[] {
  const out: Action[] = [];
  for (const [pattern, action] of calls) {
    for (const found of text.matchAll(pattern)) {
      const texts = found.slice(1).filter((one): one is string => one !== undefined && !/^["'q%]./.test(one));
      const words = texts.map((one) => escapes(one).replace(/\$[{(]?\w+[})]?|#\{[^}]*\}/g, hole));
      out.push({ ...action(words), at: found.index + found[0].length - found[0].trimStart().length });
      if (out.length > 64) return out;
    }
  }
  const unknown = (pattern: RegExp, what: string): void => {
    const at = text.search(pattern);
    if (at >= 0) out.push({ kind: 'unknown', what, at });
  };
  unknown(dynamicCode, 'the program builds code and evaluates it');
  unknown(dynamicRun, 'the program runs a command that is not a constant');
  return out;
}

const maxParts = 64;

/**
 * Walks what can still be read of a line that the grammar does not know: each part between separators is taken as the arguments of
 * a command. It only adds commands; the line stays unknown.
 */
function salvage(text: string, site: Site, run: Run): void {
  const parts = text
    .split(/(?:\n|;|&&?|\|\|?|\(|\)|(?:^|\s)[{}](?=\s|$)|`|\$\()+/)
    .map((part) => part.trim().replace(/^(?:then|do|else|if|while|until|!)\s+/, ''))
    .filter((part) => part !== '')
    .slice(0, maxParts);
  for (const part of parts) {
    if (!mayStep(run, site.span)) return;
    run.limits.characters -= part.length;
    const parsed = run.limits.characters > 0 ? run.grammars.parse('bash', `_ ${part}`) : null;
    const command = parsed === null || parsed.broken ? undefined : parsed.root.children[0];
    if (command === undefined) continue;
    const body = command.type === 'redirected_statement' ? (command.children[0] ?? command) : command;
    const words = body.children.filter((one) => one.field === 'argument');
    const argv = words.flatMap((one) => run.word(one, site)[0] ?? []);
    if (argv.length > 0) run.call({ argv }, site);
  }
}

/** Returns what a command prints, where that follows from the line alone; otherwise a hole that remembers the command. */
export function output(command: Command, run: Run, site: Site): Value {
  const found = lookup(folds, command.name)?.(command, run, site) ?? null;
  return found === null ? dynamic([command]) : { text: bounded(found), from: [command] };
}

type Fold = (command: Command, run: Run, site: Site) => string | null;

type Change = (text: string, command: Command) => string | null;

/** A filter of standard input or files, for texts that are known. */
function filter(change: Change): Fold {
  return (command, run, site) => {
    const files = operands(command).filter((text) => text !== '-');
    const input = files.length === 0 ? command.stdin : concat(files.map((path) => fileContent(fixed(path), run, site)));
    return input === null || !isFixed(input) ? null : change(plain(input.text), command);
  };
}

/** A filter of standard input, whatever its operands are. */
function inputFilter(change: Change): Fold {
  return (command) => (command.stdin === null || !isFixed(command.stdin) ? null : change(plain(command.stdin.text), command));
}

const echo: Fold = (command) => {
  const words = args(command);
  let first = 0;
  while (/^-[neE]+$/.test(words[first] ?? '')) first += 1;
  const flags = words.slice(0, first).join('');
  const text = words.slice(first).map(plain).join(' ');
  // dash always obeys escapes, bash with `-e`: a backslash that matters is obeyed.
  const value = /\\[0x]/.test(text) || flags.includes('e') ? escapes(text) : text;
  return flags.includes('n') ? value : `${value}\n`;
};

const printf: Fold = (command) => {
  const words = args(command).map(plain);
  if (words[0] === '-v') return '';
  const [format = '', ...rest] = words[0] === '--' ? words.slice(1) : words;
  let used = 0;
  let text = '';
  for (let round = 0; round < 64; round += 1) {
    text += escapes(format).replace(/%(?:%|[-+ #0]*\d*(?:\.\d+)?([a-zA-Z]))/g, (all: string, kind?: string) => {
      if (kind === undefined) return '%';
      const value = rest[used] ?? '';
      used += 1;
      if (kind === 'b') return escapes(value);
      return kind === 's' || kind === 'c' ? (kind === 'c' ? value.slice(0, 1) : value) : value === '' ? all : value;
    });
    if (used === 0 || used >= rest.length) break;
  }
  return text;
};

function base64(text: string, command: Command): string | null {
  const decodes = args(command).some((one) => /^(?:-[a-zA-Z]*[dD]|--decode)$/.test(one));
  const value = decodes ? Buffer.from(text, 'base64').toString('utf8') : Buffer.from(text).toString('base64');
  return withoutMarks(value).replaceAll('\0', '\uFFFD');
}

function unhex(text: string, command: Command): string | null {
  if (!args(command).some((one) => /^-[a-z]*r/.test(one) || one === '-revert')) return null;
  const digits = text.replace(/^[0-9a-f]+: /gim, '').replace(/[^0-9a-fA-F]/g, '');
  return withoutMarks(Buffer.from(digits, 'hex').toString('utf8')).replaceAll('\0', '\uFFFD');
}

function translate(text: string, command: Command): string | null {
  const [from, to] = operands(command).map((set) => characters(plain(set)));
  if (from === undefined) return null;
  const letters = Array.from(text);
  const places = new Map(from.map((one, at) => [one, at]));
  if (args(command).some((one) => /^-\w*d/.test(one))) return letters.filter((one) => !places.has(one)).join('');
  if (to === undefined || to.length === 0) return null;
  return letters.map((one) => (places.has(one) ? (to[Math.min(places.get(one) ?? 0, to.length - 1)] as string) : one)).join('');
}

function characters(set: string): readonly string[] {
  const classes = set.replaceAll('[:upper:]', 'A-Z').replaceAll('[:lower:]', 'a-z').replaceAll('[:space:]', ' \\t\\n');
  const text = escapes(classes);
  const out: string[] = [];
  for (let i = 0; i < text.length && out.length < 1024; i += 1) {
    const [first, last] = [text.charCodeAt(i), text.charCodeAt(i + 2)];
    if (text[i + 1] === '-' && last > first) {
      for (let code = first; code <= last && out.length < 1024; code += 1) out.push(String.fromCharCode(code));
      i += 2;
    } else out.push(text[i] as string);
  }
  return out;
}

const firstOf =
  (pick: (lines: readonly string[], count: number) => readonly string[]): Change =>
  (text, command) => {
    const count = Number(/\d+/.exec(args(command).join(' '))?.[0] ?? 10);
    return `${pick(text.replace(/\n$/, '').split('\n'), count).join('\n')}\n`;
  };

/** `which rm` prints a path of it, so `$(which rm)` is rm. */
const locate: Fold = (command) => {
  const name = operands(command).at(-1);
  const asks = command.name !== 'command' || args(command).some((one) => /^-[vV]/.test(one));
  return name === undefined || !asks || hasHole(name) ? null : `/usr/bin/${name}\n`;
};

const ofPath =
  (part: (path: string) => string): Fold =>
  (command) => {
    const [path] = operands(command);
    return path === undefined || hasHole(path) ? null : `${part(path)}\n`;
  };

const folds: Readonly<Record<string, Fold>> = {
  '': () => '',
  ...byName([': true false cd set export shift read unset test [ sleep mkdir rm touch chmod', () => ''], ['which command type', locate]),
  mktemp: (command) => (operands(command).length > 0 ? null : '/tmp/tmp.made\n'),
  echo,
  printf,
  cat: filter((text) => text),
  tee: (command) => (command.stdin !== null && isFixed(command.stdin) ? command.stdin.text : null),
  base64: filter(base64),
  openssl: inputFilter((text, command) => (args(command).some((one) => /^-?base64$/.test(one)) ? base64(text, command) : null)),
  xxd: filter(unhex),
  rev: filter((text) =>
    text
      .split('\n')
      .map((line) => Array.from(line).reverse().join(''))
      .join('\n'),
  ),
  tac: filter((text) => `${text.replace(/\n$/, '').split('\n').reverse().join('\n')}\n`),
  tr: inputFilter(translate),
  head: inputFilter(firstOf((lines, count) => lines.slice(0, count))),
  tail: inputFilter(firstOf((lines, count) => lines.slice(-count))),
  pwd: (_command, _run, site) => (hasHole(site.scope.cwd) ? null : `${site.scope.cwd}\n`),
  basename: ofPath((path) => path.replace(/\/+$/, '').split('/').at(-1) ?? ''),
  dirname: ofPath((path) => /^(.*)\/[^/]*$/.exec(path)?.[1] ?? '.'),
};

/** Walks a text in its language; the answer is what it prints, as far as that is known. */
export function code(code: Code, site: Site, stdin: Value | null, run: Run): Value {
  const inside = { ...site, frame: { ...site.frame, within: site.frame.within ?? site.span } };
  if (code.language === 'shell') return shellText(code.value, inside, stdin, run, code.file);
  const text = plain(code.value.text);
  run.limits.characters -= text.length;
  if (run.limits.characters < 0) {
    problem(run, 'limit', 'there is too much code to judge', site.span);
    return dynamic(code.value.from);
  }
  for (const action of actions(code.language, text, inside, run)) {
    const at = inside.frame.at ?? (action.at === undefined ? null : { ...programOf(text, code.file), offset: action.at });
    perform(action, code, { ...inside, frame: { ...inside.frame, at } }, run);
  }
  return dynamic(code.value.from);
}

/** JavaScript may be TypeScript: Node runs both. */
function parse(language: 'python' | 'javascript', text: string, run: Run): Parsed | null {
  const parsed = run.grammars.parse(language, text);
  if (language === 'python' || parsed?.broken !== true) return parsed;
  const script = withoutTypes(text);
  const typed = typeof script === 'string' ? run.grammars.parse(language, script) : null;
  return typed === null || typed.broken ? parsed : typed;
}

function nearLine(parsed: Parsed | null, text: string): string {
  const fault = parsed === null ? undefined : [...walk(parsed.root)].find(({ type }) => type === 'ERROR');
  return fault === undefined ? '' : ` near line ${text.slice(0, fault.start).split('\n').length}`;
}

function actions(language: Code['language'], text: string, site: Site, run: Run): readonly Action[] {
  if (language === 'text' || text === hole) return language === 'text' ? actionsInText(text) : [];
  const parsed = parse(language === 'python' ? 'python' : 'javascript', text.replaceAll(hole, '_'), run);
  if (parsed === null || parsed.broken) problem(run, 'syntax', `${language} code does not parse${nearLine(parsed, text)}`, site.span);
  if (parsed === null) return actionsInText(text);
  return parsed.broken ? [...actionsOf(parsed.root), ...actionsInText(text)] : actionsOf(parsed.root);
}

const atHome = (text: string, { home }: Run): string => (text === '~' || text.startsWith('~/') ? home + text.slice(1) : text);

function perform(action: Action, code: Code, site: Site, run: Run): void {
  if (action.kind === 'unknown') problem(run, 'dynamic', action.what, site.span, site.frame.at);
  else if (action.kind === 'argv') {
    const argv = action.argv.map((text) => fixed(atHome(text, run)));
    run.call({ argv, stdin: action.content === undefined ? null : fixed(action.content) }, { ...site, scope: site.scope.copy() });
  } else if (action.kind === 'file') {
    const inner = { ...site, scope: site.scope.copy() };
    const stdin = run.call({ argv: [fixed('cat'), fixed(atHome(action.path, run))] }, inner);
    run.call({ argv: [fixed(code.language === 'python' ? 'python3' : 'node'), fixed('-')], stdin }, inner);
  } else {
    if (site.frame.depth >= run.limits.depth) {
      problem(run, 'limit', 'code is nested too deeply', site.span);
      return;
    }
    const value = { text: action.text, from: code.value.from };
    const frame = { ...site.frame, depth: site.frame.depth + 1 };
    if (hasHole(action.text)) problem(run, 'dynamic', 'code runs text that is not a constant', site.span, site.frame.at);
    run.code(
      { language: action.kind === 'shell' ? 'shell' : code.language, value, source: 'argument' },
      { ...site, scope: site.scope.copy(), frame },
      null,
    );
  }
}

const programOf = (text: string, file: string | undefined): Program => ({ text, ...(file !== undefined && { file }) });

/** Walks shell code found in a value. @param file that it stands in */
export function shellText(value: Value, site: Site, stdin: Value | null, run: Run, file?: string): Value {
  const text = plain(value.text);
  run.limits.characters -= text.length;
  if (text.trim() === '' || text === hole) return text === hole ? dynamic(value.from) : fixed('');
  if (site.frame.depth > run.limits.depth || run.limits.characters < 0) {
    problem(run, 'limit', 'there is too much code to judge, or it is nested too deeply', site.span);
    return dynamic(value.from);
  }
  const prepared = prepare(text);
  const frame = { ...site.frame, prepared, program: programOf(text, file) };
  const parsed = run.grammars.parse('bash', prepared.text);
  const inner = { ...site, frame };
  if (parsed === null) {
    problem(run, 'limit', 'the command line is too long or nested too deeply', site.span);
    return dynamic(value.from);
  }
  const output = run.node(parsed.root, inner, stdin);
  if (parsed.broken || prepared.unbalanced) {
    problem(run, 'syntax', 'the command line is not understood in full', site.span);
    salvage(prepared.text, inner, run);
    return dynamic(value.from);
  }
  return concat([output]);
}
