import { type Entries, entriesOf, parentsOf, normal } from './entries.ts';
import picomatch from 'picomatch';
import { posix } from 'node:path';
import { RE2JS, RE2JSException } from 're2js';
import type { Protect } from '@agentfleet/protocol/api';
import {
  builtFolders,
  conventions,
  derivedGlobs,
  describedPackage,
  homeCache,
  installConvention,
  testModules,
  testPrograms,
  toolConventions,
  vendored,
  type Convention,
} from './conventions.ts';
import { mayHoldTests } from './code/inlineTests.ts';
import type { CheckCommand, ProtectedSet, Protection, ReadFile } from './types.ts';

/** Modules that Python test runners import; a file of that name in an import root comes first. */
const pythonModules = new Set(
  `pytest _pytest py pluggy iniconfig unittest unittest2 nose nose2 mock hypothesis coverage xdist doctest sitecustomize usercustomize
  abc argparse ast asyncio atexit builtins bdb cmd code codecs collections contextlib copy dataclasses datetime decimal difflib dis enum errno
  faulthandler fnmatch functools gc glob importlib inspect io itertools json linecache locale logging math operator os packaging pathlib pdb
  pickle pkgutil platform pprint random re reprlib runpy select shlex shutil signal site socket string struct subprocess sys sysconfig tempfile
  textwrap threading time timeit token tokenize tomllib traceback types typing typing_extensions uuid warnings weakref xml zipfile exceptiongroup tomli colorama pygments
  numpy pandas django flask requests aiohttp freezegun responses parameterized ddt testtools twisted trio anyio`.split(/\s+/),
);

/**
 * Lists new files that would be found instead of those that the checks use. `trees` is the tree of snapshot 0: existing
 * files belong to the project.
 */
function shadowing(tree: readonly string[], isTest: (path: string) => boolean, entries: Entries): (path: string) => string | null {
  const testFiles = tree.filter(isTest);
  const existing = new Set(tree.flatMap((path) => [path, ...parentsOf(path)]));
  const roots = importRoots(testFiles);
  const usesRuby =
    [...entries.tools].some((tool) => /^(?:ruby|rake|rspec|bundle|minitest)/.test(tool)) || testFiles.some((path) => path.endsWith('.rb'));
  const usesPython = testFiles.some((path) => path.endsWith('.py')) || [...entries.tools].some((tool) => /^(?:py|nose|tox|nox)/.test(tool));
  return (path) => {
    if (existing.has(path)) return null;
    const found = (usesPython ? pythonShadow(path, roots, existing) : null) ?? (usesRuby ? rubyShadow(path, existing) : null);
    return found ?? javaShadow(path, existing) ?? toolShadow(path, entries) ?? targetShadow(path, existing, entries);
  };
}

/** Libraries that Ruby's test runners load, in a folder where a check may look first. */
const rubyLibrary =
  /^((?:lib|test|spec)\/(?:rspec|minitest|test\/unit|test-unit|mocha|webmock|capybara|simplecov|rack\/test|diff\/lcs|set|json|time|date|pp|stringio|fileutils|tempfile|ostruct|optparse|erb|yaml|psych|logger|timeout|forwardable|delegate|securerandom|rbconfig|etc|tmpdir|English|benchmark|prettyprint))(?:\.(?:rb|so)$|[-_/].)/;

function rubyShadow(path: string, existing: ReadonlySet<string>): string | null {
  const [, base = ''] = rubyLibrary.exec(path) ?? [];
  return base === '' || existing.has(base) || existing.has(`${base}.rb`)
    ? null
    : `Ruby could load it instead of the library ${base.replace(/^\w+\//, '')}`;
}

/** Packages of Java's test frameworks: classes of the project are found before those of its libraries. */
const javaFramework =
  /^(?:.*\/)?(?:org\/(?:junit|testng|opentest4j|assertj|hamcrest|mockito|easymock|spockframework)|junit\/framework|io\/kotest)(?=\/)/;

