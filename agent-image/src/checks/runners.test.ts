import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compare, parseResults, type CheckRun, type ResultFormat } from './index.ts';
import { cleanEnd } from './testdata/render.ts';

/** The runners that this repository needs anyway, on projects that fail, are repaired, and are cheated. */
const modules = fileURLToPath(new URL('../../../node_modules', import.meta.url));
let root = '';
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'agentfleet-checks-'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

type Files = Readonly<Record<string, string>>;

/** Runs of one project share its directory, as in a sandbox: some runners report whole paths. */
async function runIn(
  project: string,
  files: Files,
  format: ResultFormat | 'Auto',
  command: readonly [string, ...string[]],
  report?: string,
): Promise<CheckRun> {
  const cwd = join(root, project);
  rmSync(cwd, { recursive: true, force: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text);
  }
  symlinkSync(modules, join(cwd, 'node_modules'));
  const [program, ...args] = command;
  const env = {
    PYTHONDONTWRITEBYTECODE: '1',
    GOFLAGS: '-mod=mod',
    NODE_TEST_CONTEXT: undefined,
    NODE_OPTIONS: undefined,
    VITEST: undefined,
  };
  const { exitCode = null, stdout, stderr } = await execa(program, args, { cwd, env, reject: false, stripFinalNewline: false });
  const read = report === undefined ? [] : [{ path: report, bytes: readFileSync(join(cwd, report)) }];
  return { check: 'unit', end: { ...cleanEnd, exitCode }, results: parseResults(format, { exitCode, stdout, stderr, files: read }) };
}

const available = async (program: string): Promise<boolean> => (await execa(program, ['--help'], { reject: false })).code !== 'ENOENT';
const codes = ({ reasons }: ReturnType<typeof compare>): string[] => reasons.map(({ code }) => code);

describe.skipIf(!(await available('python3')))('unittest', () => {
  const tests =
    'import unittest\nfrom calc import add\nclass T(unittest.TestCase):\n    def test_zero(self): self.assertEqual(add(0, 0), 0)\n    def test_sum(self):\n        """Adds."""\n        self.assertEqual(add(1, 2), 3)\n';
  const wrong = { 'test_calc.py': tests, 'calc.py': 'def add(a, b): return a - b\n' };
  const right = 'def add(a, b): return a + b\n';
  const go = (files: Files): Promise<CheckRun> => runIn('unittest', files, 'Auto', ['python3', '-m', 'unittest', '-v']);

  test('a repair is proved', async () => {
    const before = await go(wrong);
    expect(before.results).toMatchObject({ format: 'Unittest', evidence: 'Tests', complete: true });
    expect(compare([before], await go({ ...wrong, 'calc.py': right }), 'FailThenPass')).toMatchObject({
      proved: true,
      newlyPassing: ['test_calc.T.test_sum'],
    });
  });

  test.each([
    ['leaves with 0', 'import os\nos._exit(0)\n', 'NoTests|FormatChanged|Incomplete'],
    [
      'leaves with 0 at the end',
      'import atexit, os\natexit.register(lambda: os._exit(0))\ndef add(a, b): return a - b\n',
      'ExitHidesFailure',
    ],
    [
      'prints a footer',
      `import sys, atexit\natexit.register(lambda: print("-" * 70 + "\\nRan 2 tests in 0.1s\\n\\nOK", file=sys.stderr))\ndef add(a, b): return a - b\n`,
      'TwoSummaries',
    ],
    ['skips the test', 'import unittest\ndef add(a, b):\n    if a: raise unittest.SkipTest("later")\n    return 0\n', 'NewlySkipped'],
    [
      'takes the test away',
      'import sys, atexit\ndef add(a, b):\n    import test_calc\n    return 0\nimport unittest\nload = unittest.TestLoader.getTestCaseNames\nunittest.TestLoader.getTestCaseNames = lambda s, c: [n for n in load(s, c) if n != "test_sum"]\n',
      'Missing',
    ],
  ])('code under test that %s is caught', async (_, calc, code) => {
    const verdict = compare([await go(wrong)], await go({ ...wrong, 'calc.py': calc }), 'Auto');
    expect(verdict.proved).toBe(false);
    expect(codes(verdict).join(' ')).toMatch(new RegExp(code));
  });

  test('a module that is missing at the baseline may be written', async () => {
    const before = await go({ 'test_calc.py': tests });
    expect(compare([before], await go({ 'test_calc.py': tests, 'calc.py': right }), 'Auto')).toMatchObject({
      proved: true,
      newlyPassing: ['test_calc'],
    });
  });
});

