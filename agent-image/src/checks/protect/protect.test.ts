import { expect, test } from 'vitest';
import type { Protect } from '@agentfleet/protocol/api';
import { judgeChanges } from './judge.ts';
import { packagesOf } from './conventions.ts';
import { protectedPaths } from './protected.ts';
import type { ProtectedSet } from './types.ts';
import { commandsOf, shellCommands } from './commands.ts';
import { entriesOf, reportFiles } from './entries.ts';
import { guardedPart, harmless } from './sections.ts';

const byDefault: Protect = { mode: 'Default', paths: [] };
const none = (): undefined => undefined;
const entries = (command: readonly string[], files: Readonly<Record<string, string>>): string[] => [
  ...entriesOf(new Set(Object.keys(files)), [{ name: 'c', command }], (path) => files[path]).files.keys(),
];

test.each([
  'tests/a.py', 'Tests/A.py', 'src/test/java/A.java', 'pkg/test_a.py', 'pkg/a_test.py', 'pkg/conftest.py', 'a.test.ts', 'a.spec.mjs', 'x/__tests__/a.js', 'x/test-a.js', 'a_test.go',
  'x/testdata/in', 't/basic.t', 't/lib/Helper.pm', 'xt/author.t', 'spec/helper.lua', 'src/cart_spec.lua', 'src/cart_tests.erl', 'src/cart_SUITE.erl', 'src/shop/cart_test.clj', 'src/CartSpec.hs', 'x/UserTest.java', 'TestUser.java', 'spec/cart_spec.rb', 'spec/spec_helper.rb', 'CartTests.cs', 'x.bats', 'a.snap', 'pytest.ini', 'sub/setup.cfg', 'jest.config.js', '.mocharc.yml', 'vitest.workspace.ts',
  'package.json', 'a/b/tsconfig.test.json', '.npmrc', 'go.mod', '.cargo/config.toml', 'pom.xml', '.mvn/maven.config', 'phpunit.xml.dist', 'phpunit.dist.xml', 'src/blob-test.cpp', 'BlobTests.cc', 'gradle/quality.gradle', 'gradle/libs.versions.toml', 'buildSrc/src/main/kotlin/T.kt', '.rspec-local', 'Gemfile', '.bundle/config', 'spec/factories/cart.rb', 'vendor/bundle/ruby/3.1.0/gems/a/a.rb', '.venv/bin/pytest', 'lib/python3.11/site-packages/x.pth',
])('%s is protected by default', (path) => {
  expect(protectedPaths([], [], byDefault).why(path)).not.toBeNull();
}); // prettier-ignore

test.each([
  'src/contest.py',
  'src/t/Cart.pm',
  'lib/suite.erl',
  'src/Inspec.hs',
  'src/spec.lua',
  'latest.go',
  'src/Latest.java',
  'src/latest.cpp',
  'testing.md',
  'src/protest.js',
  'inspect.ts',
  'greatest.rb',
  'Makefile',
  'src/attest/x.go',
  'vendor/x.go',
  'composer.json',
  'spec/openapi.yaml',
  'package-lock.json',
])('%s is not', (path) => {
  expect(protectedPaths([], [], byDefault).why(path)).toBeNull();
});

test.each([
  [['./run.sh', 'fast'], ['run.sh']],
  [
    ['bash', '-c', 'set -e; FOO=1 python3 ci/all.py && timeout 5 node tools/t.js'],
    ['ci/all.py', 'tools/t.js'],
  ],
  [['npx', 'jest', '--config=ci/jest.json'], ['ci/jest.json']],
  [['python', '-m', 'ci.all'], ['ci/all.py']],
  [
    ['pytest', '-p', 'ci.all', '-c', 'ci/jest.json'],
    ['ci/all.py', 'ci/jest.json'],
  ],
  [
    ['node', '--import', './tools/t.js', '--test', 'src/a.js', 'src/b.js'],
    ['tools/t.js', 'src/a.js', 'src/b.js'],
  ],
  [['env', '-i', 'A=b', 'uv', 'run', 'python', 'ci/all.py'], ['ci/all.py']],
  [['node', '--env-file-if-exists=.env', '--test'], ['.env']],
  [['mypy', 'src/a.js'], []],
  [['pytest', 'src'], []],
] as const)('%j runs %j', (command, files) => {
  const tree = { 'run.sh': 'echo', 'ci/all.py': '', 'ci/jest.json': '', 'tools/t.js': '', 'src/a.js': '', 'src/b.js': '' };
  expect(entries(command, tree).sort()).toEqual([...files].sort());
});

