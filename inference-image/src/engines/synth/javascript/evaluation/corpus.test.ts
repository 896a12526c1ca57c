import { describe, expect, it } from 'vitest';
import { halves, localise } from '../../evaluation/evaluate.ts';
import { javascriptCorpus } from './corpus.ts';

const { cases, execute } = javascriptCorpus;

describe('the JavaScript and TypeScript cases', () => {
  it.each(halves)('of %s fail as they are, and pass with the repair of their author', async (half) => {
    for (const subject of await cases(half)) {
      const { runs, passed } = await execute(subject, [subject.source, subject.repaired], false);
      expect(passed, subject.name).toEqual([false, true]);
      expect(localise(subject, runs).spectrum.failed, subject.name).toBeGreaterThan(0);
      expect(localise(subject, runs).spectrum.passed, subject.name).toBeGreaterThan(0);
    }
  });
});

describe('the runner of JavaScript', () => {
  const subject = {
    name: 'one',
    kind: '',
    path: 'one.ts',
    source: 'export function one(): number {\n  return 2;\n}\n\nexport function other() {\n  return 1;\n}\n',
    tests:
      "import test from 'node:test';\nimport assert from 'node:assert/strict';\nimport { one } from './one.ts';\n\ntest('one', async () => assert.equal(await one(), 1));\n",
    repaired: '',
  };
  const returning = (body: string): string => `export const one = (): number => {\n${body}\n};\n`;

  it('distinguishes lines that ran from those that did not', async () => {
    const { runs } = await execute(subject, [], false);
    expect(runs).toMatchObject([{ test: 'one', outcome: 'Failed' }]);
    expect(runs[0]?.lines).toContain(2);
    expect(runs[0]?.lines).not.toContain(6);
    expect(runs[0]?.message).toContain('2 !== 1');
  });

  it(
    'distinguishes candidates that never end, end the process or use too much memory from one that passes',
    { timeout: 120_000 },
    async () => {
      const candidates = [
        returning('while (true);'),
        returning('process.exit(0);'),
        returning('const all = []; while (true) all.push(new Array(1e5).fill(1));'),
        returning('return 1;'),
        'not a program',
      ];
      const { passed } = await execute(subject, candidates, false);
      expect(passed).toEqual([false, false, false, true, false]);
    },
  );
});
