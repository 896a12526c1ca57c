import { describe, expect, it } from 'vitest';
import type { Focus } from './localise.ts';
import { SearchNode, trustIn } from './node.ts';

const content = 'def f(x):\n    return x + 1\n';
const startByte = content.indexOf('+ 1');
const edit = { path: 'f.py', range: { startByte, endByte: startByte + 3 }, before: '+ 1', after: '- 1', expectedSha256: '0'.repeat(64) };

/** A focus where `executing` failing tests of `failed` execute line 2. */
function focusOf(failed: number, executing: number): Focus {
  const lines = executing === 0 ? [] : [{ path: 'f.py', line: 2, passed: 1, failed: executing }];
  const localisation = { spectrum: { passed: 1, failed, lines }, failingTests: [] };
  return { domain: 'python', files: [{ path: 'f.py', content }], localisation, suspicion: () => null };
}

function child(before: Focus | undefined, after: Focus | undefined): SearchNode {
  const at = { planId: 'p', snapshot: 's', passing: new Set<string>() };
  const parent = new SearchNode({ ...at, state: 'a', parent: null, edits: [] });
  const node = new SearchNode({ ...at, state: 'b', parent, edits: [edit] });
  parent.focus = before;
  node.focus = after;
  return node;
}

describe('trust in edits that made more tests pass', () => {
  it.each([
    ['no failing test executes the line any more', focusOf(4, 2), focusOf(2, 0), 0.8],
    ['half of them do, which an accident explains as well', focusOf(4, 2), focusOf(3, 1), 0.35],
    ['all of them do', focusOf(4, 2), focusOf(4, 2), 0.2],
    ['nothing was measured before', undefined, focusOf(3, 1), 0.5],
    ['nothing was measured after', focusOf(4, 2), focusOf(0, 0), 0.5],
    ['no failing test executed it before', focusOf(4, 0), focusOf(3, 1), 0.5],
  ])('%s', (_, before, after, trust) => {
    expect(trustIn(child(before, after))).toBeCloseTo(trust, 10);
  });
});