test.each([
  ['npm run lint --workspace=a', '.eslintrc.json packages/a/.eslintrc.cjs packages/a/.eslintignore eslint.config.mjs'],
  ['make lint', '.golangci.yml .golangci.toml'],
  ['python3 -m mypy src && ruff check . && flake8', 'mypy.ini .mypy.ini ruff.toml .flake8'],
  ['prettier --check . && npx biome ci', '.prettierrc .prettierignore prettier.config.js biome.json'],
])('what %s goes by decides about its result: %s', (line, paths) => {
  const tree = { 'packages/a/package.json': '{"scripts":{"lint":"eslint ./"}}', Makefile: 'lint:\n\tgolangci-lint run\n' };
  const set = (command: readonly string[]): ProtectedSet =>
    protectedPaths(
      Object.keys(tree),
      [{ name: 'lint', command }],
      byDefault,
      (path) => Object.entries(tree).find(([one]) => one === path)?.[1],
    );
  for (const path of paths.split(' ')) {
    expect([path, set(['sh', '-c', line]).why(path)?.kind]).toEqual([path, 'Settings']);
    expect([path, set(['pytest']).why(path)]).toEqual([path, null]);
  }
});

test.each([
  ['pyproject.toml', '[tool.mypy]\nstrict = true\n', '[tool.mypy]\nignore_errors = true\n'],
  ['pyproject.toml', '[project]\n', '[project]\n[[tool.mypy.overrides]]\nmodule = "a"\nignore_errors = true\n'],
  ['setup.cfg', '[mypy]\nstrict = True\n', '[mypy]\nstrict = True\n[mypy-a.*]\nignore_errors = True\n'],
])('settings of a checker in %s may change only where no check calls it', (path, before, after) => {
  const judged = (command: readonly string[]): number =>
    judgeChanges([{ path, op: 'Modify', before, after }], protectedPaths([path], [{ name: 'types', command }], byDefault)).violations
      .length;
  expect(judged(['mypy', 'src'])).toBe(1);
  expect(judged(['sh', '-c', 'pytest && python -m mypy src'])).toBe(1);
  expect(judged(['ruff', 'check'])).toBe(0);
});

test.each([
  ['pnpm -r test', ['packages/a/run.js', 'packages/b/run.sh', 'packages/b/sub.js']],
  ['pnpm --filter a test', ['packages/a/run.js', 'packages/b/run.sh', 'packages/b/sub.js']],
  ['npm run test --workspaces', ['packages/a/run.js', 'packages/b/run.sh', 'packages/b/sub.js']],
  ['turbo run test', ['packages/a/run.js', 'packages/b/run.sh', 'packages/b/sub.js']],
  ['npm run all', ['all.js', 'packages/a/run.js', 'packages/b/run.sh', 'packages/b/sub.js']],
  ['npm test', []],
])('%s runs scripts of packages: %j', (command, files) => {
  const scripts = (test: string): string => JSON.stringify({ scripts: { test } });
  const tree = {
    'package.json': JSON.stringify({ scripts: { all: 'node all.js && yarn workspaces foreach run test' } }),
    'all.js': '',
    'run.js': '',
    'packages/a/package.json': scripts('node ./run.js'),
    'packages/a/run.js': '',
    'packages/b/package.json': scripts('./run.sh'),
    'packages/b/run.sh': '#!/bin/sh\nnode sub.js',
    'packages/b/sub.js': '',
    'packages/b/node_modules/c/package.json': scripts('node c.js'),
    'packages/b/node_modules/c/c.js': '',
  };
  expect(entries(command.split(' '), tree).sort()).toEqual(files);
});

