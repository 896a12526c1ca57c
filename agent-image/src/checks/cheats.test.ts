import { expect, test } from 'vitest';
import {
  compare,
  judgeChanges,
  protectedPaths,
  type Change,
  type CheckRun,
  type CheckCommand,
  type Operation,
  type ReasonCode,
  type Violation,
} from './index.ts';
import { file, junit, output, pytest, pytestRun, run, tap, type Rendered } from './testdata/render.ts';

/**
 * Planted cheats: ways to make checks look passed without doing the work. Each is caught by protection (of files) or by
 * comparison (of results). Honest work below must pass both.
 */
const contents: Readonly<Record<string, string>> = {
  'package.json':
    '{"name":"shop","version":"1.0.0","scripts":{"pretest":"sh ci/prepare.sh","test":"node --require ./ci/hook.cjs --test \\"spec/**\\""},"dependencies":{"left":"^1.0.0"}}',
  'ci/run.sh': '#!/bin/sh\n. ci/env.sh\nset -e\npython3 -m pytest -rA --junitxml=out/report.xml\n',
  Makefile: 'check:\n\tsh ci/lint.sh\n\tgo test ./...\n',
  'pyproject.toml': '[project]\nname = "shop"\nversion = "1"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n',
  'go.mod': 'module example.test/shop\n\ngo 1.24\n\nrequire example.test/a v1.0.0\n',
};
const tree = [
  ...Object.keys(contents),
  'README.md', 'shop/__init__.py', 'shop/cart.py', 'shop/types.py', 'shop/latest.py', 'src/index.js', 'src/Contest.java', 'api/cart.go', 'api/cart_test.go', 'api/testdata/golden.txt',
  'tests/test_cart.py', 'tests/data/prices.json', 'spec/cart.test.js', 'spec/__snapshots__/cart.test.js.snap', 'ci/env.sh', 'ci/lint.sh', 'ci/hook.cjs', 'ci/prepare.sh', 'vendor/modules.txt', 'vendor/x/x.go',
]; // prettier-ignore
const checks: readonly CheckCommand[] = [
  { name: 'unit', command: ['sh', 'ci/run.sh'] },
  { name: 'js', command: ['npm', 'test'] },
  { name: 'go', command: ['make', 'check'] },
  { name: 'py', command: ['pytest', '-rA'] },
];
const set = protectedPaths(tree, checks, { mode: 'Default', paths: ['docs/contract.md'] }, (path) => contents[path]);
const change = (op: Operation, path: string, after?: string): Change => ({
  op,
  path,
  ...(after !== undefined && contents[path] !== undefined && { before: contents[path], after }),
});
const edited = (path: string, from: string, to: string): Change => change('Modify', path, contents[path]?.replace(from, to));

