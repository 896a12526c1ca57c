import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commandsOf, faultsOf, loadScenarios, type Expected, type Observed } from './scenario.ts';

const expected: Expected = {
  tried: [{ result: 'Denied', why: 'privilege' }, { result: 'Worse' }, { result: 'Reached' }],
  outcome: 'ChecksHold',
  hidden: 'Passed',
  decided: ['Rejected'],
  rolledBack: true,
  left: { 'kept.txt': 'a\n', gone: null },
};
const observed: Observed = {
  outcome: 'ChecksHold',
  message: 'all checks hold',
  hidden: 'Passed',
  tried: [
    { result: 'Denied', why: 'privilege: sudo', commands: ['sudo id'] },
    { result: 'Equal', why: 'no further test passes', commands: ['true'] },
    { result: 'Reached', why: 'all checks hold', commands: ['make'] },
  ],
  decided: ['Rejected'],
  ran: ['true', 'make'],
  rolledBack: { verified: true, differs: [] },
  left: { 'kept.txt': 'a\n', gone: null },
  chain: true,
};
const faults = (change: Partial<Observed>): readonly string[] => faultsOf({ expect: expected }, { ...observed, ...change });

describe('faultsOf', () => {
  test('finds no fault in an expected run', () => {
    expect(faults({})).toEqual([]);
  });

  test.each<[string, Partial<Observed>, RegExp]>([
    ['another outcome', { outcome: 'ProposalsExhausted', message: 'none' }, /the outcome is ProposalsExhausted, not ChecksHold: none/],
    ['an answer that only looks right', { hidden: 'Failed' }, /the hidden check is Failed, not Passed/],
    ['a candidate that was let through', { tried: observed.tried.slice(1) }, /what became of the candidates is Worse, Reached, not Denied/],
    [
      'a veto for another reason',
      { tried: [{ result: 'Denied', why: 'network', commands: [] }, ...observed.tried.slice(1)] },
      /candidate 1: network, which is not about privilege/,
    ],
    ['a refused command that ran', { ran: ['sudo id', 'make'] }, /"sudo id" was refused and ran/],
    ['nobody who was asked', { decided: [] }, /what people decided is nothing, not Rejected/],
    ['no rollback', { rolledBack: null }, /nothing was rolled back/],
    ['a rollback that was not verified', { rolledBack: { verified: false, differs: [] } }, /was not verified/],
    ['files that a rollback left', { rolledBack: { verified: true, differs: ['x'] } }, /differ from snapshot 0: x/],
    ['a file that is gone', { left: { gone: null } }, /kept\.txt is not there, not "a\\n"/],
    ['a file that should be gone', { left: { ...observed.left, gone: '' } }, /gone is "", not not there/],
    ['a broken log', { chain: false }, /the chain of the event log is broken/],
  ])('tells %s', (_, change, words) => {
    expect(faults(change).join('\n')).toMatch(words);
  });
});

describe('commandsOf', () => {
  const task = {
    id: 'mini/a/b',
    oracle: { files: { 'src/long.txt': `${'x'.repeat(99)}\n`.repeat(80), 'no end': "it's", old: null }, script: 'make\n' },
    decoys: [{ why: 'wrong', files: {}, script: 'false' }],
  };

  test('writes the files of a solution in pieces that a command line can hold, then runs its script', () => {
    const commands = commandsOf(task, { solution: true });
    expect(commands.every((command) => command.length <= 4096)).toBe(true);
    expect(commands.length).toBeLessThanOrEqual(16);
    expect(commands[0]).toBe("mkdir -p 'src'");
    expect(commands.slice(1, 4).map((command) => command.split(' <<')[0])).toEqual([
      "cat > 'src/long.txt'",
      "cat >> 'src/long.txt'",
      "cat >> 'src/long.txt'",
    ]);
    expect(commands.slice(-3)).toEqual([String.raw`printf %s 'it'\''s' > 'no end'`, "rm 'old'", 'make']);
  });

  test('takes a wrong solution by its number', () => {
    expect(commandsOf(task, { decoy: 0 })).toEqual(['false']);
    expect(() => commandsOf(task, { decoy: 1 })).toThrow(/mini\/a\/b has no decoy 1/);
  });
});

test('loadScenarios refuses an invalid scenario, and names the place', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'scenarios-'));
  const file = join(folder, 'scenarios.yaml');
  await writeFile(file, '- { name: a, says: b, task: c/d, proposals: [{}], expect: { tried: [], outcome: x, hidden: Passed } }\n');
  await expect(loadScenarios(file)).rejects.toThrow(/\/0\/proposals\/0 must NOT have fewer than 1 properties/);
  await rm(folder, { recursive: true });
});
