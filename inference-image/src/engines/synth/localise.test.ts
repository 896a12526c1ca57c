import { describe, expect, it } from 'vitest';
import { siteSuspicion, traceLines, suspicionOf } from './synth.ts';

const lines = suspicionOf({
  passed: 1,
  failed: 1,
  lines: [
    { path: 'a.py', line: 2, passed: 1, failed: 1 },
    { path: 'a.py', line: 3, passed: 0, failed: 1 },
    { path: 'a.py', line: 4, passed: 1, failed: 0 },
  ],
});
const site = (line: number, global = false) => siteSuspicion({ path: 'a.py', from: line, to: line, global }, lines, new Map());

describe('suspicion of a statement', () => {
  it('orders lines by the tests that ran them', () => {
    expect(site(3)).toBeGreaterThan(site(2));
    expect(site(2)).toBeGreaterThan(site(4));
  });

  it('never rules a line out', () => {
    expect(site(9)).toBeGreaterThan(0);
  });

  it('takes statements of the module for executed by every test', () => {
    expect(site(9, true)).toBeCloseTo(site(2), 1);
  });

  it('reads traces of other runners, and is not held up by long ones', () => {
    const traces = traceLines(['x'.repeat(60_000), 'in a.py:3: AssertionError', '(src/a.py:4)'], ['a.py']);
    expect([...(traces.get('a.py')?.keys() ?? [])]).toEqual([3, 4]);
  });

  it('reads traces of Node, whose first line is the innermost', () => {
    const trace = `TypeError: x
    at f (file:///workspace/src/a.mjs:3:5)
    at async Object.<anonymous> (/workspace/src/b.ts:7:5)
    at /workspace/src/b.ts:9:1
    at node:internal/process:95:5
    at file:///workspace/src/a.mjs:12:1`;
    const traces = traceLines([trace], ['src/a.mjs', 'src/b.ts']);
    expect([...(traces.get('src/a.mjs') ?? [])].sort(([one], [other]) => one - other)).toEqual([
      [3, 1],
      [12, 0.25],
    ]);
    expect(traces.get('src/b.ts')?.get(7)).toBe(0.75);
  });

  it('is raised where the trace of a failure ends', () => {
    const traces = traceLines(['File "/tmp/x/a.py", line 2, in f\nFile "/usr/lib/other.py", line 9'], ['a.py']);
    expect(siteSuspicion({ path: 'a.py', from: 2, to: 2, global: false }, lines, traces)).toBeGreaterThan(site(2));
    expect(traces.get('a.py')?.get(2)).toBe(1);
  });
});