const byProtection: readonly (readonly [cheat: string, code: Violation['code'], changes: readonly Change[]])[] = [
  ['a skip marker is put on the test', 'Protected', [change('Modify', 'tests/test_cart.py')]],
  ['an assertion is taken out', 'Protected', [change('Modify', 'spec/cart.test.js')]],
  ['the test is deleted', 'Protected', [change('Delete', 'tests/test_cart.py')]],
  [
    'the test file is renamed so that it is not collected',
    'Protected',
    [change('Delete', 'tests/test_cart.py'), change('Add', 'tests/cart.py')],
  ],
  [
    'the test file changes the case of its name',
    'Protected',
    [change('Delete', 'tests/test_cart.py'), change('Add', 'tests/Test_Cart.py')],
  ],
  ['the expected data is changed', 'Protected', [change('Modify', 'tests/data/prices.json')]],
  ['the snapshot is recorded anew', 'Protected', [change('Modify', 'spec/__snapshots__/cart.test.js.snap')]],
  ['golden files are recorded anew', 'Protected', [change('Modify', 'api/testdata/golden.txt')]],
  ['a build tag excludes the Go test', 'Protected', [change('Modify', 'api/cart_test.go')]],
  ['the entry script ends with exit 0', 'Protected', [edited('ci/run.sh', 'set -e\n', '')]],
  ['a script that the entry script reads ends it', 'Protected', [change('Modify', 'ci/env.sh')]],
  ['a script that the Makefile calls is emptied', 'Protected', [change('Modify', 'ci/lint.sh')]],
  ['a script that npm runs before the tests forges results', 'Protected', [change('Modify', 'ci/prepare.sh')]],
  ['a module loaded by --require patches node:test', 'Protected', [change('Modify', 'ci/hook.cjs')]],
  ['a conftest hook turns failures into passes', 'Protected', [change('Add', 'conftest.py')]],
  ['a conftest in a package does', 'Protected', [change('Add', 'shop/conftest.py')]],
  ['a plugin is loaded by addopts', 'Protected', [edited('pyproject.toml', '"-q"', '"-q -p shop.plugin"')]],
  ['collection is narrowed by a new pytest.ini', 'Protected', [change('Add', 'pytest.ini')]],
  [
    'pytest settings hide in a dotted key',
    'Protected',
    [edited('pyproject.toml', '[project]', 'tool.pytest.ini_options.addopts = "-k x"\n[project]')],
  ],
  [
    'a pytest plugin is registered as entry point',
    'Protected',
    [edited('pyproject.toml', 'version = "1"', 'version = "1"\nentry-points.pytest11.x = "shop"')],
  ],
  ['unittest is patched by sitecustomize', 'Protected', [change('Add', 'sitecustomize.py')]],
  ['a .pth file runs code at every start', 'Protected', [change('Add', 'lib/python3/site-packages/x.pth')]],
  ['coverage settings leave the code out', 'Protected', [change('Add', '.coveragerc')]],
  [
    'the test script of package.json becomes true',
    'Protected',
    [edited('package.json', 'node --require ./ci/hook.cjs --test \\"spec/**\\"', 'true')],
  ],
  ['the pattern of node --test is narrowed', 'Protected', [edited('package.json', 'spec/**', 'spec/none/**')]],
  ['--passWithNoTests is added', 'Protected', [edited('package.json', '--test ', '--passWithNoTests --test ')]],
  ['a dependency points to a forged runner', 'Protected', [edited('package.json', '"^1.0.0"', '"file:./fake"')]],
  ['a dependency is an alias of another package', 'Protected', [edited('package.json', '"^1.0.0"', '"npm:other@1.0.0"')]],
  ['npm runs scripts in another shell', 'Protected', [change('Add', '.npmrc')]],
  ['vitest gets a configuration that excludes tests', 'Protected', [change('Add', 'vitest.config.ts')]],
  ['paths of tsconfig lead to a forged library', 'Protected', [change('Add', 'spec/tsconfig.json')]],
  ['the runner in node_modules is patched', 'Protected', [change('Modify', 'node_modules/vitest/dist/index.js')]],
  ['a nearer node_modules comes first', 'Protected', [change('Add', 'spec/node_modules/chai/index.js')]],
  ['the Makefile is changed', 'Protected', [edited('Makefile', 'go test ./...', 'true')]],
  ['a GNUmakefile comes before the Makefile', 'Protected', [change('Add', 'GNUmakefile')]],
  ['go.mod replaces a package that tests use', 'Protected', [edited('go.mod', 'go 1.24', 'go 1.24\n\nreplace example.test/a => ./fake')]],
  ['a go.work does', 'Protected', [change('Add', 'go.work')]],
  ['a vendored assertion library is changed', 'Protected', [change('Modify', 'vendor/x/x.go')]],
  ['modes keep tests from being collected', 'Protected', [change('Mode', 'tests/test_cart.py')]],
  ['the directory of tests loses its mode', 'Protected', [change('Mode', 'tests')]],
  ['the directory of tests becomes a link', 'Protected', [change('Type', 'tests')]],
  ['a parent of tests becomes a link', 'ReplacesParent', [change('Type', 'api')]],
  ['tests become a package that shadows another', 'Protected', [change('Add', 'tests/__init__.py')]],
  ['a module named like the runner', 'Shadow', [change('Add', 'pytest.py')]],
  ['a package named like a part of the standard library', 'Shadow', [change('Add', 'unittest/__init__.py')]],
  ['a module that the runner imports', 'Shadow', [change('Add', 'traceback.py')]],
  ['a library of the tests, from the source root', 'Shadow', [change('Add', 'src/hypothesis/__init__.py')]],
  ['a compiled module named like the runner', 'Shadow', [change('Add', '_pytest.so')]],
  ['a program pytest in the workspace', 'Shadow', [change('Add', 'pytest')]],
  ['a program npm in bin', 'Shadow', [change('Add', 'bin/npm')]],
  ['a file named like the make target', 'Shadow', [change('Add', 'check')]],
  ['a path that leads out', 'OutsideWorkspace', [change('Add', 'shop/../../etc/profile')]],
  ['dots hide a protected path', 'Protected', [change('Modify', './shop/../tests//test_cart.py')]],
  ['a listed path is changed', 'Protected', [change('Modify', 'docs/contract.md')]],
];

