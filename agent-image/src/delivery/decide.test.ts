import { describe, expect, it } from 'vitest';
import { changedFiles } from './changes.ts';
import { bodyOf, branchOf, decideBranch, markOf, standing, titleOf } from './decide.ts';

const [mine, old, theirs] = ['a'.repeat(40), 'b'.repeat(40), 'c'.repeat(40)];

describe('a branch', () => {
  it.each([
    ['that is not there is made', null, { kind: 'Push', lease: '' }],
    ['that holds the commit is left', mine, { kind: 'There' }],
    ['that holds an earlier result of the task is replaced, if it still does', old, { kind: 'Push', lease: old }],
  ] as const)('%s', (_, remote, decision) => {
    expect(decideBranch('x', { remote, commit: mine, ours: new Set([mine, old]) })).toEqual(decision);
  });

  it('with a commit of another author is never overwritten', () => {
    const decide = () => decideBranch('x', { remote: theirs, commit: mine, ours: new Set([mine, old]) });
    expect(decide).toThrow(/branch x holds commit cccccccccccc, which this task did not push; nothing was overwritten; delete the branch/);
  });

  it('has the name of its task and a part of its uid', () => {
    expect(branchOf('fix', '0123456789')).toBe('agentfleet/fix-01234567');
  });
});

describe('a pull request', () => {
  const own = { url: 'own', open: false, body: `x\n${markOf('u')}` };
  const person = { url: 'person', open: true, body: '' };
  it.each([
    ['of the task stands, also when it was closed', [person, own], 'own'],
    ['of somebody for the branch stands', [person], 'person'],
    ['that was closed and is of another task does not', [{ ...own, body: markOf('v') }], undefined],
  ])('%s', (_, found, url) => {
    expect(standing(found, 'u')?.url).toBe(url);
  });

  it('has goal, answer and checks, and no forge acts on their text', () => {
    const checks = [{ name: 'unit', passed: 3, failed: 0, skipped: 1 }];
    const body = bodyOf({ task: 'team/fix', uid: 'u', attempt: 2, goal: 'Fix @all\n```\nx', answer: 'closes #1', checks, leftOut: [] });
    expect(body).toContain('````text\nFix @all\n```\nx\n````');
    expect(body).toContain('```text\ncloses #1\n```');
    expect(body).toContain('| unit | 3 | 0 | 1 |');
    expect(body).toContain(markOf('u'));
    expect(body).not.toContain('submodules');
  });

  it('names some of the files that were left out, in a block', () => {
    const leftOut = Array.from({ length: 23 }, (_, at) => `lib/@${at}`);
    const body = bodyOf({ task: 'team/fix', uid: 'u', attempt: 1, goal: 'x', checks: [], leftOut });
    expect(body).toContain('```text\nlib/@0\n');
    expect(body).toContain('lib/@19\nand 3 more\n```');
  });

  it.each([
    [undefined, '\n Make it pass.\nAnd more.', 'Make it pass.'],
    [undefined, 'x'.repeat(80), `${'x'.repeat(71)}…`],
    ['Own\ttitle', 'goal', 'Own title'],
  ])('has the title %s', (title, goal, shown) => {
    expect(titleOf(title, goal)).toBe(shown);
  });
});

describe('the content of a commit', () => {
  const [one, two] = ['1'.repeat(64), '2'.repeat(64)];
  const manifest = (...lines: string[]): Buffer => Buffer.from(['agentfleet-manifest/1', ...lines, ''].join('\n'), 'latin1');
  const before = manifest(
    'd 0755 0 - 1 workspace/a -',
    `f 0644 3 ${one} 1 workspace/a/b -`,
    `f 0644 3 ${one} 1 workspace/same -`,
    `f 0644 3 ${one} 1 workspace/gone -`,
    `f 0644 3 ${one} 1 workspace/x -`,
  );
  const after = manifest(
    'd 0700 0 - 9 workspace/a -',
    `f 0755 3 ${one} 2 workspace/a/b -`,
    `f 0600 3 ${one} 2 workspace/same -`,
    `f 0644 4 ${two} 2 workspace/x -`,
    `f 0644 4 ${two} 2 workspace/with%20blank%0A -`,
    'l 0777 0 - 2 workspace/link ../x',
    `f 0644 4 ${two} 2 workspace/.git/HEAD -`,
    `f 0644 4 ${two} 2 workspace/sub/.GIT/config -`,
    `f 0644 4 ${two} 2 home/notes -`,
  );

  it('is the current files and links of the workspace, without folders, times, narrow modes and git itself', () => {
    expect(changedFiles(before, after).map(({ path, now }) => [path, now?.mode ?? null, now?.target ?? now?.sha256 ?? null])).toEqual([
      ['a/b', '100755', one],
      ['gone', null, null],
      ['link', '120000', '../x'],
      ['with blank\n', '100644', two],
      ['x', '100644', two],
    ]);
  });
});