function javaShadow(path: string, existing: ReadonlySet<string>): string | null {
  const framework = javaFramework.exec(path)?.[0];
  return framework === undefined || existing.has(framework) ? null : `Java would load it instead of a class of a test framework`;
}

/** Returns the workspace, source roots, and the folders of test files and above (pytest's `rootdir` and `prepend` import mode). */
function importRoots(testFiles: readonly string[]): ReadonlySet<string> {
  const above = testFiles.filter((path) => path.endsWith('.py')).flatMap((path) => parentsOf(path).slice(-2));
  return new Set(['', 'src', 'lib', 'python', ...above]);
}

function pythonShadow(path: string, roots: ReadonlySet<string>, existing: ReadonlySet<string>): string | null {
  const source = path.replace(/(?:\.[\w-]+)?\.(?:so|pyd)$/, '.py');
  if (source !== path && existing.has(source)) return `Python would import it instead of ${source}`;
  for (const root of roots) {
    const rest = root === '' ? path : path.startsWith(`${root}/`) ? path.slice(root.length + 1) : null;
    if (rest === null) continue;
    const [first = '', second] = rest.split('/');
    const name = first.replace(/\.(?:py|pyw|so|pyd|[\w-]+\.so)$/, '');
    const isModule = second !== undefined || name !== first || !first.includes('.');
    if (!isModule || !(pythonModules.has(name) || name.startsWith('pytest_'))) continue;
    const base = root === '' ? name : `${root}/${name}`;
    if (existing.has(base) || existing.has(`${base}.py`)) continue;
    return `Python would import it instead of the module ${name}`;
  }
  return null;
}

/** A program of the name that a check calls, where `PATH` may look. */
function toolShadow(path: string, { tools }: Entries): string | null {
  const parents = path.split('/');
  const name = parents.pop() ?? '';
  const place = parents.join('/');
  return tools.has(name) && /^(?:|(?:.*\/)?(?:\.?bin|sbin|scripts|tools|\.local\/bin))$/.test(place)
    ? `it could be run instead of the program ${name}`
    : null;
}

/** A file of a make target's name makes the target "up to date": its recipe is not run. */
function targetShadow(path: string, existing: ReadonlySet<string>, { targets }: Entries): string | null {
  const top = path.split('/', 1)[0] ?? '';
  return (targets.has(path) || targets.has(top)) && !existing.has(top) ? `make would take it for its target ${top} and run nothing` : null;
}

interface Rule {
  readonly matches: (path: string) => boolean;
  readonly protection: Protection;
}

/**
 * Returns the paths that an attempt may not touch, from the tree of snapshot 0: tests, their settings, files that the
 * checks run, installed packages, all without `protect.except`, and `protect.paths`. `mode: None` leaves only the latter.
 *
 * @param tree paths relative to the workspace
 * @param read contents of snapshot 0; with it the scripts that scripts call are found too
 * @example const set = protectedPaths(['a.py', 'tests/test_a.py'], [{ name: 'unit', command: ['pytest'] }], { mode:
 * 'Default', paths: [] }); set.why('tests/conftest.py'); // { kind: 'Test', why: 'it is in a directory of tests' }
 */
