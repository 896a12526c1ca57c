// agent-image, checks/protect: files that the commands of checks name. May import base, protocol, kube and the keeper's client.
import { jsonIn } from '../../base/text.ts';
import { baseName, commandsOf, shellCommands, type SimpleCommand } from './commands.ts';
import type { CheckCommand, ReadFile } from './types.ts';

const options = /^--(?:junitxml|junit-xml|junitfile|log-junit|outputFile(?:\.junit)?|output-file|test-reporter-destination|xunit-file)$/;

/**
 * Returns the report files that a check's command names, relative to the workspace where they are in it. Remove them
 * before the run and pass them to `parseResults` after it: a report from before proves nothing.
 */
export function reportFiles(command: readonly string[]): string[] {
  return [...new Set(commandsOf(command).flatMap(reportsOf))].sort();
}

function reportsOf({ words }: SimpleCommand): string[] {
  const found = words.flatMap((word, at) => {
    const split = word.indexOf('=');
    if (split === -1) return options.test(word) ? [words[at + 1] ?? ''] : [];
    if (options.test(word.slice(0, split))) return [word.slice(split + 1)];
    return /^(?:mochaFile|output)=/.test(word) ? [word.slice(split + 1)] : [];
  });
  const files = found.filter((path) => /\.(?:xml|junit)$/i.test(path));
  return files.map((path) => normal(path) ?? (path.startsWith('/') ? path : null)).filter((path) => path !== null);
}

/** The path relative to the workspace, in NFC, without `.` and empty parts; null when it leads out. */
export function normal(path: string): string | null {
  if (path === '' || path.includes('\0')) return null;
  const inside = path.startsWith('/workspace/') ? path.slice('/workspace/'.length) : path;
  if (inside.startsWith('/')) return null;
  const parts: string[] = [];
  for (const part of inside.normalize('NFC').split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return null;
  }
  return parts.length === 0 ? null : parts.join('/');
}

/** Returns the directories above a path, nearest last: `a/b/c` → `a`, `a/b`. */
export function parentsOf(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join('/'));
}

const interpreters = /^(?:sh|bash|dash|zsh|ash|ksh|node|nodejs|deno|bun|tsx|ts-node|python[\d.]*|pypy[\d.]*|ruby|perl|php|lua|source|\.)$/;
/** Options whose value is a file or module that runs, or settings that decide what runs. */
const fileOptions =
  /^(?:--?(?:config|conf|c|r|require|import|loader|experimental-loader|f|file|makefile|env-file|env-file-if-exists|experimental-config-file|setup|project|rcfile|config-file|settings|s|test-global-setup|setupFiles|preload|test-reporter|native-file|cross-file|toolchain))$/;