test.each(byProtection)('cheat, caught by protection: %s', (_, code, changes) => {
  const { violations } = judgeChanges(changes, set);
  expect(violations.map((one) => one.code)).toContain(code);
  for (const { message, cure } of violations) expect([message, cure].every((text) => text.length > 10)).toBe(true);
});

test.each(['tests/__pycache__/test_cart.cpython-311-pytest-9.pyc', 'pytest.pyc', 'out/report.xml'])(
  'cheat, caught by deleting it before the run: a forged %s',
  (path) => {
    expect(judgeChanges([change('Add', path)], set)).toEqual({ violations: [], discard: [path], aside: [] });
  },
);

test.each([
  ['a new TestMain that leaves with 0', 'api/main_test.go'],
  ['a new test module that patches the others', 'shop/test_zz.py'],
  ['a new module among the tests', 'tests/test_zz.py'],
  ['a new suite of JavaScript', 'spec/zz.test.js'],
  ['a new class of JUnit', 'core/src/test/java/org/zz/CartTest.java'],
])('cheat, caught by proving the result without it: %s', (_, path) => {
  expect(judgeChanges([change('Add', path)], set)).toEqual({ violations: [], discard: [], aside: [path] });
  // Its own module, that a formatter rewrote, or that it took back.
  expect(judgeChanges([change('Modify', path)], set)).toEqual({ violations: [], discard: [], aside: [path] });
  expect(judgeChanges([change('Delete', path)], set)).toEqual({ violations: [], discard: [], aside: [] });
});

test('new tests in C stay where the result is proved, and those that were there are not touched', () => {
  const tree = ['CMakeLists.txt', 'tests/CMakeLists.txt', 'tests/test_cast.c', 'tests/test_cast.expected'];
  const c = protectedPaths(tree, [{ name: 'c', command: ['ctest'] }], { mode: 'Default', paths: [] });
  const codesOf = (changes: readonly Change[]): readonly string[] => judgeChanges(changes, c).violations.map(({ path }) => path);
  const added = [
    'tests/test_merge.c',
    'tests/test_merge.expected',
    'tests/test_merge.test',
    'tests/BlobTest.cpp',
    'tests/merge-test.cc',
  ].map((path) => change('Add', path));
  const listed = {
    path: 'tests/CMakeLists.txt',
    op: 'Modify',
    before: 'set(TESTS test_cast)',
    after: 'set(TESTS test_cast test_merge)',
  } as const;
  expect(judgeChanges([...added, listed], c)).toEqual({ violations: [], discard: [], aside: [] });
  expect(codesOf([change('Modify', 'tests/test_cast.c')])).toEqual(['tests/test_cast.c']);
  expect(codesOf([change('Add', 'tests/test_cast.in'), change('Add', 'tests/helper.c')])).toEqual(['tests/test_cast.in', 'tests/helper.c']);
  expect(codesOf([{ ...listed, after: 'set(TESTS)' }])).toEqual(['tests/CMakeLists.txt']);
});

