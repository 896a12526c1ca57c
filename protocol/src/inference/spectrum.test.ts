import { describe, expect, it } from 'vitest';
import { spectrumFromRuns } from './generate.ts';

describe('the spectrum of runs', () => {
  it('counts passing and failing tests by line', () => {
    const spectrum = spectrumFromRuns([
      { test: 'a', outcome: 'Passed', covered: [{ path: 'm.py', lines: [2, 1] }] },
      { test: 'b', outcome: 'Failed', covered: [{ path: 'm.py', lines: [2, 3] }] },
    ]);
    expect(spectrum).toEqual({
      passed: 1,
      failed: 1,
      lines: [
        { path: 'm.py', line: 1, passed: 1, failed: 0 },
        { path: 'm.py', line: 2, passed: 1, failed: 1 },
        { path: 'm.py', line: 3, passed: 0, failed: 1 },
      ],
    });
  });

  it('counts a line once per run, however often the run names it', () => {
    const { lines } = spectrumFromRuns([
      {
        test: 'a',
        outcome: 'Failed',
        covered: [
          { path: 'm.py', lines: [1, 1] },
          { path: 'm.py', lines: [1] },
        ],
      },
    ]);
    expect(lines).toEqual([{ path: 'm.py', line: 1, passed: 0, failed: 1 }]);
  });

  it('orders by path, then by line number', () => {
    const covered = [
      { path: 'b.py', lines: [10, 9] },
      { path: 'a.py', lines: [1] },
    ];
    const { lines } = spectrumFromRuns([{ test: 'a', outcome: 'Passed', covered }]);
    expect(lines.map(({ path, line }) => `${path}:${line}`)).toEqual(['a.py:1', 'b.py:9', 'b.py:10']);
  });
});
