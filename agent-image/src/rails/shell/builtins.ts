import { child, joinTouching, named, type Node } from '../syntax/node.ts';
import { byName, concat, dynamic, fixed, isFixed, type Value, args, operands, type Command, lookup } from './command.ts';
import { absolute } from './places.ts';
import { maySpend, type Alternatives, type Run, type Scope, type Site } from './run.ts';
import { single } from './words.ts';
import { hasHole, hole, plain } from './marks.ts';

/** Variables whose value some program runs as shell code. */
const codeVariables = new Set(
  'PROMPT_COMMAND GIT_SSH_COMMAND GIT_SSH GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF GIT_PAGER GIT_ASKPASS GIT_PROXY_COMMAND SSH_ASKPASS PAGER MANPAGER EDITOR VISUAL BROWSER LESSOPEN RSYNC_RSH PERL5DB'.split(
    ' ',
  ),
);

/** Variables that name a file which a shell reads first. */
const fileVariables = new Set(['BASH_ENV', 'ENV']);

/** Walks `name=value`; it prints nothing. */
export function assign(node: Node, run: Run, site: Site): Value {
  const target = child(node, 'name');
  const name = target === null ? '' : (child(target, 'name') ?? target).text;
  const appends = node.children.some((one) => one.type === '+=');
  const before = site.scope.variables.get(name) ?? [[]];
  const value = child(node, 'value');
  let alternatives: Alternatives;
  if (value?.type === 'array') {
    const fields = joinTouching(named(value)).flatMap((one) => run.word(one, site)[0] ?? []);
    alternatives = appends ? before.map((old) => [...old, ...fields]) : [fields];
  } else {
    const values = value === null ? [fixed('')] : single(value, run, site);
    if (target?.type === 'subscript') alternatives = before.flatMap((old) => values.map((one) => [...old, one]));
    else if (appends) alternatives = before.flatMap((old) => values.map((one) => [concat([old[0] ?? fixed(''), one]), ...old.slice(1)]));
    else alternatives = values.map((one) => [one]);
  }
  site.scope.set(name, alternatives);
  for (const fields of alternatives) assigned(name, fields[0] ?? fixed(''), run, site);
  return fixed('');
}

/** The value of `name=value` in front of a command. */
export function prefixValue(node: Node, run: Run, site: Site): readonly [string, Value] {
  const name = child(node, 'name')?.text ?? '';
  const value = child(node, 'value');
  const found = value === null ? fixed('') : value.type === 'array' ? dynamic() : (single(value, run, site)[0] ?? dynamic());
  assigned(name, found, run, site);
  return [name, found];
}

/** Some variables are programs. */
export function assigned(name: string, value: Value, run: Run, site: Site): void {
  if (value.text === '') return;
  const file = fileVariables.has(name) && isFixed(value) ? run.files.get(absolute(value.text, site.scope.cwd)) : undefined;
  const code = codeVariables.has(name) ? value : file;
  if (code !== undefined) run.code({ language: 'shell', value: code, source: 'elsewhere' }, { ...site, scope: site.scope.copy() }, null);
}

/** Applies the changes of a command to the shell, or to the files that this act writes. */
export function applyBuiltin(command: Command, run: Run, site: Site): void {
  lookup(effects, command.name)?.(command, run, site);
}

type Effect = (command: Command, run: Run, site: Site) => void;

const changeFolder: Effect = (command, run, { scope }) => {
  const target = operands(command)[0];
  if (target === undefined) scope.cwd = args(command).includes('-') ? hole : home(scope, run);
  else if (target !== '') scope.cwd = hasHole(target) ? hole : absolute(plain(target), scope.cwd);
};

function home(scope: Scope, run: Run): string {
  return scope.variables.get('HOME')?.[0]?.[0]?.text ?? run.home;
}

const declare: Effect = (command, run, site) => {
  for (const text of args(command)) {
    const [, name, value] = /^([A-Za-z_]\w*)=([^]*)$/.exec(text) ?? [];
    if (name === undefined || value === undefined) continue;
    site.scope.set(name, [[fixed(value)]]);
    assigned(name, fixed(value), run, site);
  }
};

