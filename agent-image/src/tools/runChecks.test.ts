import { describe, expect, it } from 'vitest';
import type { BedOptions } from './testing/bed.ts';
import { openStage, timeless } from './testing/play.ts';

const { binary, begin, play } = await openStage();

const suite = (first: string, second: string): string =>
  `echo TAP version 13; echo 1..2; echo "${first} 1 - adds"; echo "${second} 2 - subtracts"; echo noise > trace.txt; grep -q "not ok" <<< "${first} ${second}" && exit 1; exit 0\n`;
const checks = { checks: [{ name: 'unit', command: ['bash', 'check.sh'], format: 'TAP' }], protect: { mode: 'None' } } as never;

describe.skipIf(binary === '')('run_checks', () => {
  it.each([
    ['repaired', suite('ok', 'ok'), /^unit: holds \(exit status 0, N s; of 2 tests 2 passed\)\npass now, failed at the start \(1\): adds\n\nall checks hold$/],
    ['not yet', suite('not ok', 'ok'), /^unit: does not hold .*; of 2 tests 1 passed, 1 failed\)\nstill fail \(1\): adds\n.*end of its output:\nTAP version 13\n.*\n\n0 of 1 check hold$/s],
    ['broken', suite('ok', 'not ok'), /broke, passed at the start \(1\): subtracts\npass now, failed at the start \(1\): adds\n.*repair what the change broke\nend of its output/s],
  ])('%s', async (_, script, text) => {
    const bed = await begin({ files: { 'check.sh': suite('not ok', 'ok') }, spec: checks });
    await bed.write('check.sh', script);
    const { text: reported, ok } = await bed.call('run_checks', {});
    expect(timeless(reported)).toMatch(text);
    expect(ok).toBe(true);
    expect([await bed.read('trace.txt'), await bed.read('check.sh')]).toEqual([null, script]);
  }); // prettier-ignore

  it('runs again what broke, and reports a test that passes then as flaky', async () => {
    const mark = `/tmp/flaky-${process.pid}-${Math.random()}`;
    const script = `echo 1..2; echo ok 1 - adds; if rm ${mark} 2>/dev/null; then echo ok 2 - subtracts; exit 0; fi; touch ${mark}; echo not ok 2 - subtracts; exit 1\n`;
    const bed = await begin({ files: { 'check.sh': suite('not ok', 'ok') }, spec: checks });
    await bed.write('check.sh', script);
    const { text, holds } = await bed.call('run_checks', {});
    expect(text).toMatch(
      /\nfail in one run and pass in the next, passed at the start: flaky before, or by the change \(1\): subtracts\npass now/,
    );
    expect(text).not.toMatch(/repair what|broke/);
    expect(holds).toBe(false);
  });

  it('counts what may fail where it was named before, and says why a check holds whose command fails', async () => {
    const names = Array.from({ length: 12 }, (_, n) => `a case with a long name ${n}`);
    const script = `${names.map((name, n) => `echo "not ok ${n + 1} - ${name}"`).join('; ')}; echo ok 13 - adds; echo 1..13; exit 1\n`;
    const spec = { checks: [{ name: 'unit', command: ['bash', 'check.sh'], format: 'TAP', expect: 'NoRegression' }] } as never;
    const bed = await begin({ files: { 'check.sh': script }, spec });
    const [first = '', second = ''] = [await bed.call('run_checks', {}), await bed.call('run_checks', {})].map(({ text }) => text);
    expect(timeless(first)).toMatch(
      /^unit: holds, as no test fails that passed at the start \(exit status 1, N s;.*\nstill fail, as they may \(12\): a case/,
    );
    expect(second).toMatch(/\nstill fail, as they may \(12\), the same as before\n/);
  });

  it('names the checks of a part, and takes several names in one text', async () => {
    const spec = {
      checks: ['types', 'lint', 'tests'].map((name) => ({ name, command: [name === 'lint' ? 'false' : 'true'], expect: 'Auto' })),
    } as never;
    const bed = await begin({ spec });
    const last = async (names: unknown): Promise<string> => (await bed.call('run_checks', { names })).text.split('\n').at(-1) ?? '';
    expect(await last(['types'])).toBe('all of these checks hold (types); not run: lint, tests');
    expect(await last('tests, lint')).toBe('1 of 2 checks hold (lint, tests); not run: types; failing: lint');
    expect(await last(['types, lint,tests'])).toBe('2 of 3 checks hold; failing: lint');
  });

  it('counts the tests of a runner that names what fails', async () => {
    const failed = '"  1 failing"; echo; echo "  1) sum"; echo "       adds:"; echo "     Error: no"; exit 1';
    const mocha = (rest: string): string => `echo "  839 passing (6s)"; echo ${rest}\n`;
    const spec = { checks: [{ name: 'unit', command: ['bash', 'check.sh'] }], protect: { mode: 'None' } } as never;
    const bed = await begin({ files: { 'check.sh': mocha(failed) }, spec });
    await bed.write('check.sh', mocha('"  1 passing (6s)"'));
    const { text } = await bed.call('run_checks', {});
    expect(timeless(text)).toBe(
      'unit: holds (exit status 0, N s; of 840 tests 840 passed)\npass now, failed at the start (1): sum > adds\n\nall checks hold',
    );
  });

  it('shows why tests fail, before any number of others that pass', async () => {
    const script = 'echo 1..2001; echo "not ok 1 adds"; echo "# got 3"; for n in $(seq 2 2001); do echo "ok $n case $n"; done; exit 1\n';
    const bed = await begin({ files: { 'check.sh': script }, spec: checks });
    const { text } = await bed.call('run_checks', {});
    expect(timeless(text)).toBe(
      'unit: does not hold (exit status 1, N s; of 2001 tests 2000 passed, 1 failed)\nstill fail (1): adds\nend of its output:\n1..2001\nnot ok 1 adds\n# got 3\n\n0 of 1 check hold',
    );
  });

  it('shows the new warnings of a check that holds, and those of the start not', async () => {
    const lint = (...lines: readonly string[]): string => `cat <<'E'\n${lines.join('\n')}\nE\n`;
    const old = [
      '/w/a.js',
      "  3:1  warning  'x' is never used  no-unused-vars",
      'b.c:4:2: warning: unused variable k',
      '3 problems (0 errors, 3 warnings)',
    ];
    const spec = { checks: [{ name: 'lint', command: ['sh', 'lint.sh'], expect: 'Pass' }], protect: { mode: 'None' } } as never;
    const bed = await begin({ files: { 'lint.sh': lint(...old) }, spec });
    await bed.write(
      'lint.sh',
      lint(
        '/w/a.js',
        "  5:1  warning  'x' is never used  no-unused-vars",
        "  9:1  warning  'y' is never used  no-unused-vars",
        ...old.slice(2),
      ),
    );
    const { text } = await bed.call('run_checks', {});
    expect(timeless(text)).toBe(
      "lint: holds (exit status 0, N s)\nwarnings that it did not have at the start (1):\n/w/a.js: 9:1  warning  'y' is never used  no-unused-vars\n\nall checks hold",
    );
    await bed.write('lint.sh', lint(...old));
    expect(timeless((await bed.call('run_checks', {})).text)).toBe('lint: holds (exit status 0, N s)\n\nall checks hold');
  });

  it('shows one error of many suites once', async () => {
    const script = (what: string): string => `for n in a b c d; do echo "FAIL test/$n.js"; echo "  Error: no ${what}"; done; exit 1\n`;
    const spec = { checks: [{ name: 'unit', command: ['sh', 'check.sh'] }], protect: { mode: 'None' } } as never;
    const bed = await begin({ files: { 'check.sh': script('x') }, spec });
    await bed.write('check.sh', script('y'));
    const { text } = await bed.call('run_checks', {});
    expect(text).toContain('end of its output:\nFAIL test/a.js\n  Error: no y\n[the same in 3 more: test/b.js, test/c.js, test/d.js]\n');
  });

  /** A suite of unittest's form, whose failing tests have a traceback of so many lines. */
  const unittest = (failing: readonly string[], lines: number, all = ['a', 'b', 'c', 'd']): string => {
    const bar = (sign: string): string => sign.repeat(70);
    const said = all.map((name) => `test_${name} (t.T.test_${name}) ... ${failing.includes(name) ? 'FAIL' : 'ok'}`);
    const traces = failing.flatMap((name) => [
      bar('='),
      `FAIL: test_${name} (t.T.test_${name})`,
      bar('-'),
      ...Array.from({ length: lines }, (_, n) => `  in ${name} of line ${n}${'.'.repeat(60)}`),
      `AssertionError: ${name} is wrong`,
      '',
    ]);
    const sum = [
      bar('-'),
      `Ran ${all.length} tests in 0.00${failing.length}s`,
      '',
      failing.length === 0 ? 'OK' : `FAILED (failures=${failing.length})`,
    ];
    return `cat <<'E'\n${[...said, '', ...traces, ...sum].join('\n')}\nE\nexit ${failing.length === 0 ? 0 : 1}\n`;
  };
  const suiteOf = (expected: string): BedOptions => ({
    spec: { checks: [{ name: 'unit', command: ['sh', 'check.sh'], expect: expected }], protect: { mode: 'None' } } as never,
  });

  it('shows what broke first and whole, and names what may fail', async () => {
    const bed = await begin({ files: { 'check.sh': unittest(['b', 'c'], 30) }, ...suiteOf('NoRegression') });
    await bed.write('check.sh', unittest(['a', 'b', 'c'], 30));
    const { text } = await bed.call('run_checks', {});
    expect(text).toMatch(/its output about tests that did not fail at the start:\nFAIL: test_a \(t\.T\.test_a\)\n-+\n {2}in a of line 0/);
    expect(text).toContain('in a of line 29');
    expect(text).not.toContain('in b of line');
    expect(text).toContain(
      '[without its output about 2 tests, as they failed at the start and may: test_b (t.T.test_b), test_c (t.T.test_c)]',
    );
    const [, handle, from] = /read_file \{handle: "([^"]+)", from_line: (\d+)\} reads all about unit\]/.exec(text) ?? [];
    const { text: rest } = await bed.call('read_file', { handle, from_line: Number(from) });
    expect(rest).toMatch(/^ *\d+ \| unit: does not hold/);
    expect(rest).toContain('in b of line 29');
  });

  it('shows each of many failures once', async () => {
    const bed = await begin({ files: { 'check.sh': unittest(['a', 'b'], 80) }, ...suiteOf('Auto') });
    const seen = async (): Promise<string> => (await bed.call('run_checks', {})).text;
    const [first, second] = [await seen(), await seen()];
    const third = await seen();
    expect([first, second, third].map((text) => ['a', 'b'].filter((name) => text.includes(`in ${name} of line 79`)))).toEqual([
      ['a'],
      ['b'],
      [],
    ]);
    expect(first).toContain('[without its output about 1 test, for want of room: test_b (t.T.test_b)]');
    expect(second).toContain('[without its output about 1 test, as it was shown before: test_a (t.T.test_a)]');
    for (const text of [first, second, third]) expect(text).toMatch(/Ran 4 tests.*\n\nFAILED \(failures=2\)\n\[without/s);
  });

  it('refuses what submit would refuse', async () => {
    const lib = (sum: string, asserted: string): string =>
      `pub fn add(a: u8, b: u8) -> u8 { a ${sum} b }\n\n#[test]\nfn adds() {\n    assert_eq!(${asserted}, 3);\n}\n`;
    const check = { name: 'unit', command: ['grep', '-q', 'a + b', 'src/lib.rs'] };
    const bed = await begin({ files: { 'src/lib.rs': lib('-', 'add(1, 2)') }, spec: { checks: [check] } as never });
    await bed.write('src/lib.rs', lib('+', '3'));
    const { text, holds } = await bed.call('run_checks', {});
    expect(timeless(text)).toBe(
      'unit: holds (exit status 0, N s; it failed at the start)\n\nthe result is refused: src/lib.rs was changed: its test adds is protected as it was; undo it; if the task needs it, its author lists it in spec.protect.except\n\nall checks hold, but the result is refused',
    );
    expect(holds).toBe(false);
    await bed.write('src/lib.rs', lib('+', 'add(1, 2)'));
    expect(await bed.call('run_checks', {})).toMatchObject({ holds: true });
  });

  it('names the checks that there are', () =>
    play({
      name: '',
      tool: 'run_checks',
      args: { names: ['lint'] },
      ok: false,
      text: 'names: there is no check lint; the checks are: always',
    }));
});

describe.skipIf(binary === '')('all tools', () => {
  it('hands in with an answer', async () => {
    const bed = await begin();
    expect(await bed.call('submit', { answer: ' It was the port. ' })).toMatchObject({
      ok: true,
      submission: { answer: 'It was the port.' },
    });
  });

  it.each([
    ['a tool that is none', 'execute', '{}', /^there is no tool execute; the tools are: bash, edit_file, /],
    ['no object', 'submit', '["done"]', 'the arguments of submit are ["done"]; send one JSON object with fields of: answer, unreachable'],
    ['nothing', 'submit', '', 'submit got no arguments: answer: missing; a string that is not empty is expected'],
    ['a wrong number', 'bash', '{"command":"ls","timeout_seconds":"soon"}', 'timeout_seconds: "soon" came; an integer from 1 to 600 is expected'],
    ['too large a number', 'bash', '{"command":"ls","timeout_seconds":9000}', 'timeout_seconds: 9000 came; an integer from 1 to 600 is expected'],
  ])('answers to %s', (name, tool, args, text) => play({ name, tool, args, text, ok: false })); // prettier-ignore
});