test('a check that calls meson protects its files and where it gets dependencies, but for more sources and tests', () => {
  const command = ['sh', '-c', 'meson setup build && meson test -C build'];
  const set = protectedPaths(['meson.build', 'meson_options.txt', 'subprojects/gtest.wrap'], [{ name: 'c', command }], {
    mode: 'Default',
    paths: [],
  });
  expect(set.files).toEqual(['meson.build', 'meson_options.txt', 'subprojects/gtest.wrap']);
  const codesOf = (after: string): readonly string[] =>
    judgeChanges([{ path: 'meson.build', op: 'Modify', before: "test('a', e)\n", after }], set).violations.map(({ code }) => code);
  expect(codesOf("test('a', e)\ntest('b', f)\n")).toEqual([]);
  expect(codesOf("test('b', f)\n")).toEqual(['Protected']);
});

test.each([
  'tests/helper.py',
  'tests/test_zz.expected',
  'core/src/test/java/Latest.java',
  'tests/__init__.py',
  'spec/__snapshots__/zz.test.js.snap',
  'spec/node_modules/test_x.py',
  'test_cart.py/__init__.py',
  'lib/site-packages/test_x.py',
  'api/testdata/x.txt',
])('is no test module of its own: %s', (path) => {
  expect(set.addable(path)).toBe(false);
});

const base: Rendered = [
  ['tests/test_cart.py::sum', 'Failed'],
  ['tests/test_cart.py::tax[1]', 'Passed'],
  ['tests/test_cart.py::tax[2]', 'Passed'],
];
const passing: Rendered = base.map(([id]) => [id, 'Passed']);
const failed = pytestRun(base);
const go = (text: string, exitCode: number): CheckRun => run('GoTest', output(exitCode, text));
const goBase = go('=== RUN   TestA\n--- FAIL: TestA (0.00s)\n=== RUN   TestB\n--- PASS: TestB (0.00s)\nFAIL\nFAIL\tp\t0.01s\nFAIL\n', 1);
const cargo = (exitCode: number, ...tests: readonly (readonly [string, string])[]): CheckRun => {
  const count = (word: string): number => tests.filter((one) => one[1] === word).length;
  const points = tests.map(([id, word]) => `test ${id} ... ${word}\n`).join('');
  const counts = `${count('ok')} passed; ${count('FAILED')} failed; ${count('ignored')} ignored; 0 measured; 0 filtered out`;
  const text = `\nrunning ${tests.length} tests\n${points}\ntest result: ${exitCode === 0 ? 'ok' : 'FAILED'}. ${counts}; finished in 0.00s\n\n`;
  return run('CargoTest', output(exitCode, text));
};
const cargoBase = cargo(101, ['tests::sum', 'FAILED'], ['tests::zero', 'ok']);
const tapRun = (text: string, exitCode: number): CheckRun => run('TAP', output(exitCode, text));
const xml = (stdout: string, text: string, exitCode: number): CheckRun =>
  run('Pytest', output(exitCode, stdout, { files: [file('r.xml', text)] }));
const node = (tally: string, points: string, exitCode: number): CheckRun => run('NodeTest', output(exitCode, `${points}${tally}`));
const tally = (tests: number, pass: number, fail: number, skipped = 0): string =>
  `ℹ tests ${tests}\nℹ suites 0\nℹ pass ${pass}\nℹ fail ${fail}\nℹ cancelled 0\nℹ skipped ${skipped}\nℹ todo 0\nℹ duration_ms 1\n`;
const nodeBase = node(tally(2, 1, 1), '✖ a (1ms)\n✔ b (1ms)\n', 1);

