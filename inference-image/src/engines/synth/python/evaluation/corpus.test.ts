import { describe, expect, it } from 'vitest';
import { halves, localise } from '../../evaluation/evaluate.ts';
import { pythonCorpus } from './corpus.ts';

const { cases, execute } = pythonCorpus;

describe('the Python cases', () => {
  it.each(halves)('of %s fail as they are, and pass with the repair of their author', async (half) => {
    for (const subject of await cases(half)) {
      const { runs, passed } = await execute(subject, [subject.source, subject.repaired], false);
      expect(passed, subject.name).toEqual([false, true]);
      expect(localise(subject, runs).spectrum.failed, subject.name).toBeGreaterThan(0);
    }
  });
});

describe('the runner of Python', () => {
  const subject = {
    name: 'loop',
    kind: '',
    path: 'loop.py',
    source: 'def f():\n    return 1\n',
    tests: 'from loop import f\n\ndef test_f():\n    assert f() == 2\n',
    repaired: '',
  };

  it('distinguishes a candidate that never ends from one that passes', async () => {
    const { passed, runs } = await execute(
      subject,
      ['def f():\n    while True:\n        pass\n', 'def f():\n    return 2\n', 'exit()\n'],
      false,
    );
    expect(passed).toEqual([false, true, false]);
    expect(runs).toMatchObject([{ test: 'test_f', outcome: 'Failed', lines: [1, 2] }]);
    expect(runs[0]?.message).toContain('assert f() == 2');
  });
});
