import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dataOf, refuseLeaks } from './generate.ts';
import { Judge } from './judge.ts';
import { readProblems } from './problems.ts';

describe('the problems', () => {
  it('are many, and end on all their calls', { timeout: 120_000 }, async () => {
    const problems = await readProblems();
    expect(problems.length).toBeGreaterThanOrEqual(120);
    const judge = new Judge();
    try {
      for (const problem of problems) {
        const expected = await judge.expected(problem);
        expect((await judge.run(problem, expected, {})).outcomes, problem.name).toMatch(/^P+$/);
      }
    } finally {
      await judge.close();
    }
  });

  it('have bugs by hand that their calls find', async () => {
    const judge = new Judge();
    const broken = (await readProblems()).filter(({ handMade }) => handMade.length > 0);
    expect(broken.length).toBeGreaterThanOrEqual(15);
    const silent: string[] = [];
    try {
      for (const problem of broken) {
        const expected = await judge.expected(problem);
        const [bug] = problem.handMade;
        const source = problem.source.replace(bug?.before ?? '', () => bug?.after ?? '');
        if (/^P+$/.test((await judge.run({ ...problem, source }, expected, {})).outcomes)) silent.push(problem.name);
      }
    } finally {
      await judge.close();
    }
    expect(silent).toEqual([]);
  });
});

describe('the judge', () => {
  const program = { name: 'f', calls: ['1', '2'] };

  it('bounds what does not end, what takes all memory and what breaks the interpreter', async () => {
    const judge = new Judge();
    try {
      const sources = [
        'def f(x):\n    while True:\n        x += 1\n',
        'def f(x):\n    return [0] * 10 ** 12\n',
        'def f(x):\n    return f(x)\n',
        'def f(x:\n',
        'def f(x):\n    return open("/etc/passwd")\n',
        'def f(x):\n    return x\n',
      ];
      const runs = await judge.runAll(program, sources, ['1', '2']);
      expect(runs.map(({ outcomes }) => outcomes)).toEqual(['TT', 'FF', 'FF', 'FF', 'FF', 'PP']);
      expect(runs.map(({ compiles }) => compiles)).toEqual([true, true, true, false, true, true]);
    } finally {
      await judge.close();
    }
  });
});

describe('the parts of the data', () => {
  it('never share a problem', () => {
    const one = { problem: 'a', split: 'train' } as const;
    expect(() => refuseLeaks([one, one, { problem: 'b', split: 'heldOut' }])).not.toThrow();
    expect(() => refuseLeaks([one, { problem: 'a', split: 'heldOut' }])).toThrow(/assign whole problems/);
  });
});

describe('data in a file', () => {
  it('are kept in a folder that need not be there, and taken from it', { timeout: 120_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'train-'));
    try {
      const file = join(folder, 'cache', 'train.json');
      const options = { seed: 1, perProblem: 1, problems: 1, say: () => {} };
      const made = await dataOf(file, options);
      expect(made.manifest).toMatchObject({ seed: 1 });
      expect(await dataOf(file, { ...options, seed: 2 })).toEqual(made);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