export function protectedPaths(
  tree: readonly string[],
  checks: readonly CheckCommand[],
  protect: Protect,
  read: ReadFile = () => undefined,
): ProtectedSet {
  const paths = tree.map(normal).filter((path) => path !== null);
  const byDefault = protect.mode === 'Default';
  const entries = entriesOf(new Set(paths), checks, read);
  const rules = [...listed(protect.paths ?? []), ...(byDefault ? defaultRules(entries, paths, protect.except ?? []) : [])];
  const why = (path: string): Protection | null => protectionOf(normal(path), rules);
  const isExcepted = matcherBelow(protect.except ?? []);
  const doctests = runsDoctests(checks, [...entries.files.keys()], read);
  const shadows = byDefault ? shadowing(paths, (path) => why(path)?.kind === 'Test', entries) : (): null => null;
  const there = new Set([...paths, ...paths.flatMap(parentsOf)]);
  const [isNewTest, named] = [newTests(paths), checks.flatMap(({ command }) => command).join('\n')];
  const builds = buildsOf(there, entries, read('.gitignore') ?? '', named);
  const guarded = paths.filter((path) => why(path) !== null).sort();
  const parents = new Set([...guarded, ...builds.configured].flatMap(parentsOf));
  const onlyTest = (path: string): boolean => rules.every(({ matches, protection }) => protection.kind === 'Test' || !matches(path));
  return {
    why,
    files: guarded.filter((path) => !builds.derived(path)),
    shadows,
    ...builds,
    addable: (given) => {
      const path = normal(given);
      if (!byDefault || path === null || there.has(path) || !isNewTest(path) || !onlyTest(path)) return false;
      // A check that names a file is there to run it.
      return shadows(path) === null && !builds.derived(path) && !parents.has(path) && !named.includes(path);
    },
    isNew: (path) => isNewPath(normal(path), there),
    stays: ruleOf(testPrograms).matches,
    joinsTests: byDefault ? joining(paths, there, entries, read) : () => false,
    inline: (path) => byDefault && mayHoldTests(path, doctests) && why(path) === null && !isExcepted(path),
    reports: [...entries.reports].sort(),
    tools: entries.tools,
    holdsProtected: (path) => parents.has(path),
  };
}

/** Reports whether a check runs the examples in docstrings: by its command, a script or what pytest goes by. */
function runsDoctests(checks: readonly CheckCommand[], scripts: readonly string[], read: ReadFile): boolean {
  const settings = ['pyproject.toml', 'pytest.ini', 'setup.cfg', 'tox.ini', 'conftest.py', ...scripts];
  const texts = [...checks.flatMap(({ command }) => command), ...settings.map((path) => read(path) ?? '')];
  return texts.some((text) => /\bdoctest|--doctest/.test(text));
}

/** Matches what runs, builds and tools make: of the home folder by a list, in the workspace by name, folder or what checks report to. */
function derivedMatcher(isBuilt: (path: string) => boolean, there: ReadonlySet<string>, { reports }: Entries): ProtectedSet['derived'] {
  const isDescription = (path: string): boolean => {
    const folder = describedPackage.exec(path)?.[0];
    return folder !== undefined && !there.has(folder);
  };
  return (path) =>
    path.startsWith('../') ? homeCache.test(path) : isLeftover(path) || isBuilt(path) || isDescription(path) || reports.has(path);
}

function listed(globs: readonly string[]): Rule[] {
  return globs.map((glob) => ({ matches: matcherBelow([glob]), protection: { kind: 'Listed', why: `spec.protect.paths has ${glob}` } }));
}