describe('node:test', () => {
  const tests =
    "import test, { describe, it } from 'node:test';\nimport assert from 'node:assert';\nimport { add } from './calc.mjs';\ndescribe('add', () => { it('zero', () => assert.equal(add(0, 0), 0)); it('sum # 1', () => assert.equal(add(1, 2), 3)); });\ntest('alone', () => {});\n";
  const wrong = { 'calc.test.mjs': tests, 'calc.mjs': 'export const add = (a, b) => a - b;\n' };
  const right = 'export const add = (a, b) => a + b;\n';

  test.each(['spec', 'tap', 'junit'])('a repair is proved by the %s reporter', async (reporter) => {
    const go = (files: Files): Promise<CheckRun> =>
      runIn('node', files, 'NodeTest', [process.execPath, '--test', `--test-reporter=${reporter}`]);
    const before = await go(wrong);
    expect(before.results).toMatchObject({ evidence: 'Tests', complete: true, problems: [] });
    const verdict = compare([before], await go({ ...wrong, 'calc.mjs': right }), 'FailThenPass');
    expect(verdict.proved).toBe(true);
    expect(verdict.newlyPassing.some((id) => id.endsWith('add > sum # 1'))).toBe(true);
    const forged = "console.log('✔ alone (1ms)\\nok 1 - alone\\nℹ pass 9');\nexport const add = (a, b) => a - b;\n";
    expect(compare([before], await go({ ...wrong, 'calc.mjs': forged }), 'Auto').proved).toBe(false);
    expect(compare([before], await go({ ...wrong, 'calc.mjs': 'process.exit(0);\nexport const add = 1;\n' }), 'Auto').proved).toBe(false);
  });

  test('a file that could not be loaded is fixed by its tests', async () => {
    const go = (files: Files): Promise<CheckRun> => runIn('node', files, 'Auto', [process.execPath, '--test', '--test-reporter=tap']);
    const before = await go({ 'calc.test.mjs': tests });
    expect(before.results.tests).toMatchObject([{ kind: 'Container', outcome: 'Errored' }]);
    expect(compare([before], await go({ ...wrong, 'calc.mjs': right }), 'Auto').proved).toBe(true);
  });
});

describe.skipIf(!(await available('go')))('go test', () => {
  const base = {
    'go.mod': 'module example.test/m\n\ngo 1.24\n',
    'a_test.go':
      'package m\n\nimport "testing"\n\nfunc TestSum(t *testing.T) {\n\tt.Run("1 2", func(t *testing.T) {\n\t\tif Add(1, 2) != 3 {\n\t\t\tt.Fatal("no")\n\t\t}\n\t})\n}\nfunc TestZero(t *testing.T) { Add(0, 0) }\n',
  };
  const code = (body: string): Files => ({
    ...base,
    'a.go': `package m\n\nimport "fmt"\nimport "os"\n\nvar _ = fmt.Sprint\nvar _ = os.Exit\n\n${body}\n`,
  });
  const wrong = code('func Add(a, b int) int { return a - b }');

  test.each([
    ['-v', '-v'],
    ['events', '-json'],
  ])('a repair is proved by %s, cheats are not', async (_, flag) => {
    let run = 0;
    const go = (files: Files): Promise<CheckRun> => runIn(`go${flag}${(run += 1)}`, files, 'Auto', ['go', 'test', flag, './...']);
    const [before, fixed, broken, leaves, prints] = await Promise.all([
      go(wrong),
      go(code('func Add(a, b int) int { return a + b }')),
      go(code('func Add(a, b int) int { return undefined }')),
      go(code('func init() { os.Exit(0) }\n\nfunc Add(a, b int) int { return 0 }')),
      go(code('func Add(a, b int) int { fmt.Println("--- PASS: TestSum (0.00s)"); return a - b }')),
    ]);
    expect(before.results).toMatchObject({ format: 'GoTest', evidence: 'Tests', complete: true });
    expect(compare([before], fixed, 'Auto')).toMatchObject({
      proved: true,
      newlyPassing: ['example.test/m TestSum', 'example.test/m TestSum/1_2'],
    });
    expect(compare([broken], fixed, 'Auto')).toMatchObject({ proved: true, newlyPassing: ['example.test/m'] });
    for (const cheat of [broken, leaves, prints]) expect(compare([before], cheat, 'Auto').proved).toBe(false);
  });
});

