import { expect, test } from 'vitest';
import { describeRail, shell, testPolicy, testRails } from '../testing/table.ts';

const positives = [
  'git reset --hard HEAD~1',
  'git checkout -- .',
  'git checkout .',
  'git rebase -i HEAD~3',
  'git filter-branch --all',
  'git stash drop',
  'git branch -D x',
  'git commit --amend -m x',
  'git restore src',
  'git reflog expire --all',
  'rm -rf .git/refs',
];
const evasions = [
  'git -C . reset --hard',
  'g=git; $g reset --har""d',
  "sh -c 'git stash drop'",
  'git -c a.b=c rebase main',
  'env git reset --hard',
  'if true; then git checkout -f; fi',
];

await describeRail('history-rewriting', {
  positives,
  evasions,
  benign: [
    'git reset HEAD file',
    'git checkout -b x',
    'git checkout main',
    'git stash',
    'git log --oneline',
    'git commit -m "reset --hard"',
    'git branch -a',
    'git restore --staged x',
    'git rebase --abort',
    'git tag v1',
    'git diff',
  ],
});

const rails = await testRails();
test.each([...positives, ...evasions])('%s is allowed after a snapshot', (command) => {
  expect(rails.judge(shell(command), testPolicy)).toMatchObject({ decision: 'NeedsSnapshot', risk: 'Reversible' });
});

test.each([
  'git stash clear',
  'git reflog expire --expire=now --all',
  'git gc --prune=now',
  'git branch --merged | xargs git branch -D',
  'git tag -l | xargs git tag -d',
  'git tag -f v1.2.9 HEAD',
])('%s waits for a person', (command) => expect(rails.judge(shell(command), testPolicy).decision).toBe('NeedsApproval'));

test.each(['git tag -d v2.0.0-rc1', 'git tag -f wip'])('%s is allowed after a snapshot', (command) => {
  expect(rails.judge(shell(command), testPolicy).decision).toBe('NeedsSnapshot');
});
