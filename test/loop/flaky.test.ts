import { join } from 'node:path';
import type { AgentTaskSpec } from '@agentfleet/protocol/api';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { LocalSandbox } from './localSandbox.ts';
import { generalist, LoopBed, taskFor, tried } from './loopBed.ts';

vi.setConfig({ testTimeout: 180_000 });

let bed: LoopBed;
beforeAll(async () => {
  bed = await LoopBed.open();
});
afterAll(() => bed[Symbol.asyncDispose]());

/** Passes at the first run, fails at the second. */
const everyOther = 'n=$(cat runs 2>/dev/null || echo 0); echo $((n + 1)) > runs; test $((n % 2)) = 0';

test.each([
  ['passes at times', everyOther, 'OnlyFlaky', /nothing fails at snapshot 0 each time/],
  ['passes each time', 'true', 'NothingToProve', /all checks pass at snapshot 0 already/],
])('a check that %s is named for what it is', async (_, command, reason, message) => {
  await using sandbox = await LocalSandbox.open();
  const run = bed.begin(sandbox, taskFor({ 'README.md': 'Rolls.\n' }, ['sh', '-c', command]), { experts: [], verifier: null });
  const outcome = await bed.run(run);
  expect(outcome).toMatchObject({ result: 'Failed', class: 'InvalidInput', reason });
  expect(outcome.message).toMatch(message);
});

/** A check whose runs pass (P) and fail (F) as listed; after the last one like that. Its counter is outside of the workspace. */
function listed(sandbox: LocalSandbox, runs: string, varies: boolean): Partial<AgentTaskSpec> {
  const at = JSON.stringify(join(sandbox.folder, 'home', 'runs'));
  const script = `n=$(cat ${at} 2>/dev/null || echo 1); echo $((n + 1)) > ${at}; c=$(echo ${runs} | cut -c$n); test "\${c:-${runs.at(-1)}}" = P`;
  return taskFor({ 'a.py': 'x = 1\n' }, ['sh', '-c', varies ? `${script} # random` : script], 'Repair it.');
}

/** The search is played: it has one proposal. */
async function played(sandbox: LocalSandbox, spec: Partial<AgentTaskSpec>) {
  const edits = [{ path: 'a.py', before: 'x = 1', after: 'x = 2' }];
  const url = await bed.replay('Repair it.', [[{ edits, acts: [], weight: 1, operator: 'x', rationale: 'writes 2' }]]);
  return bed.run(bed.begin(sandbox, spec, { experts: [generalist(url)], verifier: null }));
}

const eight = 'F'.repeat(8);
test.each([
  ['passes at snapshot 0 in the third run', 'FFPF', true, 'InvalidInput', 'OnlyFlaky', /not repeatable in 8 runs on the same files/],
  [
    'passes by luck, and then at snapshot 0',
    `${eight}PPFFP`,
    true,
    'InvalidInput',
    'FlakyCheck',
    /at snapshot 0, where nothing was changed/,
  ],
  ['names no chance, and falls once', 'FFPFP', false, 'InvalidInput', 'FlakyCheck', /passed in 8 of 10 runs\..*fix the seed/],
  [
    'a change makes pass at times',
    `${eight}PPPF`,
    true,
    'CheckFailed',
    'FlakyCheck',
    /failed in all 16 runs at snapshot 0, so that the change/,
  ],
  ['falls each time', `FFPF`, false, 'CheckFailed', 'NothingFixed', /in a fresh container/],
] as const)('a check that %s is never a success', async (_, runs, varies, cls, reason, message) => {
  await using sandbox = await LocalSandbox.open();
  const outcome = await played(sandbox, listed(sandbox, runs, varies));
  expect(outcome).toMatchObject({ result: 'Failed', class: cls, reason });
  expect(outcome.message).toMatch(message);
  expect(tried(sandbox).map(({ result }) => result)).toEqual(reason === 'OnlyFlaky' ? [] : ['Reached', 'NotVerified']);
});

test('a check that names chance and is repeatable all the same is proved', async () => {
  await using sandbox = await LocalSandbox.open();
  const check = 'import random; random.seed(7); from a import x; assert x + random.random() > 2';
  const spec = taskFor({ 'a.py': 'x = 1\n' }, ['python3', '-B', '-c', check], 'Repair it.');
  expect(await played(sandbox, spec)).toMatchObject({ result: 'Succeeded' });
});