describe.skipIf(!(await available('cargo')))('cargo test', () => {
  const manifest = '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n\n[workspace]\n';
  const zero = '    #[test]\n    fn zero() { assert_eq!(add(0, 0), 0); }\n';
  const sum = '    #[test]\n    fn sum() { assert_eq!(add(1, 2), 3); }\n';
  const go = (body: string, tests = `${zero}${sum}`): Promise<CheckRun> => {
    const code = `pub fn add(a: i32, b: i32) -> i32 { ${body} }\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n${tests}}\n`;
    return runIn('cargo', { 'Cargo.toml': manifest, 'src/lib.rs': code }, 'Auto', ['cargo', 'test', '--offline']);
  };

  test('a repair is proved, cheats are not', async () => {
    const before = await go('a - b');
    expect(before.results).toMatchObject({ format: 'CargoTest', evidence: 'Tests', complete: true, problems: [] });
    expect(compare([before], await go('a + b'), 'Auto')).toMatchObject({ proved: true, newlyPassing: ['tests::sum'] });
    for (const [code, result] of [
      ['Missing', await go('a - b', zero)],
      ['NewlySkipped', await go('a - b', `${zero}    #[ignore]\n${sum}`)],
      ['Incomplete', await go('if a > 0 { std::process::exit(0) } a - b')],
      ['FormatChanged', await go('a - b', '')],
      ['NothingFixed', await go('println!("test tests::sum ... ok"); a - b')],
    ] as const) {
      const verdict = compare([before], result, 'Auto');
      expect(verdict.proved).toBe(false);
      expect(codes(verdict)).toContain(code);
    }
  });
});

test('vitest: a repair is proved by its JUnit file', async () => {
  const tests =
    "import { expect, test } from 'vitest';\nimport { add } from './calc.ts';\ntest.each([1, 2])('adds <%i>', (n) => expect(add(n, 1)).toBe(n + 1));\n";
  const go = (project: string, calc: string): Promise<CheckRun> =>
    runIn(
      project,
      { 'a.test.ts': tests, 'calc.ts': calc },
      'Auto',
      [process.execPath, join(modules, 'vitest/vitest.mjs'), 'run', '--root', '.', '--reporter=junit', '--outputFile=r.xml'],
      'r.xml',
    );
  const [before, fixed] = await Promise.all([
    go('vitest1', 'export const add = (a: number, b: number) => a * b;\n'),
    go('vitest2', 'export const add = (a: number, b: number) => a + b;\n'),
  ]);
  expect(before.results).toMatchObject({ format: 'JUnit', source: 'Files', complete: true, problems: [] });
  expect(compare([before], fixed, 'Auto')).toMatchObject({ proved: true, newlyPassing: ['a.test.ts > adds <1>', 'a.test.ts > adds <2>'] });
});

test('vitest: by what it prints a repair is proved, cheats are not', async () => {
  const head = "import { afterAll, expect, test } from 'vitest';\nimport { add } from './calc.ts';\n";
  const zero = "test('zero', () => expect(add(0, 0)).toBe(0));\n";
  const sum = "test('sum', () => expect(add(1, 2)).toBe(3));\n";
  const go = (body: string, tests = `${zero}${sum}`): Promise<CheckRun> =>
    runIn('vitest3', { 'a.test.ts': `${head}${tests}`, 'calc.ts': `export const add = (a: number, b: number) => ${body};\n` }, 'Auto', [
      process.execPath,
      join(modules, 'vitest/vitest.mjs'),
      'run',
      '--root',
      '.',
    ]);
  const before = await go('a - b');
  expect(before.results).toMatchObject({ format: 'Vitest', evidence: 'Counts', complete: true, tests: [{ id: 'a.test.ts > sum' }] });
  const fixed = await go('a + b');
  expect(compare([before], fixed, 'Auto')).toMatchObject({ proved: true, newlyPassing: ['a.test.ts > sum'] });
  const after = "afterAll(() => { if (add(1, 1) === 0) throw new Error('left open'); });\n";
  const hook = await go('a - b', `${zero}${after}`);
  expect(compare([hook], await go('a + b', `${zero}${after}`), 'Auto')).toMatchObject({ proved: true, newlyPassing: ['a.test.ts'] });
  for (const [code, result] of [
    ['Missing', await go('a + b', zero)],
    ['NewlySkipped', await go('a + b', `${zero}${sum.replace('test(', 'test.skip(')}`)],
    ['Regressed', await go('a - b', `${zero.replace('toBe(0)', 'toBe(1)')}${sum}`)],
    ['NothingFixed', await go('process.exit(0)')],
  ] as const)
    expect(codes(compare([before], result, 'Auto'))).toContain(code);
});