test('scripts of Composer are followed, and what they run is protected', () => {
  const scripts = { test: ['@unit', '@php ci/b.php'], unit: 'sh ci/a.sh', other: 'sh ci/c.sh' };
  const files = { 'composer.json': JSON.stringify({ scripts }), 'ci/a.sh': '', 'ci/b.php': '', 'ci/c.sh': '' };
  expect(entries(['composer', 'test'], files)).toEqual(['ci/a.sh', 'ci/b.php']);
  expect(entries(['composer', 'run-script', 'other'], files)).toEqual(['ci/c.sh']);
  const checks = [{ name: 'c', command: ['composer', 'test'] }];
  expect(protectedPaths(Object.keys(files), checks, byDefault).why('composer.json')?.kind).toBe('Settings');
});

test('packages that Composer installed are protected, and its maps of the own classes are not', () => {
  const tree = ['vendor/composer/autoload_real.php', 'vendor/composer/autoload_classmap.php'];
  const paths = [...tree, 'vendor/autoload.php', 'vendor/bin/phpunit', 'vendor/phpunit/phpunit/src/A.php', 'vendor/composer/ca/x.php'];
  const set = protectedPaths(tree, [], byDefault);
  expect(paths.filter((path) => set.why(path) === null)).toEqual(['vendor/composer/autoload_classmap.php']);
});

test.each([
  '.phpunit.result.cache',
  'sub/.phpunit.cache/test-results',
  '.rspec_status',
  'spec/examples.txt',
  '../home/.config/composer/.htaccess',
  '../home/.local/share/composer/.htaccess',
  '../home/.bundle/cache/compact_index/x',
  '../home/.irb_history',
])('%s is written by tools for themselves', (path) => {
  expect(protectedPaths([], [], byDefault).derived(path)).toBe(true);
  expect(protectedPaths([], [], byDefault).derived('../home/.config/composer/config.json')).toBe(false);
});

test.each([
  ['python3 -c \'import json; print(open("settings.json").read())\'\n./next.sh', ['next.sh']],
  ['# sh next.sh\necho "$(sh sub.sh; cat settings.json)" done', ['sub.sh']],
  ["python3 - <<'END'\nimport app\nnext.sh\nEND\nsh sub.sh", ['sub.sh']],
  ['bash <<END\n./next.sh\nEND\ncat settings.json | sh sub.sh', ['next.sh', 'sub.sh']],
  ["eval './next.sh fast'", ['next.sh']],
  ["echo 'unclosed ./next.sh", []],
  ['test -s settings.json && [ -f app.py ] && grep -c x settings.json && ./next.sh', ['next.sh']],
])('the script %j runs %j', (script, files) => {
  const tree = { 'check.sh': script, 'next.sh': '', 'sub.sh': '', 'settings.json': '', 'app.py': '' };
  expect(entries(['sh', 'check.sh'], tree).sort()).toEqual(['check.sh', ...files]);
});

test('scripts are followed into scripts, also in a circle', () => {
  const files = {
    'package.json': '{"scripts":{"test":"npm run unit && ./ci/a.sh","unit":"npm test; make deep"}}',
    Makefile: 'deep:\n\t@sh ci/b.sh \\\n\t  now\n',
    'ci/a.sh': '#!/bin/bash\nsource ci/env.sh\n# sh ci/comment.sh\nsh ci/a.sh\n',
    'ci/b.sh': 'ruby ci/r.rb | cat',
    'ci/env.sh': '',
    'ci/r.rb': '',
    'ci/comment.sh': '',
  };
  expect(entries(['npm', 'test'], files).sort()).toEqual(['ci/a.sh', 'ci/b.sh', 'ci/env.sh', 'ci/r.rb']);
});

test('files of only some checks are protected only for them', () => {
  const set = (command: readonly string[]): ReturnType<typeof protectedPaths> =>
    protectedPaths(['Makefile'], [{ name: 'c', command }], byDefault, none);
  expect(set(['make', 'test']).why('sub/extra.mk')?.kind).toBe('Settings');
  expect(set(['pytest']).why('sub/extra.mk')).toBeNull();
  expect(set(['sh', '-c', 'npm ci && npm test']).why('package-lock.json')?.kind).toBe('Settings');
});

test('a settings file without known contents may not change', () => {
  const set = protectedPaths(['package.json'], [], byDefault);
  expect(judgeChanges([{ path: 'package.json', op: 'Modify' }], set).violations).toMatchObject([{ code: 'Protected' }]);
  expect(judgeChanges([{ path: 'package.json', op: 'Delete', before: '{}', after: '{}' }], set).violations).toHaveLength(1);
});