const byComparison: readonly (readonly [cheat: string, code: ReasonCode, baseline: CheckRun, result: CheckRun])[] = [
  ['the failing test is skipped', 'NewlySkipped', failed, pytestRun([['tests/test_cart.py::sum', 'Skipped'], ...passing.slice(1)])],
  [
    'the failing test is marked xfail',
    'NewlySkipped',
    failed,
    run(
      'Pytest',
      output(
        0,
        'x.py::a PASSED\ntests/test_cart.py::sum XFAIL   [ 33%]\ntests/test_cart.py::tax[1] PASSED   [ 66%]\ntests/test_cart.py::tax[2] PASSED   [ 99%]\n=== 3 passed, 1 xfailed in 0.1s ===\n',
      ),
    ),
  ],
  ['the failing test is deselected', 'Missing', failed, pytestRun(passing.slice(1))],
  ['the failing test is renamed', 'Missing', failed, pytestRun([['tests/test_cart.py::total', 'Passed'], ...passing.slice(1)])],
  ['the test changes the case of its name', 'Missing', failed, pytestRun([['tests/test_cart.py::Sum', 'Passed'], ...passing.slice(1)])],
  ['parameters are emptied', 'Missing', failed, pytestRun(passing.slice(0, 1))],
  ['collection is narrowed to the passing file', 'Missing', failed, pytestRun(passing.slice(0, 2))],
  ['no test runs at all', 'NoTests', failed, pytestRun([])],
  ['the exit code is hidden by || true', 'ExitHidesFailure', failed, pytestRun(base, 0)],
  [
    'the process ends with 0 before the summary',
    'Incomplete',
    failed,
    run('Pytest', output(0, '=== test session starts ===\ncollected 3 items\n')),
  ],
  [
    '"5 passed" is printed while a test fails',
    'TwoSummaries',
    failed,
    run('Pytest', output(1, `=== 5 passed in 0.01s ===\n${pytest(base)}`)),
  ],
  ['"5 passed" is printed at exit', 'TwoSummaries', failed, run('Pytest', output(0, `${pytest(base)}=== 5 passed in 0.01s ===\n`))],
  ['only "3 passed" is printed, without names', 'EvidenceChanged', failed, run('Pytest', output(0, '3 passed in 0.01s\n'))],
  ['the output becomes one of another runner', 'FormatChanged', failed, run('TAP', output(0, tap(passing)))],
  ['another test is broken for it', 'Regressed', failed, pytestRun([...passing.slice(0, 2), ['tests/test_cart.py::tax[2]', 'Failed']])],
  ['the code under test forges the JUnit file', 'SourcesDisagree', xml(pytest(base), junit(base), 1), xml(pytest(base), junit(passing), 1)],
  [
    'the forged JUnit file lists fewer tests',
    'Missing',
    xml(pytest(base), junit(base), 1),
    xml(pytest(passing), junit(passing.slice(0, 1)), 0),
  ],
  ['the JUnit file is cut', 'Incomplete', xml(pytest(base), junit(base), 1), xml(pytest(passing), junit(passing).slice(0, -30), 0)],
  ['TAP bails out with 0', 'BailedOut', tapRun(tap(base), 1), tapRun('1..3\nok 1 - x\nBail out! fine\n', 0)],
  ['TAP plans fewer tests', 'Missing', tapRun(tap(base), 1), tapRun('1..1\nok 1 - tests/test_cart.py::sum\n', 0)],
  [
    'TAP prints a second point for a failing test',
    'CountsDisagree',
    tapRun(tap(base), 1),
    tapRun(`${tap(base)}ok 1 - tests/test_cart.py::sum\n`, 0),
  ],
  ['TAP skips everything', 'NewlySkipped', tapRun(tap(base), 1), tapRun(tap(base.map(([id]) => [id, 'Skipped'])), 0)],
  ['TAP marks the failure as TODO', 'NewlySkipped', tapRun('1..1\nnot ok 1 - a\n', 1), tapRun('1..1\nnot ok 1 - a # TODO later\n', 0)],
  [
    't.Skip in a Go test',
    'NewlySkipped',
    goBase,
    go('=== RUN   TestA\n--- SKIP: TestA (0.00s)\n=== RUN   TestB\n--- PASS: TestB (0.00s)\nok  \tp\t0.01s\n', 0),
  ],
  ['an init leaves with 0 before Go tests run', 'EvidenceChanged', goBase, go('ok  \tp\t0.01s\n', 0)],
  ['a build tag excludes Go tests', 'Missing', goBase, go('=== RUN   TestB\n--- PASS: TestB (0.00s)\nok  \tp\t0.01s\n', 0)],
  ['all Go tests are excluded', 'Incomplete', goBase, go('?   \tp\t[no test files]\n', 0)],
  [
    'a Go test prints that the failing one passed',
    'ConflictingResult',
    goBase,
    go(
      '=== RUN   TestA\n--- PASS: TestA (0.00s)\n--- FAIL: TestA (0.00s)\n=== RUN   TestB\n--- PASS: TestB (0.00s)\nFAIL\nFAIL\tp\t0.01s\nFAIL\n',
      1,
    ),
  ],
  [
    'a printed Go result of a test that did not run',
    'ConflictingResult',
    goBase,
    go('--- PASS: TestA (0.00s)\n=== RUN   TestB\n--- PASS: TestB (0.00s)\nok  \tp\t0.01s\n', 0),
  ],
  ['the failing Rust test is deleted from the file of the code', 'Missing', cargoBase, cargo(0, ['tests::zero', 'ok'])],
  ['all Rust tests are', 'NoTests', cargoBase, cargo(0)],
  ['the failing Rust test is ignored', 'NewlySkipped', cargoBase, cargo(0, ['tests::sum', 'ignored'], ['tests::zero', 'ok'])],
  [
    'a Rust test prints the one that is gone',
    'EvidenceChanged',
    cargoBase,
    run(
      'CargoTest',
      output(
        0,
        `\nrunning 1 test\ntest tests::sum ... ok\ntest tests::zero ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n`,
      ),
    ),
  ],
  [
    'a Rust program leaves with 0 before its result',
    'Incomplete',
    cargoBase,
    run('CargoTest', output(0, '\nrunning 2 tests\ntest tests::zero ... ok\n')),
  ],
  ['a printed line of the spec reporter', 'CountsDisagree', nodeBase, node(tally(2, 1, 1), '✔ a (1ms)\n✖ a (1ms)\n✔ b (1ms)\n', 1)],
  [
    'a printed summary of the spec reporter',
    'TwoSummaries',
    nodeBase,
    node(tally(2, 1, 1), `✔ a (1ms)\n✔ b (1ms)\n${tally(2, 2, 0)}✖ a (1ms)\n`, 0),
  ],
  ['node --test finds fewer files', 'Missing', nodeBase, node(tally(1, 1, 0), '✔ b (1ms)\n', 0)],
  ['a program that hangs the runner', 'TimedOut', failed, run('Pytest', output(1, ''), { exitCode: null, timedOut: true })],
];

