// agent-image, checks/protect: parts of settings files that may change. May import base, protocol, kube and the keeper's client.
import { jsonIn } from '../../base/text.ts';
import { baseName } from './commands.ts';

const packageKeys = new Set(
  'version description keywords author contributors maintainers license repository homepage bugs funding files main module types typings exports bin man sideEffects private'.split(
    ' ',
  ),
);
const composerKeys = new Set(
  'name description version type keywords homepage readme time license authors support funding suggest require require-dev conflict bin autoload'.split(
    ' ',
  ),
);
const dependencyKeys = new Set(['dependencies', 'optionalDependencies', 'peerDependencies', 'peerDependenciesMeta']);

/** Rules for files whose other parts may change, by name: whether a change leaves what affects tests. */
const rules: ReadonlyMap<string, (before: string, after: string) => boolean> = new Map([
  ['package.json', keysOf(packageKeys, dependencyKeys)],
  ['composer.json', keysOf(composerKeys)],
  [
    'Gemfile',
    same((text) =>
      text.replaceAll(/^[ \t]*gem(?: +|\()['"][\w-]+['"](?:, *['"][\d .<>=~!-]*['"]|, *require: (?:true|false))*\)?[ \t]*(?:\n|$)/gm, ''),
    ),
  ],
  // `require` lines may change (go.sum pins them); `replace`, `tool`, `go` and the rest may not.
  ['go.mod', same(withoutRequires)],
  [
    'pyproject.toml',
    sections(
      /^\[{1,2}(?:project|project\.(?:optional-dependencies|urls|scripts|gui-scripts)|dependency-groups|tool\.(?:ruff|black|isort|mypy|pyright|pylint|flake8|bandit|towncrier|commitizen|bumpversion)(?:\.[\w.-]+)?)\]{1,2}$/,
    ),
  ],
  ['setup.cfg', sections(/^\[(?:metadata|flake8|mypy[\w.*-]*|isort|bdist_wheel|bumpversion[\w:.-]*|pycodestyle|pylint[\w.-]*)\]$/)],
  ['tox.ini', sections(/^\[(?:flake8|mypy[\w.*-]*|isort|pycodestyle)\]$/)],
  [
    'Cargo.toml',
    sections(/^\[(?:package|dependencies|build-dependencies|features|badges|package\.metadata[\w.-]*|dependencies\.[\w-]+)\]$/),
  ],
  ['entry_points.txt', sections(/^\[(?:console|gui)_scripts\]$/)],
  ['CMakeLists.txt', adds(cmakeOf, (was, word) => isList(was) && item.test(word), addsOnly)],
  ['meson.build', adds(mesonOf, (was, word) => holdsSources(was) && source.test(word), definesOnly)],
  ...['Makefile', 'makefile', 'GNUmakefile'].map((name) => [name, addsSources] as const),
  // A version of its own, and dependencies by version: `path:`, `git:`, aliases, paths of tests and compilers stay.
  [
    'mix.exs',
    same((text) =>
      text.replaceAll(
        /^[ \t]*(?:version: "[\w.+-]*"|\{:(?!ex_unit\b)\w+, "[\w .<>=~!+-]*"(?:, (?:only: (?::\w+|\[[:\w, ]*\])|runtime: \w+|optional: \w+))*\}),?[ \t]*(?:\n|$)/gm,
        '',
      ),
    ),
  ],
  ['pubspec.yaml', same(withoutPackages)],
  [
    'package.yaml',
    same((text) =>
      text.replaceAll(/(?<![^\n])(?:(?:version|synopsis|description):[^\n]*\n|dependencies:[ \t]*\n(?:[ \t]*- [^\n]*\n)*)/g, ''),
    ),
  ],
  ['.cabal', same(withoutLibraries)],
  [
    'dune',
    same((text) => (/\((?:tests?|cram|rule|inline_tests)\b/.test(text) ? text : withoutFields(text, 'libraries|public_names?|synopsis'))),
  ],
  ['dune-project', same((text) => withoutFields(text, 'version|synopsis|description|depends|authors|maintainers|license|source|homepage'))],
]);

/** Characters of settings that are compared in parts. */
const maxSettings = 1_048_576;

const ruleOf = (path: string) => rules.get(baseName(path)) ?? rules.get(/\.cabal$/.exec(path)?.[0] ?? '');

/**
 * Reports whether a change of a shared settings file cannot affect tests. Decided by allow-lists: an unknown part
 * counts as harmful. Where real parsers read a line differently, this one must refuse.
 *
 * @param tools what the checks call: sections for them must stay
 */
export function harmless(path: string, before: string, after: string, tools: ReadonlySet<string> = new Set()): boolean {
  if (Math.max(before.length, after.length) > maxSettings) return false;
  return ruleOf(path)?.(before, after) === true && said(before, tools) === said(after, tools);
}

/** Sections of a file for tools: `[tool.ruff.lint]`, `[flake8]`, `[mypy-a.*]`. */
function said(text: string, tools: ReadonlySet<string>): string {
  let inside = false;
  const kept = text.split(/\r\n|\r|\n/).filter((line) => {
    const name = /^[ \t]*\[{1,2}[ \t"']*(?:tool["' \t]*\.[ \t"']*)?([a-z\d]+)/.exec(line)?.[1];
    if (name !== undefined) inside = tools.has(name);
    return inside && line.trim() !== '';
  });
  return kept.join('\n');
}

/** The part of a settings file of this name that may not change; null: no other part may either. */
export function guardedPart(path: string): string | null {
  if (ruleOf(path) === undefined) return null;
  return /^(?:CMakeLists\.txt|meson\.build|(?:GNU)?[Mm]akefile)$/.test(baseName(path))
    ? 'what it lists; files and tests may be added'
    : 'what bears on tests in it';
}

function same(part: (text: string) => string): (before: string, after: string) => boolean {
  return (before, after) => part(before) === part(after);
}

/** A rule for files in which any line of some sections may change. */
function sections(allowed: RegExp): (before: string, after: string) => boolean {
  return same((text) => guarded(text, allowed));
}

/** A rule for JSON in which values of some keys may change; of others, dependencies, by version only. Scripts and settings of runners must stay. */
function keysOf(free: ReadonlySet<string>, dependencies: ReadonlySet<string> = new Set()): (before: string, after: string) => boolean {
  return (before, after) => {
    const [old, now] = [objectOf(before), objectOf(after)];
    if (old === null || now === null) return false;
    const changed = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter(
      (key) => JSON.stringify(old[key]) !== JSON.stringify(now[key]),
    );
    return changed.every((key) => free.has(key) || (dependencies.has(key) && versionsOnly(now[key])));
  };
}

/** A `file:` or `npm:` dependency could put another package in the runner's place. */
function versionsOnly(value: unknown): boolean {
  if (value === undefined) return true;
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).every((version) => typeof version !== 'string' || /^[\^~<>=\d.*xX |\-+a-z]*$/.test(version));
}

function objectOf(text: string): Readonly<Record<string, unknown>> | null {
  const value = jsonIn(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Readonly<Record<string, unknown>>) : null;
}

/** Keys that reach out of their section's purpose. */
const risky = /^\s*["']?(?:entry-points|entry_points|autotests|autobenches|build|links|path|git|registry|dynamic|py-modules)\b|pytest11/;

/** Returns the text that must not change: lines outside of allowed sections, headers, and risky keys. */
function guarded(text: string, allowed: RegExp): string {
  const kept: string[] = [];
  let inside = false;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const trimmed = line.trim();
    // Arrays of a value start lines with a bracket too: those are kept, which refuses more.
    if (trimmed.startsWith('[')) inside = allowed.test(trimmed.replace(/[#;].*$/, '').trimEnd());
    else if (inside && !risky.test(line) && !line.includes('"""') && !line.includes("'''")) continue;
    if (trimmed !== '' && !(trimmed.startsWith('[') && inside)) kept.push(line);
  }
  return kept.join('\n');
}

function withoutRequires(text: string): string {
  const kept: string[] = [];
  let block = false;
  for (const line of text.split('\n').map((part) => part.trim())) {
    if (/^require\s*\($/.test(line)) block = true;
    else if (block) block = line !== ')';
    else if (line !== '' && !/^require\s/.test(line) && !line.startsWith('//')) kept.push(line);
  }
  return kept.join('\n');
}

/** A file of Pub without its version, its descriptions and what it takes by version. */
function withoutPackages(text: string): string {
  let section = '';
  const kept = text.split(/\r\n|\r|\n/).filter((line) => {
    section = /^[^ \t#]/.test(line) ? line.trimEnd() : section;
    if (/^(?:version|description|homepage|repository|issue_tracker|documentation): *[\w^"'][^\n{}&*|>]*$/.test(line)) return false;
    return !/^(?:dev_)?dependencies:$/.test(section) || !/^  \w+: *(?:any|["']?[\^<>=\d][\w.^<>= +-]*["']?)$/.test(line);
  });
  return kept.join('\n');
}

/** Parts of a Cabal file that say what is built and not what is tested, and fields in them that reach further. */
const cabalParts = /^(?:library|executable|foreign-library|source-repository)\b/i;
const cabalFields =
  /^(?:version|synopsis|description|category|author|maintainer|license|license-file|copyright|homepage|bug-reports|stability|extra-\w+-files)[ \t]*:/i;
const reaching =
  /^[ \t]+(?:buildable|ghc-options|cpp-options|build-tools?\b[\w-]*|import|mixins|[\w-]{0,80}preprocess[\w-]{0,80})[ \t]*:|-pgmF|-F\b/i;

/** A Cabal file without the parts that no test is defined in. */
function withoutLibraries(text: string): string {
  let free = false;
  const kept = text.split(/\r\n|\r|\n/).filter((line) => {
    if (/^[^ \t]/.test(line) && !line.startsWith('--')) free = cabalParts.test(line) || cabalFields.test(line);
    return (!free || reaching.test(line)) && line.trim() !== '' && !line.trim().startsWith('--');
  });
  return kept.join('\n');
}

/** S-expressions of Dune without fields of some names, where nothing but plain words stands in them. */
function withoutFields(text: string, names: string): string {
  const word = String.raw`[\w\s.:<>=&~@/+-]|"[\w\s.:/,'-]*"`;
  const nested = (depth: number): string => (depth === 0 ? `(?:${word})*` : String.raw`(?:${word}|\(${nested(depth - 1)}\))*`);
  return text.replaceAll(new RegExp(String.raw`\((?:${names})\b${nested(4)}\)`, 'g'), '').replaceAll(/\s+/g, ' ');
}

/** Commands of CMake that define more files, targets and tests. */
const adding = /^(?:add_(?:executable|library|test)|target_(?:sources|link_libraries|include_directories))$/;
/** Commands whose lists may have more items at any place. */
const listing = /^(?:add_(?:executable|library)|target_sources|foreach)$/;
/** A file, a target or a variable's value; words in capitals are settings of a command: PARENT_SCOPE, CACHE, EXCLUDE_FROM_ALL … */
const item = /^(?![A-Z_\d]+$)[\w$][\w./+${}-]*$/;
const keywords = /^(?:|PRIVATE|PUBLIC|INTERFACE|STATIC|SHARED|OBJECT|APPEND|NAME|COMMAND)$/;
/** Variables and lists whose items are files and programs: an item more in CMAKE_BUILD_TYPE would switch assertions off. */
const holdsFiles = /OBJ|SRC|SOURCE|HEADER|HDR|TEST/i;

type Command = readonly string[];

/** Sources, targets and tests may be added to a file of CMake or Meson; whatever is there stays as it is, in its order. */
function adds(
  commandsOf: (text: string) => readonly Command[],
  isItem: (was: Command, word: string) => boolean,
  isNew: (command: Command, old: readonly Command[]) => boolean,
): (before: string, after: string) => boolean {
  return (before, after) => {
    const old = commandsOf(before);
    let at = 0;
    for (const command of commandsOf(after)) {
      const was = old[at] ?? [];
      if (added(was, command)?.every((word) => isItem(was, word)) === true) at += 1;
      else if (!isNew(command, old)) return false;
    }
    return at === old.length;
  };
}

/** A file of sources of Meson, in quotes. */
const source = /^'[\w$][\w./+-]*\.(?:[ch]|cc|cpp|cxx|hh|hpp|hxx)'$/;

/** `NAME = files(`, `NAME += [`, `executable(` … */
function holdsSources(command: Command): boolean {
  const [name = '', is = '', value = '', next = ''] = command;
  if (!/^\+?=$/.test(is)) return is === '(' && /^(?:executable|(?:static_|shared_|both_)?librar(?:y|ies))$/.test(name);
  return value === '['
    ? holdsFiles.test(name)
    : next === '(' && /^(?:files|executable|(?:static_|shared_|both_)?librar(?:y|ies))$/.test(value);
}

/** A program of sources and of what is there, under a new name, or a test that runs one without words of its own. */
function definesOnly(command: Command, old: readonly Command[]): boolean {
  const [name = '', is = '', value = '', ...rest] = command;
  if (name === 'test') return is === '(' && /^'[^']*'$/.test(value) && /^[a-z]\w*$/i.test(rest[0] ?? '') && rest.join() === `${rest[0]},)`;
  if (is !== '=' || !/^(?:executable|files)$/.test(value) || old.some((words) => words.includes(name))) return false;
  const isWord = /^(?:[()[\]:]|(?:dependencies|include_directories|link_with):?|[a-z]\w*|'[\w-]+')$/i;
  // Any other function, run_command among them, acts when the build is set up.
  const calls = rest.some((word, at) => word === '(' && at > 0 && rest[at - 1] !== 'files');
  return !calls && rest.every((word) => source.test(word) || isWord.test(word));
}

/** The statements of a file of Meson, each with its words and brackets; commas are left out. */
function mesonOf(text: string): readonly Command[] {
  const tokens = text.match(/'''[^]*?'''|'(?:\\.|[^'\\\n])*'|#[^\n]*|[()[\]{}\n]|[^\s,()[\]{}'#]+/g) ?? [];
  const found: string[][] = [[]];
  let depth = 0;
  for (const token of tokens.filter((one) => !one.startsWith('#'))) {
    if (token === '\n' && depth === 0) found.push([]);
    else if (token !== '\n') found.at(-1)?.push(token);
    if (/^[([{]$/.test(token)) depth += 1;
    else if (/^[)\]}]$/.test(token)) depth -= 1;
  }
  return found.filter(({ length }) => length > 0);
}

function isList([name = '', first = '', second = '']: readonly string[]): boolean {
  if (name === 'set') return holdsFiles.test(first);
  return name === 'list' ? first === 'APPEND' && holdsFiles.test(second) : listing.test(name);
}

const lists = /^(?=\w* *[+:?]?=)\w*(?:OBJ|SRC|SOURCE|HEADER|HDR|TEST)/;

/** Files and programs may be added to a list of a makefile. */
function addsSources(before: string, after: string): boolean {
  const [old = [], now = []] = [before, after].map((text) => text.replaceAll('\\\n', ' ').split('\n'));
  const isMore = (was: string, is = ''): boolean =>
    lists.test(was) && added(was.trim().split(/\s+/), is.trim().split(/\s+/))?.every((word) => item.test(word)) === true;
  return old.length === now.length && old.every((line, at) => line === now[at] || isMore(line, now[at]));
}

/** The words of a command that another has more, in the same order; null where it has not all of them. */
function added(old: readonly string[], now: readonly string[]): readonly string[] | null {
  let at = 0;
  const more = now.filter((word) => word !== old[at] || (at += 1) === 0);
  return at === old.length && at > 0 && old[0] === now[0] ? more : null;
}

/** Reports whether a new command takes nothing away; a test runs one program without words of its own. */
function addsOnly(command: readonly string[], old: readonly (readonly string[])[]): boolean {
  const [name = '', first = '', second = '', ...rest] = command;
  if (name === 'list') return isList(command) && rest.every((word) => item.test(word));
  if (name === 'set') return isList(command) && second === `\${${first}}` && rest.every((word) => item.test(word));
  if (!adding.test(name) || ![first, second, ...rest].every((word) => keywords.test(word) || item.test(word))) return false;
  // What is searched and linked for a target that is there decides what its tests mean.
  if (/^target_(?:link|include)/.test(name)) return !old.some((words) => words.includes(first));
  return name !== 'add_test' || (first === 'NAME' && rest[0] === 'COMMAND' && rest.length === 2);
}

/** The commands of a file of CMake, each with its name in small letters and its words. */
function cmakeOf(text: string): readonly (readonly string[])[] {
  const tokens = text.match(/"(?:[^"\\]|\\[^])*"|#[^\n]*|[()]|[^\s()"#]+/g)?.filter((token) => !token.startsWith('#')) ?? [];
  const found: string[][] = [];
  let depth = 0;
  for (const token of tokens) {
    if (depth === 0 && token !== '(') found.push([token.toLowerCase()]);
    else if (token === ')') depth -= 1;
    if (token === '(') depth += 1;
    else if (depth > 0) found.at(-1)?.push(token);
    if (depth > 1 && token === '(') found.at(-1)?.push(token);
  }
  return found;
}