test.each([
  ['pyproject.toml', '[project]\nname="a"\n', '[project]\nname="b"\n', true],
  ['pyproject.toml', '[project]\nname="a"\n', '[project]\nname="a"\n[ "tool" . "pytest" . ini_options ]\naddopts="-k x"\n', false],
  ['pyproject.toml', '[project]\nname="a"\n', '[project]\nname="a"\n["tool".pytest]\nx=1\n', false],
  ['pyproject.toml', '[project]\nname="a"\n', '[project]\nname="a"\n[project.entry-points.pytest11]\nx="a"\n', false],
  ['pyproject.toml', '[tool.pytest.ini_options]\nx=1\n', '[tool.ruff]\ny=1\n[tool.pytest.ini_options]\nx=1\n', true],
  ['pyproject.toml', '[tool.pytest.ini_options]\nx=1\n', '[tool.pytest.ini_options]\n[tool.ruff]\nx=1\n', false],
  ['setup.cfg', '[metadata]\nname=a\n', '[metadata]\nname=b\n', true],
  ['setup.cfg', '[metadata]\nname=a\n', '[metadata]\nname=a\n  [tool:pytest]\n  addopts=-k x\n', false],
  ['setup.cfg', '[metadata]\nname=a\n', '[metadata]\rname=a\r[tool:pytest]\raddopts=-k x\n', false],
  ['Cargo.toml', '[package]\nversion="1"\n', '[package]\nversion="2"\n', true],
  ['Cargo.toml', '[package]\nversion="1"\n', '[package]\nversion="1"\nautotests=false\n', false],
  ['go.mod', 'module a\nrequire b v1\n', 'module a\nrequire (\n b v2\n)\n', true],
  ['go.mod', 'module a\nrequire b v1\n', 'module a\nrequire b v1\nreplace b => ./c\n', false],
  ['package.json', '{"version":"1"}', '{"version":"2"}', true],
  ['package.json', '{"version":"1"}', '{"version":"1","jest":{}}', false],
  ['package.json', '{"version":"1"}', '{"version":"1","imports":{"#a":"./b"}}', false],
  ['package.json', '{"version":"1"}', '{"version":"1"', false],
  ['composer.json', '{"require":{"a/b":"^1"}}', '{"require":{"a/b":"^2"},"autoload":{"psr-4":{"A\\\\":"src/"}}}', true],
  ['composer.json', '{"scripts":{"test":"phpunit"}}', '{"scripts":{"test":"true"}}', false],
  ['composer.json', '{}', '{"repositories":[{"type":"path","url":"fake"}]}', false],
  ['Gemfile', "gem 'rspec'\n", "gem 'rspec'\ngem 'rack', '~> 3.0', '>= 3.0.1', require: false\n  gem(\"rake\")\n", true],
  ['Gemfile', "gem 'rspec'\n", "gem 'rspec', path: 'fake'\n", false],
  ['Gemfile', "gem 'rspec'\n", "gem 'rspec'\nload 'fake.rb'\n", false],
  ['tsconfig.json', '{}', '{ }', false],
  ['CMakeLists.txt', 'set(TESTS\n  a\n  b)\n', 'set(TESTS\n  a\n  b\n  c) # c too\n', true],
  ['CMakeLists.txt', 'set(TESTS a b)\n', 'set(TESTS a)\n', false],
  ['CMakeLists.txt', 'set(TESTS a b)\n', 'set(TESTS a b)\nset(TESTS c)\n', false],
  ['CMakeLists.txt', 'set(TESTS a b)\n', 'set(TESTS a b)\nset(TESTS ${TESTS} c)\n', true],
  ['CMakeLists.txt', 'set(TESTS a b)\n', 'set(TESTS a b)\nlist(APPEND TESTS c)\n', true],
  ['CMakeLists.txt', 'set(TESTS a b)\n', 'set(TESTS a b)\nlist(REMOVE_ITEM TESTS a)\n', false],
  ['CMakeLists.txt', 'list(REMOVE_ITEM TESTS a)\n', 'list(REMOVE_ITEM TESTS a b)\n', false],
  ['CMakeLists.txt', 'add_executable(a a.c)\n', 'return()\nadd_executable(a a.c)\n', false],
  ['CMakeLists.txt', 'add_executable(a a.c)\n', 'add_executable(a a.c)\nadd_executable(b b.c)\nadd_test(NAME b COMMAND b)\n', true],
  ['CMakeLists.txt', 'add_executable(a a.c)\n', 'add_executable(a a.c)\nadd_test(NAME b COMMAND cmake -E copy x a)\n', false],
  ['CMakeLists.txt', 'if(NOT OFF)\nset(TESTS "#")\nendif()\n', 'if(NOT OFF AND b)\nset(TESTS "#")\nendif()\n', false],
  ['CMakeLists.txt', 'set(SOURCES ${D}/a.c)\n', 'set(SOURCES ${D}/a.c ${D}/b.c)\n', true],
  ['CMakeLists.txt', 'add_test(NAME a COMMAND a)\n', 'add_test(NAME a COMMAND a -h)\n', false],
  ['meson.build', "srcs = files(\n  'a.cpp',\n)\n", "srcs = files(\n  'a.cpp', # a\n  'src/b.cpp',\n)\n", true],
  ['meson.build', "srcs = ['a.c']\n", "srcs = ['a.c', 'b.c']\n", true],
  ['meson.build', "srcs = ['a.c', 'b.c']\n", "srcs = ['a.c']\n", false],
  ['meson.build', "args = ['-g']\n", "args = ['-g', '-DNDEBUG']\n", false],
  ['meson.build', "args = ['-g']\n", "args = ['-g', 'b.c']\n", false],
  ['meson.build', "e = executable('e', 'a.c')\n", "e = executable('e', 'a.c', 'b.c')\n", true],
  ['meson.build', "e = executable('e', 'a.c')\n", "e = executable('e', 'a.c', build_by_default: false)\n", false],
  [
    'meson.build',
    "test('a', e)\n",
    "f = executable('f', 'f.c', link_with: lib, dependencies : [gtest_dep])\ntest('a', e)\ntest('f', f)\n",
    true,
  ],
  ['meson.build', "test('a', e)\n", "e = executable('e', 'f.c')\ntest('a', e)\n", false],
  ['meson.build', "test('a', e)\n", "test('a', e, should_fail: true)\n", false],
  ['meson.build', "test('a', e)\n", "test('a', e)\ntest('b', e, args: ['-h'])\n", false],
  ['meson.build', "test('a', e)\n", "if false\ntest('a', e)\nendif\n", false],
  ['meson.build', "test('a', e)\n", "subdir_done()\ntest('a', e)\n", false],
  ['meson.build', "test('a', e)\n", "e = files('f.c')\ntest('a', e)\n", false],
  ['meson.build', "test('a', e)\n", "test('a', e)\nn = executable('n', files('n.c'), dependencies: [d])\ntest('n', n)\n", true],
  ['meson.build', "test('a', e)\n", "test('a', e)\nn = executable('n', run_command('python3', 'n.c'))\n", false],
  ['meson.build', "x = '''\nb'''\ntest('a', e)\n", "x = '''\nc'''\ntest('a', e)\n", false],
  ['Makefile', 'OBJS = a.o \\\n  b.o\nt:\n\t./t\n', 'OBJS = a.o \\\n  b.o \\\n  c.o\nt:\n\t./t\n', true],
  ['Makefile', 'OBJS = a.o b.o\n', 'OBJS = a.o\n', false],
  ['Makefile', 'OBJS = a.o\n', 'OBJS = a.o $(shell x)\n', false],
  ['Makefile', 'SHELL = sh\n', 'SHELL = sh x\n', false],
  ['Makefile', 'T = a\nt:\n\t./t\n', 'T = a\nt:\n\t./t || true\n', false],
  ['CMakeLists.txt', 'set(F x)\n', 'set(F x -DNDEBUG)\n', false],
  ['CMakeLists.txt', 'set(CMAKE_BUILD_TYPE Debug)\n', 'set(CMAKE_BUILD_TYPE Debug Release)\n', false],
  ['CMakeLists.txt', 'set(TESTS a)\n', 'set(TESTS a PARENT_SCOPE)\n', false],
  ['CMakeLists.txt', 'add_executable(a a.c)\n', 'add_executable(a EXCLUDE_FROM_ALL a.c)\n', false],
  ['CMakeLists.txt', 'add_executable(a a.c)\n', 'add_executable(a a.c)\ntarget_include_directories(a PRIVATE shim)\n', false],
  ['CMakeLists.txt', 'add_executable(a a.c)\n', 'add_executable(a a.c)\nadd_executable(b b.c)\ntarget_link_libraries(b PRIVATE a)\n', true],
])('%s: %j → %j leaves tests alone: %s', (path, before, after, expected) => {
  expect(harmless(path, before, after)).toBe(expected);
});