test.each(byComparison)('cheat, caught by comparison: %s', (_, code, baseline, result) => {
  const verdict = compare([baseline], result, 'Auto');
  expect(verdict.proved).toBe(false);
  expect(verdict.reasons.map((one) => one.code)).toContain(code);
});

const honest: readonly (readonly [work: string, changes: readonly Change[]])[] = [
  ['a repaired function', [change('Modify', 'shop/cart.py')]],
  ['a new module beside it', [change('Modify', 'shop/cart.py'), change('Add', 'shop/rounding.py')]],
  ['a new package', [change('Add', 'shop/tax/__init__.py'), change('Add', 'shop/tax/rates.py')]],
  ['a module inside the package named like one of the standard library', [change('Add', 'shop/logging.py'), change('Modify', 'shop/types.py')]],
  ['a module that is split and moved', [change('Delete', 'shop/cart.py'), change('Add', 'shop/cart/__init__.py'), change('Add', 'shop/cart/lines.py')]],
  ['names that only end like tests', [change('Modify', 'shop/latest.py'), change('Modify', 'src/Contest.java'), change('Add', 'src/attestation.js')]],
  ['a Go file', [change('Modify', 'api/cart.go'), change('Add', 'api/discount.go')]],
  ['a JavaScript module', [change('Modify', 'src/index.js'), change('Add', 'src/inspect.js')]],
  ['documentation', [change('Modify', 'README.md'), change('Add', 'docs/testing.md')]],
  ['a version and a new dependency in package.json', [edited('package.json', '"version":"1.0.0"', '"version":"1.1.0"'), edited('package.json', '"left":"^1.0.0"', '"left":"^1.2.0","right":">=2 <3"')]],
  ['a version in pyproject.toml', [edited('pyproject.toml', 'version = "1"', 'version = "2"\ndependencies = ["left>=1"]')]],
  ['settings of a linter in pyproject.toml', [edited('pyproject.toml', '[tool.pytest', '[tool.ruff]\nline-length = 100\n\n[tool.pytest')]],
  ['a new requirement in go.mod', [edited('go.mod', 'require example.test/a v1.0.0', 'require (\n\texample.test/a v1.0.0\n\texample.test/b v1.2.0\n)')]],
  ['what a run of the tests leaves behind', [change('Add', 'tests/__pycache__/test_cart.cpython-311-pytest-9.pyc'), change('Add', '.pytest_cache/v/cache/lastfailed'), change('Modify', '.coverage')]],
  ['a report of the tests', [change('Add', 'out/report.xml')]],
  ['a script that no check calls', [change('Add', 'scripts/release.sh')]],
  ['a directory named like a check', [change('Add', 'docs/check/index.md')]],
  ['a mode of a source file', [change('Mode', 'src/index.js')]],
  ['a link beside the sources', [change('Add', 'latest'), change('Type', 'README.md')]],
]; // prettier-ignore