const read: Effect = (command, run, site) => {
  const { scope } = site;
  const input = command.stdin;
  const names = operands(command).filter((name) => /^[A-Za-z_]\w*$/.test(name));
  const from = input?.from ?? [];
  for (const name of names.length > 0 ? names : ['REPLY']) scope.set(name, [[dynamic(from)]]);
  if (input === null || !isFixed(input)) return;
  const lines = input.text.split('\n').filter((line) => line !== '');
  if (!maySpend(run, site, lines.length * names.length)) return;
  const words = lines.map((line) => line.trim().split(/\s+/));
  const assignEach = (name: string, of: (line: readonly string[]) => string): void => {
    const values = words.map((line) => [{ text: of(line), from }]);
    scope.set(name, values);
  };
  const last = Math.max(0, names.length - 1);
  names.slice(0, last).forEach((name, i) => assignEach(name, (line) => line[i] ?? ''));
  assignEach(names[last] ?? 'REPLY', (line) => line.slice(last).join(' '));
};

const readArray: Effect = (command, _run, { scope }) => {
  const name = operands(command).at(-1) ?? 'MAPFILE';
  const input = command.stdin;
  scope.set(name, [input !== null && isFixed(input) ? input.text.split('\n').map(fixed) : [dynamic(input?.from ?? [])]]);
};

const positional: Effect = (command, _run, { scope }) => {
  const end = args(command).indexOf('--');
  if (end >= 0) scope.positional = command.argv.slice(end + 2);
  else if (args(command).length > 0 && !/^[-+]/.test(args(command)[0] as string)) scope.positional = command.argv.slice(1);
};

const printInto: Effect = (command, _run, { scope }) => {
  const at = args(command).indexOf('-v');
  const name = args(command)[at + 1];
  if (at >= 0 && name !== undefined) scope.set(name, [[formatted(command.argv.slice(at + 3))]]);
};

function formatted(values: readonly Value[]): Value {
  const [format, ...rest] = values;
  return format?.text === '%s' && rest.length === 1 ? (rest[0] as Value) : dynamic(values.flatMap((value) => value.from));
}

const copyFile: Effect = (command, run, site) => {
  const paths = operands(command);
  const target = paths.at(-1);
  const source = command.argv.find((value) => value.text === paths[0]);
  if (paths.length !== 2 || target === undefined || source === undefined) return;
  const from = run.files.get(absolute(source.text, site.scope.cwd));
  if (from !== undefined) run.files.set(absolute(target, site.scope.cwd), from);
};

const tee: Effect = (command, run, site) => {
  for (const path of operands(command)) run.files.set(absolute(path, site.scope.cwd), command.stdin ?? dynamic());
};

/** A download: the file holds what came from outside. */
const download: Effect = (command, run, site) => {
  const all = args(command);
  const urls = operands(command).filter((text) => /^[a-z]+:\/\//.test(text));
  all.forEach((text, i) => {
    const [, short] = /^-[a-zA-Z]*[oO]$/.test(text) ? [text, all[i + 1]] : [];
    const long = /^--output(?:-document)?(?:=(.*))?$/.exec(text);
    const path = short ?? (long === null ? undefined : (long[1] ?? all[i + 1]));
    if (path !== undefined) run.files.set(absolute(path, site.scope.cwd), dynamic([command]));
  });
  for (const url of urls) {
    const base = url.split(/[?#]/)[0]?.split('/').at(-1) ?? '';
    if (base !== '') run.files.set(absolute(base, site.scope.cwd), dynamic([command]));
  }
};

const effects = byName<Effect>(
  ['cd pushd chdir', changeFolder],
  ['popd', (_command, _run, { scope }) => void (scope.cwd = hole)],
  ['export declare typeset local readonly', declare],
  ['read', read],
  ['mapfile readarray', readArray],
  ['set', positional],
  ['shift', (command, _run, { scope }) => void (scope.positional = scope.positional.slice(Number(args(command)[0] ?? 1) || 1))],
  ['getopts', (command, _run, { scope }) => scope.set(args(command)[1] ?? 'opt', [[dynamic()]])],
  [
    'let',
    (command, _run, { scope }) => {
      for (const text of args(command)) scope.set(/^\w+/.exec(text)?.[0] ?? '_', [[dynamic()]]);
    },
  ],
  ['printf', printInto],
  ['cp mv install ln', copyFile],
  ['tee', tee],
  ['curl wget aria2c', download],
);