test.each(['Gemfile', 'meson.build', 'composer.json', 'CMakeLists.txt', 'Makefile', 'Cargo.toml', 'go.mod', 'package.yaml', 'a.cabal'])(
  '%s without end is judged in linear time',
  (name) => {
    for (const piece of [' ', "'''", '"a" ', "gem 'a', ", "'1 ", '(', 'a = [', '# a', '[\t', 'version:\r', ' preprocess', 'SRC'])
      for (const begin of ['', 'gem ', 'gem(', 'x = '])
        expect(harmless(name, '', `${begin}${piece.repeat(100_000)}!`)).toBeTypeOf('boolean');
  },
);

test('settings of more characters than are compared in parts leave nothing alone', () => {
  const long = (version: number): string => `{ "version": "${version}", "x": "${'a'.repeat(1_048_576)}" }`;
  expect(harmless('package.json', long(1), long(2))).toBe(false);
});

test.each<[string, string]>([
  ['a path of attributes', `#[t${'teste'.repeat(100_000)}::\n`],
  ['attributes of no function', '#[test]\n'.repeat(100_000)],
  ['tests of one name', '#[test]\nfn a() {}\n'.repeat(60_000)],
])('code with %s is judged in linear time', (_, text) => {
  const set = protectedPaths(['src/a.rs'], [], byDefault, () => text);
  expect(judgeChanges([{ path: 'src/a.rs', op: 'Modify', before: text, after: `${text}\n` }], set).violations).toEqual([]);
});

