import { describe, expect, it } from 'vitest';
import { installedGrammar, PythonParser, SynthEngine } from '../../index.ts';
import { readCases } from './cases.ts';
import { evaluate } from './evaluate.ts';
import { execute, localise } from './execute.ts';

describe('repair of the dev half', () => {
  it('finds at least 70 % among the first 100 candidates', { timeout: 240_000 }, async () => {
    const engine = new SynthEngine({ parser: await PythonParser.load(installedGrammar()), modelDigest: '', now: () => 0 });
    const cases = await readCases('dev');
    const results = [];
    for (const subject of cases) results.push(await evaluate(subject, { engine, tries: 100, baseline: false, now: () => 0 }));
    await engine.close();
    const solved = results.filter((result) => result.rank !== null);
    expect(solved.length / cases.length).toBeGreaterThanOrEqual(0.7);
  });
});

describe('the cases', () => {
  it.each(['dev', 'heldout'] as const)('of %s fail as they are, and pass with the repair of their author', async (half) => {
    for (const subject of await readCases(half)) {
      const { runs, passed } = await execute(subject, [subject.source, subject.repaired], false);
      expect(passed, subject.name).toEqual([false, true]);
      expect(localise(subject, runs).spectrum.failed, subject.name).toBeGreaterThan(0);
    }
  });
});

describe('the runner', () => {
  const subject = {
    name: 'loop',
    kind: '',
    source: 'def f():\n    return 1\n',
    tests: 'from loop import f\n\ndef test_f():\n    assert f() == 2\n',
    repaired: '',
  };

  it('tells a candidate that never ends from one that passes', async () => {
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