/** A directory's name matches all in it. */
function matcherBelow(globs: readonly string[]): (path: string) => boolean {
  const clean = globs.map((glob) => glob.replace(/^\.?\//, ''));
  return globMatcher(clean.flatMap((glob) => [glob, `${glob.replace(/\/$/, '')}/**`]));
}

function defaultRules(entries: Entries, paths: readonly string[], except: readonly string[]): Rule[] {
  const isExcepted = matcherBelow(except);
  const rules = [...entryRules(entries), ...conventionRules(entries, paths)];
  return rules.map(({ matches, protection }) => ({ matches: (path) => matches(path) && !isExcepted(path), protection }));
}

const protectionOf = (path: string | null, rules: readonly Rule[]): Protection | null =>
  path === null ? null : (rules.find(({ matches }) => matches(path))?.protection ?? null);

/** The repository's own files are in no tree. */
const isNewPath = (path: string | null, there: ReadonlySet<string>): boolean =>
  path !== null && !there.has(path) && !/(?:^|\/)\.git(?:\/|$)/.test(path);

function entryRules({ files }: Entries): Rule[] {
  return [...files].map(([file, check]) => ({
    matches: (path) => path === file,
    protection: { kind: 'Entry', why: `check ${check} runs it` },
  }));
}

/** Matches test modules, but no data of a test that is there: it would act on it. */
function newTests(tree: readonly string[]): (path: string) => boolean {
  const [program, ...modules] = [testPrograms, ...testModules].map(ruleOf);
  const stems = new Set(tree.map(stemOf));
  const isProgram = (path: string): boolean => program?.matches(path) === true;
  // Elsewhere a file of that ending is data of something else.
  const hasData = tree.some((path) => isSource.test(path) && isProgram(path));
  return (path) =>
    modules.some(({ matches }) => matches(path)) || (isProgram(path) && (hasData || isSource.test(path)) && !stems.has(stemOf(path)));
}

const isSource = /\.c\w*$/;
const stemOf = (path: string): string => path.replace(/\.[^./]*$/, '');

function conventionRules({ tools, installs }: Entries, tree: readonly string[]): Rule[] {
  const used = Object.entries(toolConventions).flatMap(([tool, convention]) => (tools.has(tool) ? [convention] : []));
  used.push(...conventions);
  if (installs) used.push(installConvention);
  used.push(...Object.entries(vendored).flatMap(([sign, convention]) => (tree.includes(sign) ? [convention] : [])));
  // One that is there says which tests of its folder run.
  const stanzas = new Set(tools.has('dune') ? tree.filter((path) => /(?:^|\/)dune$/.test(path)) : []);
  return [
    ...used.map(ruleOf),
    { matches: (path) => stanzas.has(path), protection: { kind: 'Settings', why: 'a check calls dune' } } satisfies Rule,
  ];
}

function ruleOf({ globs, protection, caseSensitive }: Convention): Rule {
  return { matches: picomatch([...globs], { dot: true, nocase: caseSensitive !== true }), protection };
}

const isLeftover = picomatch([...derivedGlobs], { dot: true });

/** `cmake -S . -B build`, `cd build`: where a check builds. */
const building = /(?:-B|--build|--test-dir|-C|\b(?:cd|mkdir(?: -p)?|meson setup))[ \n][\w.-]+(?=$|[\s&;|])/g;

/**
 * Matches what lies in folders that `.gitignore` names by a plain name and that are not there at snapshot 0: output of builds, which the
 * checks make again. A folder that a check names for anything but to build in it stays, and so does one with exceptions.
 */
function builtMatcher(ignored: string, commands: string, stays: (folder: string) => boolean): (path: string) => boolean {
  const named = commands.replaceAll(building, '');
  const lines = ignored.split('\n').map((line) => line.trim());
  const kept = lines.filter((line) => line.startsWith('!')).join('\n');
  const names = lines.flatMap((line) => /^(?:\*\*)?\/?([\w.-]+)\/?$/.exec(line)?.[1] ?? []);
  const folders = new Set(names.filter((name) => !kept.includes(name) && !named.includes(name)));
  return (path) => parentsOf(path).some((folder) => folders.has(folder.slice(folder.lastIndexOf('/') + 1)) && !stays(folder));
}

/** Files that checks and builds make. A folder that is there stays, but for one that set-up built with a tool of the checks: it makes it again. */
function buildsOf(
  there: ReadonlySet<string>,
  entries: Entries,
  ignored: string,
  commands: string,
): Pick<ProtectedSet, 'derived' | 'reportFolders' | 'configured'> {
  const builds = new Set(Object.entries(builtFolders).flatMap(([tool, built]) => (entries.tools.has(tool) ? [built] : [])));
  const found = [...builds].flatMap((build) =>
    [...there].flatMap((path) => {
      const at = build.beside.exec(path)?.index;
      return at === undefined ? [] : [{ ...build, folder: posix.join(path.slice(0, at), build.folder) }];
    }),
  );
  // In the source tree nothing can be told from sources.
  const configured = [...there].flatMap((path) => {
    const folder = /^(.+)\/(?:CMakeCache\.txt|meson-private)$/.exec(path)?.[1];
    return folder === undefined || there.has(`${folder}/CMakeLists.txt`) || there.has(`${folder}/meson.build`) ? [] : [folder];
  });
  const isConfigured = (path: string): boolean => configured.some((folder) => path === folder || path.startsWith(`${folder}/`));
  const rebuilt = new Set(found.map(({ folder }) => folder));
  const isBuilt = builtMatcher(ignored, commands, (folder) => there.has(folder) && !rebuilt.has(folder));
  return {
    derived: derivedMatcher((path) => isBuilt(path) || isConfigured(path), there, entries),
    configured,
    reportFolders: [...new Set(found.flatMap((one) => (one.reports === undefined ? [] : [`${one.folder}/${one.reports}`])))],
  };
}

const buildFile = /(?:^|\/)(?:CMakeLists\.txt|[^/]+\.cmake|(?:GNU)?[Mm]akefile|[^/]+\.mk)$/;
/** Libraries of tests with a function main. */
const withMain =
  /(?:\b|-l)(?:(?:gtest|gmock|benchmark|doctest)_main|Catch2WithMain|catch2_main|boost_unit_test_framework|CppUTest\w*|criterion)\b/i;
/** `file(GLOB A src/*.cpp)`, `aux_source_directory(src A)`, `$(wildcard src/*.c)`: what stands in their brackets. */
const taking = /\b(?:file\s{0,9}\(\s{0,9}(GLOB(?:_RECURSE)?)\s|(aux_source_directory)\s{0,9}\(|wildcard\s)([^()]{1,2000})\)/gi;
const maxBuildFiles = 64;

function joining(tree: readonly string[], there: ReadonlySet<string>, { tools }: Entries, read: ReadFile): ProtectedSet['joinsTests'] {
  if (!['cmake', 'ctest', 'make', 'gmake', 'ninja'].some((tool) => tools.has(tool))) return () => false;
  const texts = tree
    .filter((path) => buildFile.test(path))
    .slice(0, maxBuildFiles)
    .map((path) => [path, read(path) ?? ''] as const);
  if (!texts.some(([, text]) => withMain.test(text))) return () => false;
  const globs = texts.flatMap(([path, text]) =>
    [...text.matchAll(taking)].flatMap(([, glob, folder, words = '']) =>
      words.split(/[\s"';]+/).flatMap((word) => {
        const bare = word.replace(/^\$[{(]\w+[)}]\/?/, '').replace(/^\.\//, '');
        if (folder === undefined && !bare.includes('*')) return [];
        const whole = folder === undefined ? bare : `${bare}/*`;
        const below = /RECURSE/i.test(glob ?? '') ? whole.replace(/(?:^|\/)(?=[^/]*$)/, (slash) => `${slash}**/`) : whole;
        // A variable in front may be the folder of the file or that of the project.
        return [below, posix.join(posix.dirname(path), below)];
      }),
    ),
  );
  const isTaken = globMatcher(globs.filter((glob) => glob.length < maxPattern));
  return (path) => !there.has(path) && /\.(?:c|cc|cpp|cxx|c\+\+)$/i.test(path) && isTaken(path);
}

interface IgnoreRule {
  readonly ignores: boolean;
  readonly foldersOnly: boolean;
  readonly matches: (path: string) => boolean;
}

/**
 * Reports whether a new file is left out of a commit: a `.gitignore` names it, or it lies in a folder `.git` other than the repository's
 * own. Read as gitignore(5) says.
 *
 * @param ignores the texts of `.gitignore` files by their paths
 * @example isLeftOut(new Map([['.gitignore', '*.log\n']]))('a/b.log'); // true
 */
export function isLeftOut(ignores: ReadonlyMap<string, string>): (path: string) => boolean {
  // Of two rules that match, that of the deeper folder counts, and in one file the later one.
  const rules = [...ignores]
    .toSorted(([a], [b]) => depth(a) - depth(b))
    .flatMap(([path, text]) => ignoreRules(path.slice(0, -name.length), text));
  const isIgnored = (path: string, isFolder: boolean): boolean =>
    rules.findLast((rule) => (isFolder || !rule.foldersOnly) && rule.matches(path))?.ignores === true;
  return (path) =>
    path.split('/').some((part, at) => part.toLowerCase() === '.git' && (at > 0 || part !== '.git')) ||
    (!path.startsWith('.git/') && (parentsOf(path).some((folder) => isIgnored(folder, true)) || isIgnored(path, false)));
}

const name = '.gitignore';
const depth = (path: string): number => path.split('/').length;
const maxPattern = 4096;

function ignoreRules(folder: string, text: string): readonly IgnoreRule[] {
  return text.split(/\r?\n/).flatMap((line): readonly IgnoreRule[] => {
    const [, not, whole = ''] = /^(!?)(.*)$/.exec(line.replace(/(?<![\\ \t])[ \t]+$/, '')) ?? [];
    const pattern = whole
      .replace(/^\//, '')
      .replace(/\/$/, '')
      .replace(/\/\*\*$/, '/**/*')
      .replaceAll('[!', '[^');
    if (pattern === '' || line.startsWith('#') || line.length > maxPattern) return [];
    const anchored = /\/./.test(whole);
    const options = { nobrace: true, noextglob: true, nonegate: true, basename: false } as const;
    const matches = globMatcher([anchored ? pattern : `**/${pattern}`], options);
    const below = (path: string): boolean => path.startsWith(folder) && matches(path.slice(folder.length));
    return [{ ignores: not === '', foldersOnly: whole.endsWith('/'), matches: below }];
  });
}

type Options = picomatch.PicomatchOptions;

/** Up to here an expression that backtracks takes microseconds on the longest name of a file. */
const maxBacktracking = 2;
/** Lookaheads of picomatch: no part of a path is empty, `.` or `..`, which normal paths never have. */
const lookaheads = /\(\?=\.\)|\(\?!(?:\(\?:\^\|\\\/\))?\\\.\{1,2\}\(\?:\\\/\|\$\)\)/g;

/**
 * Returns a matcher of normal relative paths by globs (picomatch; dot files too). One with many wildcards, such as `*a*a*a*b`, is
 * matched in linear time: it would keep the worker, which serves several tasks, busy for hours.
 *
 * @example globMatcher(['src/**'])('src/a/b.ts'); // true
 */
export function globMatcher(globs: readonly string[], given: Options = {}): (path: string) => boolean {
  const options = { dot: true, ...given };
  const [few, many] = [globs.filter(isCheap), globs.filter((glob) => !isCheap(glob))];
  const linear = many.map((glob) => linearPattern(glob, options) ?? linearPattern(glob, { ...options, noextglob: true }));
  const matches = few.length === 0 ? () => false : picomatch([...few], options);
  return (path) => matches(path) || linear.some((pattern) => pattern?.testExact(path) === true);
}

const isCheap = (glob: string): boolean =>
  !/[*+]\(/.test(glob) && glob.replace(/^\*\*\//, '').split(/\*+|!\(/).length <= maxBacktracking + 1;

/** Returns null for what has no linear form, as a group that excludes. */
function linearPattern(glob: string, options: Options): RE2JS | null {
  const { source } = picomatch.makeRe(glob, options);
  try {
    return RE2JS.compile(source.replace(lookaheads, ''), RE2JS.DOTALL);
  } catch (error) {
    if (error instanceof RE2JSException) return null;
    throw error;
  }
}
