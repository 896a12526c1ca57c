import { expect, test } from 'vitest';
import { describeRail, shell, testPolicy, testRails } from '../testing/table.ts';

const positives = [
  'rm -rf build',
  'rm a.txt',
  'rm -rf node_modules',
  "find . -name '*.pyc' -delete",
  'rmdir x',
  'truncate -s 0 log',
  'mv -f a b',
  'rm -rf dist/*',
  'rm -f *.o',
];
const evasions = ["sh -c 'rm -r build'", 'd=build; rm -rf "$d"', 'python3 -c "import os; os.remove(\'a\')"', 'cd build && rm -rf *'];

await describeRail('reversible-change', {
  positives,
  evasions,
  benign: ['ls', 'mv a b', 'make clean', 'echo rm x', 'npm run clean', 'find . -name x', 'cp a b', 'git rm --cached x', 'touch a'],
});

const rails = await testRails();
test.each([...positives, ...evasions])('%s is allowed after a snapshot', (command) => {
  expect(rails.judge(shell(command), testPolicy)).toMatchObject({ decision: 'NeedsSnapshot', risk: 'Reversible' });
});
