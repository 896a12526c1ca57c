import { describe, expect, test } from 'vitest';
import { asking } from '../testing/request.ts';
import { conversation, proposalOf } from './proposal.ts';

const content = 'def add(a, b):\n    # für zwei Zahlen\n    return a - b\n';
const file = { path: 'calc.py', content };
const request = asking(file);
const answer = (edits: unknown, more: object = {}): string => JSON.stringify({ edits, reason: 'because', ...more });
const edit = { path: 'calc.py', find: 'a - b', replace: 'a + b' };

describe('an answer', () => {
  test('is an edit of bytes in the file as it is', () => {
    const found = proposalOf(answer([edit]), request);
    const [only] = found?.edits ?? [];
    const bytes = Buffer.from(content);
    expect(bytes.subarray(only?.range.startByte, only?.range.endByte).toString()).toBe('a - b');
    expect(found).toMatchObject({ rationale: 'because', location: { path: 'calc.py', line: 3, column: 11 } });
    expect(found?.id).toMatch(/^sha256:/);
  });

  test.each([
    ['is no JSON', 'Sure! Here is'],
    ['is no object', '[]'],
    ['names text that stands nowhere', answer([{ ...edit, find: 'a * b' }])],
    ['names text that stands twice', answer([{ ...edit, find: 'a' }])],
    ['changes nothing', answer([{ ...edit, replace: 'a - b' }])],
    ['is about another file', answer([{ ...edit, path: '../calc.py' }])],
    ['has edits that overlap', answer([edit, { ...edit, find: 'return a - b', replace: 'pass' }])],
    ['has an edit without its parts', answer([edit, { path: 'calc.py' }])],
    ['does nothing', answer([])],
  ])('that %s is no proposal', (_, text) => {
    expect(proposalOf(text, request)).toBeNull();
  });

  test('has commands only where they were asked for', () => {
    const text = answer([], { commands: ['npm install', ''] });
    expect(proposalOf(text, request)).toBeNull();
    expect(proposalOf(text, { ...request, grammar: 'Tool' })?.acts).toEqual([{ tool: 'Shell', command: 'npm install' }]);
  });
});

describe('the conversation', () => {
  test('shows suspicious lines first when there is not enough room', () => {
    const long = { path: 'long.py', content: Array.from({ length: 2000 }, (_, at) => `line_${at + 1} = ${at}`).join('\n') };
    const lines = [{ path: 'long.py', line: 1500, passed: 0, failed: 1 }];
    const localisation = { spectrum: { passed: 1, failed: 1, lines }, failingTests: [{ id: 't', message: 'off by one' }] };
    const prompt = conversation(asking(long, { localisation }), 1024).at(-1)?.content ?? '';
    expect(prompt).toContain('t: off by one');
    expect(prompt).toContain('1500| line_1500 = 1499');
    expect(prompt).not.toContain('line_900 ');
    expect(prompt.length).toBeLessThan(3 * 1024);
  });
});