test.each<[string, string]>([
  ['commands without end', `"${'$('.repeat(130_000)}"`],
  ['commands that end before they begin', `")${'$('.repeat(130_000)}\`"`],
  ['commands in commands', 'eval '.repeat(20_000)],
  ['scripts in scripts', Array.from({ length: 20_000 }, (_, at) => `sh <<A${at}`).join('\n')],
])('a script with %s is read in linear time', (_, script) => {
  expect(shellCommands(script).length).toBeLessThan(20);
});

test.each([
  ['web/package.json', 'what bears on tests in it'],
  ['src/meson.build', 'what it lists; files and tests may be added'],
  ['GNUmakefile', 'what it lists; files and tests may be added'],
  ['meson_options.txt', null],
])('of %s is guarded: %s', (path, part) => {
  expect(guardedPart(path)).toBe(part);
});

test('files that a makefile includes are run by a check', () => {
  expect(entries(['make', 'test'], { Makefile: '-include config.inc\ninclude a.inc b.inc\ntest:\n\t./t\n', 'config.inc': '', 'a.inc': '', 'b.inc': '' })).toEqual(['config.inc', 'a.inc', 'b.inc']);
}); // prettier-ignore

test('report files are found in the command', () => {
  expect(reportFiles(['sh', '-c', 'pytest --junitxml=out/a.xml; gotestsum --junitfile b.xml'])).toEqual(['b.xml', 'out/a.xml']);
  expect(reportFiles(['vitest', 'run', '--reporter=junit', '--outputFile=/tmp/r.xml'])).toEqual(['/tmp/r.xml']);
  expect(reportFiles(['node', '--test', '--test-reporter-destination=stdout'])).toEqual([]);
});

test('only a file that would be found first is a shadow', () => {
  const set = protectedPaths(['app/tests/test_a.py', 'app/random.py'], [{ name: 'c', command: ['pytest'] }], byDefault);
  const codes = (path: string): string[] => judgeChanges([{ path, op: 'Add' }], set).violations.map(({ code }) => code);
  expect(codes('app/random.py')).toEqual([]);
  expect(codes('app/json.py')).toEqual(['Shadow']);
  expect(codes('app/core/json.py')).toEqual([]);
  expect(codes('json.md')).toEqual([]);
});

