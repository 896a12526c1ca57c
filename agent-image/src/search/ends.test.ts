import { expect, test } from 'vitest';
import type { Check } from '@agentfleet/protocol/api';
import { judgeBaseline, parseResults } from '../checks/index.ts';
import type { JudgedCheck, Ran } from '../attempt/checkRun.ts';
import { seenAtBaseline } from '../attempt/baseline.ts';
import { describeSearchEnd, type SearchEnd } from './repair.ts';
import { countedThere, failedThere } from '../attempt/closing.ts';

const ended = { exitCode: 1, signal: null, timedOut: false, killed: null, swept: 0, oom: false } as unknown as Ran['end'];

function ran(stderr: string, end: Partial<Ran['end']> = {}, stdout = ''): Ran {
  const exitCode = end.exitCode === undefined ? 1 : end.exitCode;
  const results = parseResults('Auto', { exitCode, stdout, stderr, files: [], truncated: false });
  return { check: 'unit', end: { ...ended, ...end }, results, output: stderr, millis: 4200 };
}

function judged(...baseline: readonly [Ran, ...Ran[]]): JudgedCheck {
  const check = { name: 'unit', command: ['python3', '-m', 'unittest'], expect: 'Auto' } as unknown as Check;
  return { check, baseline, judgement: judgeBaseline(baseline, 'Auto'), format: baseline[0].results.format, varies: false };
}

const unittest = (state: 'ok' | 'FAIL'): string =>
  `test_half (test_calc.T.test_half) ... ${state}\ntest_two (test_calc.T.test_two) ... ok\n\n${'-'.repeat(70)}\nRan 2 tests in 0.001s\n\n${state === 'ok' ? 'OK' : 'FAILED (failures=1)'}\n`;
const cargo = `\nrunning 1 test\ntest tests::sum ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n\n`;
const syntax = `Traceback (most recent call last):\n  File "/workspace/calc.py", line 1\n    def half(:\n             ^\nSyntaxError: invalid syntax\n`;