/** Programs whose options name nothing that runs: `test -s out.txt` reads, `cut -f 1` counts. */
const readers =
  /^(?:test|\[\[?|[ef]?grep|rg|diff|cmp|comm|cut|sort|uniq|head|tail|wc|tr|stat|cat|ls|find|jq|yq|date|tar|cp|mv|rm|mkdir|touch|chmod|chown|ln|id|od|xxd|hexdump|md5sum|sha\d+sum|cksum|echo|printf|read|expr|git|curl|sqlite3|paste|join|column|tee|file|du|df|ps|kill|sleep|true|false)$/;
const packageManagers = new Set(['npm', 'yarn', 'pnpm', 'bun', 'turbo', 'lerna', 'composer']);
/** Words that run a script in other packages of a repository: `pnpm -r test`, `npm test --workspaces`, `yarn workspace a test`. */
const elsewhere = /^(?:-r|-F|-C|-w|-ws|--recursive|--(?:filter|workspaces?|prefix|dir|cwd)(?:=.*)?|workspaces?)$/;
const installing = /^(?:ci|install|i|sync|add|clean-install)$/;
const maxDepth = 5;

/** Files that the checks run, found from their commands and, through `read`, from the scripts these call. */
export interface Entries {
  /** File → the check that runs it. */
  readonly files: ReadonlyMap<string, string>;
  /** Tools by name, without their directory. */
  readonly tools: ReadonlySet<string>;
  /** Names of make targets. */
  readonly targets: ReadonlySet<string>;
  readonly installs: boolean;
  /** Report files that commands name. */
  readonly reports: ReadonlySet<string>;
}

class Finder {
  readonly files = new Map<string, string>();
  readonly tools = new Set<string>();
  readonly targets = new Set<string>();
  readonly reports = new Set<string>();
  installs = false;
  readonly #tree: ReadonlySet<string>;
  readonly #read: ReadFile;
  readonly #visited = new Set<string>();

  constructor(tree: ReadonlySet<string>, read: ReadFile) {
    this.#tree = tree;
    this.#read = read;
  }

  /** @param folder where the commands run, with a slash at its end */
  follow(check: string, commands: readonly SimpleCommand[], depth: number, folder = ''): void {
    if (depth > maxDepth) return;
    for (const command of commands) {
      this.tools.add(command.tool);
      if (command.tool.startsWith('py')) this.tools.add(command.words[command.words.indexOf('-m') + 1 || command.words.length] ?? '');
      for (const report of reportsOf(command)) this.reports.add(report);
      this.installs ||=
        command.words.some((word) => installing.test(word)) &&
        /^(?:npm|yarn|pnpm|bun|pip[\d.]*|uv|poetry|bundle|composer|go|python[\d.]*)$/.test(command.tool);
      for (const file of filesOf(command)) this.#file(check, file, depth, folder);
      // A missing file is read once it exists.
      for (const word of command.words) {
        const path = normal(/^--env-file-if-exists=(.+)$/.exec(word)?.[1] ?? '');
        if (path !== null && path !== '' && !this.files.has(path)) this.files.set(path, check);
      }
      if (packageManagers.has(command.tool)) this.#scripts(check, command, depth, folder);
      if (command.tool === 'make' || command.tool === 'gmake') this.#make(check, command, depth);
      if (command.tool === 'tox' || command.words.includes('tox')) this.#environments(check, 'tox.ini', toxCommands, depth);
      if (command.tool === 'nox' || command.words.includes('nox')) this.#environments(check, 'noxfile.py', noxCommands, depth);
    }
  }

  #file(check: string, word: string, depth: number, folder: string): void {
    const path = normal(word.startsWith('/') ? word : `${folder}${word}`);
    if (path === null || !this.#tree.has(path) || this.files.has(path)) return;
    this.files.set(path, check);
    const text = this.#read(path);
    if (text === undefined) return;
    const isShell = /\.(?:sh|bash)$/.test(path) || /^#!.{0,60}\b(?:ba|da|z|k|a)?sh\b/.test(text);
    if (isShell) this.follow(check, shellCommands(text), depth + 1, folder);
  }

  /** `npm test`, `npm run lint`, `yarn lint`: the script, with its pre and post; of all packages where the command reaches others. */
  #scripts(check: string, { tool, words }: SimpleCommand, depth: number, folder: string): void {
    const names = words.filter((word) => !word.startsWith('-'));
    const name = names[0] === 'run' || names[0] === 'run-script' ? names[1] : names[0] === 't' || names[0] === 'tst' ? 'test' : names[0];
    const reaches = tool === 'turbo' || tool === 'lerna' || words.some((word) => elsewhere.test(word));
    if (!reaches) return name === undefined ? undefined : this.#script(check, name, depth, folder);
    for (const path of this.#tree)
      if (/^(?!(?:.*\/)?node_modules\/).*(?<=^|\/)package\.json$/.test(path))
        for (const one of names) this.#script(check, one, depth, path.slice(0, -'package.json'.length));
  }

  #script(check: string, name: string, depth: number, folder: string): void {
    if (this.#visited.has(`${folder}:${name}`)) return;
    this.#visited.add(`${folder}:${name}`);
    for (const script of [`pre${name}`, name, `post${name}`]) {
      const text = scriptOf(this.#read(`${folder}package.json`), script) ?? composed(this.#read(`${folder}composer.json`), script);
      if (text !== undefined) this.follow(check, shellCommands(text), depth + 1, folder);
    }
  }

  #environments(check: string, file: string, read: (text: string) => readonly SimpleCommand[], depth: number): void {
    if (this.#visited.has(`${file}:`)) return;
    this.#visited.add(`${file}:`);
    this.follow(check, read(this.#read(file) ?? ''), depth + 1);
  }

  #make(check: string, { words }: SimpleCommand, depth: number): void {
    for (const word of words) if (/^[\w./-]+$/.test(word) && !word.startsWith('-')) this.targets.add(word);
    this.tools.add('make');
    if (this.#visited.has('make:')) return;
    this.#visited.add('make:');
    for (const file of ['GNUmakefile', 'makefile', 'Makefile']) {
      const recipes =
        this.#read(file)
          ?.split('\n')
          .filter((line) => line.startsWith('\t')) ?? [];
      this.follow(check, shellCommands(recipes.join('\n')), depth + 1);
      for (const [, names = ''] of this.#read(file)?.matchAll(/^[-s]?include[ \t]+(\S.*)$/gm) ?? [])
        for (const name of names.split(/\s+/)) this.#file(check, name, depth, '');
    }
  }
}

/** Commands of a `tox.ini`; a factor may stand in front of each. */
function toxCommands(text: string): readonly SimpleCommand[] {
  const blocks = [...text.matchAll(/^commands\w*[ \t]*=(.*(?:\n(?:[ \t]+\S.*|[ \t]*(?=\n)))*)/gm)].map(([, block = '']) => block);
  const lines = blocks.flatMap((block) => block.replaceAll('\\\n', ' ').split('\n'));
  return lines.flatMap((line) =>
    shellCommands(
      line
        .trim()
        .replace(/^[\w{},!.-]+:\s+/, '')
        .replaceAll(/\{(?:toxinidir|tox_root)\}\//g, ''),
    ),
  );
}

/** Commands of the sessions of a `noxfile.py`, as far as they are literal. */
function noxCommands(text: string): readonly SimpleCommand[] {
  const runs = [...text.matchAll(/\.\s*run(?:_always|_install)?\(([^()]{0,2000})\)/g)].map(([, list = '']) => list);
  return runs.flatMap((list) => commandsOf([...list.matchAll(/(["'])([^"'\n]*)\1/g)].map(([, , word = '']) => word)));
}

export function entriesOf(tree: ReadonlySet<string>, checks: readonly CheckCommand[], read: ReadFile): Entries {
  const finder = new Finder(tree, read);
  for (const { name, command } of checks) finder.follow(name, commandsOf(command), 0);
  return finder;
}

function scriptOf(text: string | undefined, name: string): string | undefined {
  const script = scriptsOf(text)[name];
  return typeof script === 'string' ? script : undefined;
}

/** Of Composer: one command or several; `@name` is another script, `@php` an interpreter. */
function composed(text: string | undefined, name: string): string | undefined {
  const commands = [scriptsOf(text)[name] ?? []].flat().filter((one) => typeof one === 'string');
  return commands.length === 0 ? undefined : commands.map((one) => one.replace(/^@(?!php )/, 'composer ').replace(/^@/, '')).join('\n');
}

function scriptsOf(text: string | undefined): Readonly<Record<string, unknown>> {
  const { scripts } = (jsonIn(text ?? '{}') ?? {}) as { readonly scripts?: Readonly<Record<string, unknown>> | null };
  return { __proto__: null, ...(typeof scripts === 'object' ? scripts : {}) };
}

/** The program itself, an interpreter's script, and files named by options. A linter's targets are not entries. */
function filesOf({ tool, program, words }: SimpleCommand): string[] {
  const files = program.includes('/') ? [program] : [];
  if (readers.test(tool)) return files;
  words.forEach((word, at) => {
    const [option = '', value] = word.startsWith('-') ? word.split('=', 2) : [];
    if (value !== undefined && fileOptions.test(option)) files.push(...moduleFiles(value));
    else if (fileOptions.test(word)) files.push(...moduleFiles(words[at + 1] ?? ''));
    else if ((word === '-m' && tool.startsWith('py')) || (word === '-p' && /^(?:pytest|py\.test|python[\d.]*)$/.test(tool)))
      files.push(...moduleFiles(words[at + 1] ?? ''));
  });
  if (interpreters.test(tool)) files.push(...scriptArgument(words));
  if (baseName(program) === program && /\.[a-z]{1,4}$/.test(program)) files.push(program);
  return files;
}

/** Returns all plain arguments up to the first that is no option: `node --test a.js` runs a.js. */
function scriptArgument(words: readonly string[]): string[] {
  if (words.includes('-c') || words.includes('-e') || words.includes('-m')) return [];
  const first = words.find((word) => !word.startsWith('-') && word !== 'run');
  return words.includes('--test') ? words.filter((word) => !word.startsWith('-')) : first === undefined ? [] : [first];
}

const moduleFiles = (name: string): string[] =>
  /^[\w.]+$/.test(name) ? [name, `${name.replaceAll('.', '/')}.py`, `${name.replaceAll('.', '/')}/__main__.py`] : [name];
