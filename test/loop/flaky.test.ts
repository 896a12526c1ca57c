import { expect, test, vi } from 'vitest';
import { LocalSandbox } from './localSandbox.ts';
import { LoopBed, taskFor } from './loopBed.ts';

vi.setConfig({ testTimeout: 180_000 });

/** Passes at the first run, fails at the second. */
const everyOther = 'n=$(cat runs 2>/dev/null || echo 0); echo $((n + 1)) > runs; test $((n % 2)) = 0';

test.each([
  ['passes at times', everyOther, 'OnlyFlaky', /nothing fails at snapshot 0 each time/],
  ['passes each time', 'true', 'NothingToProve', /all checks pass at snapshot 0 already/],
])('a check that %s is named for what it is', async (_, command, reason, message) => {
  await using bed = await LoopBed.open();
  await using sandbox = await LocalSandbox.open();
  const run = bed.begin(sandbox, taskFor({ 'README.md': 'Rolls.\n' }, ['sh', '-c', command]), { experts: [], verifier: null });
  const outcome = await bed.run(run);
  expect(outcome).toMatchObject({ result: 'Failed', class: 'InvalidInput', reason });
  expect(outcome.message).toMatch(message);
});