test.each<readonly [string, JudgedCheck, RegExp]>([
  ['counts and names', judged(ran(unittest('FAIL'))), /^check unit: 1 passed, 1 failed \(test_calc\.T\.test_half\)$/],
  [
    'the message of the first of several',
    judged(
      ran('', {}, '1) Failure:\nA#one:\nExpected: 3\n\n2) Error:\nA#two:\nboom\n\n3 runs, 2 assertions, 1 failures, 1 errors, 0 skips\n'),
    ),
    /^check unit: 1 passed, 2 failed \(A#one: "Expected: 3"; A#two\)$/,
  ],
  [
    'a runner that stops',
    judged(ran('', {}, cargo)),
    /^check unit: 0 passed, 1 failed \(tests::sum\); it stopped there, so that other tests may not have run$/,
  ],
  [
    'the ends of long names, which differ',
    judged(
      ran(
        `FAIL packages/server/test/multi-provider-status.spec.ts\n${['waiting', 'dead'].map((what) => `  ● MultiProvider knows the status of each of the providers that it was given › skips a ${what} one\n`).join('\n')}\nTests:       2 failed, 2 total\n`,
      ),
    ),
    /^check unit: 0 passed, 2 failed \(packages\/server\/[^;]*… [^;]* skips a dead one: [^;]*; packages\/server\/[^;]*… [^;]* skips a waiting one\)$/,
  ],
  ['a syntax error', judged(ran(syntax)), /^check unit: \/workspace\/calc\.py:1: SyntaxError: invalid syntax$/],
  [
    'a time-out',
    judged(ran('', { exitCode: null, timedOut: true })),
    /^check unit: the command ran out of time after 4 s \(raise timeoutSeconds/,
  ],
  [
    'the process limit',
    judged(ran('', { exitCode: null, killed: 'ProcessLimit' })),
    /^check unit: the command was ended \(ProcessLimit\) after 4 s/,
  ],
  ['a bare status', judged(ran('deploy.sh: line 3: nope\n', { exitCode: 3 })), /^check unit: exit status 3, "deploy\.sh: line 3: nope"$/],
  ['a status without a word', judged(ran('', { exitCode: 3 })), /^check unit: exit status 3, and it printed nothing$/],
  [
    'a test that fails at times',
    judged(ran(unittest('FAIL')), ran(unittest('ok'), { exitCode: 0 })),
    /not repeatable in 2 runs on the same files, so not counted: .*test_calc\.T\.test_half/,
  ],
])('the baseline is described by %s', (_, check, text) => {
  expect(seenAtBaseline([check])).toMatch(text);
});

const synth = { name: 'gen', role: 'Generalist', engine: 'Synth' } as const;
const model = { name: 'coder', role: 'Generalist', engine: 'VLLM' } as const;
const end = (change: Partial<SearchEnd> = {}): SearchEnd => ({
  checks: [judged(ran(unittest('FAIL')))],
  experts: [synth],
  tried: 12,
  gained: 0,
  left: ['test_calc.T.test_half'],
  ...change,
});

test.each<readonly [string, SearchEnd, string | null, readonly RegExp[], RegExp]>([
  [
    'a search that has no more proposals',
    end(),
    null,
    [
      /^12 candidates were tried and none made a failing test pass\. At snapshot 0, check unit: 1 passed/,
      /edit small expressions in Python/,
    ],
    /budget/,
  ],
  [
    'nothing to try',
    end({ tried: 0 }),
    null,
    [/^nothing was tried\. At snapshot 0, check unit: 1 passed/, /no answers: for other goals use a pool with/],
    /candidate/,
  ],
  ['a file that does not parse', end({ checks: [judged(ran(syntax))] }), null, [/Correct \/workspace\/calc\.py first, which/], /Synth/],
  ['a pool with a model', end({ experts: [synth, model] }), null, [/Give the pool an expert for this kind of change/], /Synth\)/],
  [
    'a budget that brought nothing nearer',
    end({ checks: [judged(ran('', { exitCode: null, timedOut: true }))] }),
    'the task has used 60 of 60 wallSeconds',
    [/^the task has used 60 of 60 wallSeconds; 12 candidates/, /the command ran out of time after 4 s/],
    /larger budget|raise spec\.budget/,
  ],
  [
    'a budget that ended a search on its way',
    end({ gained: 1, left: ['test_calc.T.test_two'] }),
    'the task has used 60 of 60 wallSeconds',
    [/the best made 1 of 1 failing tests pass; still failing: test_calc\.T\.test_two/, /A larger budget may reach the rest$/],
    /Synth\)/,
  ],
])('%s ends with what was seen and a cure that fits', (_, facts, spent, texts, never) => {
  const message = describeSearchEnd(facts, spent);
  for (const text of texts) expect(message).toMatch(text);
  expect(message).not.toMatch(never);
});

test('a success names the tests that failed beside it', () => {
  const check = judged(ran(unittest('FAIL')), ran(unittest('ok'), { exitCode: 0 }));
  const proof = (state: 'ok' | 'FAIL') => ({ judged: check, run: ran(unittest(state)), verdict: { flaky: [] } }) as never;
  expect(failedThere([proof('ok')])).toBe('');
  expect(failedThere([proof('FAIL')])).toMatch(/, but for tests that fail only at times, at snapshot 0 too: .*test_half/);
});

test('a success names the checks whose passing tests are counted and not named', () => {
  const proof = (name: string, evidence: 'Tests' | 'Counts' | 'Exit') => ({ judged: { check: { name } }, verdict: { evidence } }) as never;
  expect(countedThere([proof('a', 'Tests'), proof('b', 'Exit')])).toBe('');
  expect(countedThere([proof('a', 'Counts'), proof('b', 'Tests'), proof('c', 'Counts')])).toBe(
    '; tests that pass are counted and not named by the checks a, c',
  );
});