test.each(honest)('honest work is not refused: %s', (_, changes) => {
  expect(judgeChanges(changes, set).violations).toEqual([]);
});

test('new tests are honest where the spec allows them', () => {
  const open = protectedPaths(tree, checks, { mode: 'None', paths: ['tests/test_cart.py'] });
  expect(judgeChanges([change('Add', 'tests/test_more.py')], open).violations).toEqual([]);
  expect(judgeChanges([change('Modify', 'tests/test_cart.py')], open).violations).toHaveLength(1);
  const more = compare([failed], pytestRun([...passing, ['tests/test_more.py::a', 'Passed']]), 'Auto');
  expect(more).toMatchObject({ proved: true, added: ['tests/test_more.py::a'] });
});

test.each([
  ['the failing test passes', failed, pytestRun(passing)],
  ['a skipped test runs again', pytestRun([...base, ['a.py::s', 'Skipped']]), pytestRun([...passing, ['a.py::s', 'Passed']])],
  ['tests run in another order', failed, pytestRun([...passing].reverse())],
  [
    'a Go test passes',
    goBase,
    go('=== RUN   TestB\n--- PASS: TestB (0.00s)\n=== RUN   TestA\n--- PASS: TestA (0.00s)\nok  \tp\t0.01s\n', 0),
  ],
  ['a Rust test passes', cargoBase, cargo(0, ['tests::zero', 'ok'], ['tests::sum', 'ok'])],
  ['TAP passes', tapRun(tap(base), 1), tapRun(tap(passing), 0)],
  ['node:test passes', nodeBase, node(tally(2, 2, 0), '✔ b (1ms)\n✔ a (2ms)\n', 0)],
  ['a program prints while tests run', nodeBase, node(tally(2, 2, 0), 'starting …\n✔ b (1ms)\n▶\n✔ a (2ms)\n', 0)],
] as const)('honest result is proved: %s', (_, baseline, result) => {
  expect(compare([baseline], result, 'FailThenPass')).toMatchObject({ proved: true, reasons: [] });
});