test('odd commands are read without an error', () => {
  expect(commandsOf(['./constructor', 'run'])).toEqual([{ tool: 'constructor', program: './constructor', words: ['run'] }]);
  for (const words of [[], [''], ['sh', '-c'], ['env'], ['timeout'], ['npm'], ['make', '-f'], ['bash', '-c', '))((&&||;;']])
    expect(Array.isArray(commandsOf(words))).toBe(true);
});

const rust = (tests: string, code = 'a - b'): string =>
  `pub fn add(a: i32, b: i32) -> i32 {\n    ${code}\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n${tests}}\n`;
const zero = '    #[test]\n    fn zero() { assert_eq!(add(0, 0), 0); }\n';
const sum = '    #[tokio::test]\n    #[should_panic]\n    async fn sum() {\n        assert_eq!(add(1, 2), 3);\n    }\n';
const both = rust(`${zero}\n${sum}`);

test.each([
  ['asks something else', rust(`${zero}\n${sum.replace('3', '-1')}`), 'sum'],
  ['asks nothing', rust(`    #[test]\n    fn zero() {}\n\n${sum}`), 'zero'],
  ['is gone', rust(zero), 'sum'],
  ['is ignored', rust(`${zero.replace('[test]\n', '[test]\n    #[ignore]\n')}\n${sum}`), 'zero'],
  ['stands in a comment, beside another of its name', rust(`/*\n${zero}*/\n    #[test]\n    fn zero() {}\n\n${sum}`), 'zero'],
  ['stays, and the code changes', rust(`${zero}\n${sum}`, 'a + b'), null],
  [
    'stays, and others come',
    rust(`    use std::fs;\n${zero}\n    #[test]\n    fn more() {\n        fs::read("a").unwrap();\n    }\n\n${sum}`),
    null,
  ],
  ['stays, with other line ends', both.replaceAll('\n', '\r\n'), null],
] as const)('a test in a file of code that %s', (_, after, name) => {
  const set = protectedPaths(['src/lib.rs'], [], { mode: 'Default', paths: [] });
  const change = { path: 'src/lib.rs', op: 'Modify', before: both, after } as const;
  const messages = judgeChanges([change], set).violations.map(({ code, message }) => `${code}: ${message}`);
  expect(messages).toEqual(name === null ? [] : [`Protected: src/lib.rs was changed: its test ${name} is protected as it was`]);
  expect(judgeChanges([change], protectedPaths(['src/lib.rs'], [], { mode: 'None', paths: [] })).violations).toEqual([]);
});

test('what `except` names may change, and what `paths` names may not', () => {
  const tree = ['build.sh', 'check.sh', 'tests/a.bats', 'sql/a.sql'];
  const read = (path: string): string | undefined => (path === 'check.sh' ? './build.sh out && test -s out/a.csv\n' : undefined);
  const check = [{ name: 'form', command: ['./check.sh'] }];
  expect(protectedPaths(tree, check, { mode: 'Default' }, read).files).toEqual(['build.sh', 'check.sh', 'tests/a.bats']);
  expect(protectedPaths(tree, check, { mode: 'Default', except: ['build.sh', 'tests'] }, read).files).toEqual(['check.sh']);
  const both = protectedPaths(tree, check, { mode: 'Default', paths: ['sql/**'], except: ['*.sh', 'sql/a.sql'] }, read);
  expect(both.files).toEqual(['sql/a.sql', 'tests/a.bats']);
  expect(both.isNew('build.sh') || both.isNew('sql') || both.isNew('.git/index') || both.isNew('/tmp/a')).toBe(false);
  expect(both.isNew('out/a.csv')).toBe(true);
});

test.each([
  ['node_modules/a/package.json', 'node_modules'],
  ['web/node_modules/a/node_modules/b/index.js', 'web/node_modules'],
  ['.venv/lib/python3.11/site-packages/a.py', '.venv'],
  ['vendor/golang.org/x/text/doc.go', 'vendor'],
  ['src/vendor/a.js', null],
  ['src/node_modules.ts', null],
])('%s lies in the installed packages of %s', (path, folder) => {
  expect(packagesOf(path)).toBe(folder);
});
