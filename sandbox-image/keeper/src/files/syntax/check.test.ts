import { afterAll, describe, expect, it } from 'vitest';
import type { SyntaxVerdict } from '@agentfleet/protocol/keeper';
import { systemClock } from '../../base/clock.ts';
import { syntaxCheck } from './check.ts';
import { SyntaxParser } from './parser.ts';

const parser = new SyntaxParser({ clock: systemClock, millis: 20_000, idleMs: 60_000 });
afterAll(() => parser.close());

const check = (path: string, before: string | Buffer | null, after: string | Buffer): Promise<SyntaxVerdict> =>
  syntaxCheck(parser, 'Check')({ path, before: before === null ? null : Buffer.from(before), after: Buffer.from(after) });

const good: Readonly<Record<string, string>> = {
  'a.py': 'def f(x: int) -> int:\n    match x:\n        case 1:\n            return 2\n    return x\n',
  'a.js': 'export const f = async (x) => ({ ...x, y: x?.z ?? 1 });\n',
  'a.jsx': 'const a = <div className="x">{y}</div>;\n',
  'a.ts': 'export interface A<T> { readonly x: T }\nconst y = <A<number>>z;\nconst s = { x: 1 } satisfies A<number>;\n',
  'a.tsx': 'export const A = ({ x }: P) => <b>{x as string}</b>;\n',
  'a.sh': 'set -eu\nfor f in *; do echo "$f" | sed s/a/b/; done\n',
  'a.go': 'package a\n\nfunc F[T any](x T) (T, error) { return x, nil }\n',
  'A.java': 'class A { record P(int x) {} int f(Object o) { return o instanceof P p ? p.x() : 0; } }\n',
  'a.rs': 'fn f(x: &str) -> Option<u8> { x.bytes().next() }\n',
  'a.json': '\uFEFF{"a": [1, 2.5e3, null]}\n',
};

const broken: Readonly<Record<string, readonly [string, RegExp]>> = {
  'a.py': ['x = 1\ndef f(:\n    return 2\n', /line 2, column/],
  'a.js': ['const a = 1;\nconst f = (x => {\n', /line \d/],
  'a.jsx': ['const a = <div>{y</div>;\n', /line 1/],
  'a.ts': ['const x: = 1;\n', /line 1, column/],
  'a.tsx': ['const a = <b>{</b>;\n', /line 1/],
  'a.sh': ['if true; then\n  echo a\n', /line \d/],
  'a.go': ['package a\n\nfunc F( { return }\n', /line 3/],
  'A.java': ['class A { int f( { return 1; } }\n', /line 1/],
  'a.rs': ['fn f(x: &str -> u8 { 1 }\n', /line 1/],
  'a.json': ['{\n  "a": 1,\n}\n', /line 3, column 1/],
};

describe('syntax check', () => {
  it.each(Object.entries(good))('takes a good %s', async (path, text) => {
    expect(await check(path, null, text)).toBe('Checked');
    expect(await check(path, text, `${text}\n`)).toBe('Checked');
  });

  it.each(Object.entries(broken))('refuses a broken %s and names the place', async (path, [text, where]) => {
    const refusal = expect.objectContaining({
      code: 'AF_EDIT_SYNTAX',
      message: expect.stringMatching(where) as string,
      cure: expect.stringContaining('syntax: "Skip"') as string,
    }) as unknown;
    await expect(check(path, null, text)).rejects.toEqual(refusal);
    await expect(check(path, good[path] ?? '', text)).rejects.toEqual(refusal);
  });

  it('lets an edit through that adds none to those that are there', async () => {
    expect(await check('a.py', 'def f(:\n    pass\n', 'def f(:\n    return 1\n')).toBe('Checked');
    expect(await check('a.py', 'def f(:\n    pass\n', 'def f():\n    pass\n')).toBe('Checked');
    expect(await check('a.json', '// a comment\n{}', '// a comment\n{"a": 1}')).toBe('NotChecked');
  });

  it('names the new error, not one that was there', async () => {
    const old = 'def f(:\n    pass\n\n\nx = 1\n';
    await expect(check('a.py', old, old.replace('x = 1', 'y = = 2'))).rejects.toMatchObject({
      message: expect.stringMatching(/a syntax error as python: line 5/) as string,
    });
  });

  it('looks away where the request says so, and where it cannot judge', async () => {
    const skip = syntaxCheck(parser, 'Skip');
    expect(await skip({ path: 'a.py', before: null, after: Buffer.from('def (') })).toBe('Skipped');
    for (const [path, text] of [
      ['a.txt', 'def ('],
      ['tsconfig.json', '{ /* words */ }'],
      ['Makefile', 'x:\n'],
      ['a.py', Buffer.from([0xff, 0xfe])],
      ['a.py', 'x = (\n'.repeat(100_000)],
      ['a.sh', `a${'|a'.repeat(600)}`],
    ] as const) {
      expect(await check(path, null, text), path).toBe('NotChecked');
    }
  });

  it('does not stumble over depth', async () => {
    await expect(check('a.py', null, '(['.repeat(100_000))).rejects.toMatchObject({ code: 'AF_EDIT_SYNTAX' });
    expect(await check('a.json', null, `${'['.repeat(100_000)}${']'.repeat(100_000)}`)).toBe('Checked');
  });
});

describe('the parser thread', () => {
  it('is not there before it is needed and after it was idle', async () => {
    const idle: (() => void)[] = [];
    const clock = {
      ...systemClock,
      after: (ms: number, run: () => void) => (ms === 1234 ? (idle.push(run), () => undefined) : systemClock.after(ms, run)),
    };
    const lazy = new SyntaxParser({ clock, millis: 20_000, idleMs: 1234 });
    expect(lazy.running).toBe(false);
    const job = { kind: 'Faults', grammar: 'go', text: 'package a\n' } as const;
    expect(await lazy.ask(job)).toEqual({ count: 0, first: [] });
    expect(lazy.running).toBe(true);
    idle[0]?.();
    expect(lazy.running).toBe(false);
    expect(await lazy.ask(job)).toEqual({ count: 0, first: [] });
    await lazy.close();
  });

  it.each([
    ['/workspace/a.py', true],
    ['/workspace/a.json', false],
    ['/workspace/a.txt', false],
  ])('is warm after a look at %s: %s', async (path, warm) => {
    const lazy = new SyntaxParser({ clock: systemClock, millis: 20_000, idleMs: 60_000 });
    lazy.warm(path);
    lazy.warm(path);
    await Promise.resolve();
    expect(lazy.running).toBe(warm);
    expect(await lazy.ask({ kind: 'Faults', grammar: 'python', text: 'x = 1\n' })).toEqual({ count: 0, first: [] });
    await lazy.close();
  });

  it('is ended when a job takes too long, and the next job gets a new one', async () => {
    let expire: (() => void) | null = null;
    const clock = {
      ...systemClock,
      after: (ms: number, run: () => void) => {
        if (ms === 5000) expire = run;
        return () => undefined;
      },
    };
    const slow = new SyntaxParser({ clock, millis: 5000, idleMs: 60_000 });
    const first = slow.ask({ kind: 'Faults', grammar: 'python', text: 'x = f(1, 2)\n'.repeat(40_000) });
    await Promise.resolve().then(() => undefined);
    expect(slow.running).toBe(true);
    (expire as (() => void) | null)?.();
    expect(await first).toBeNull();
    expect(slow.running).toBe(false);
    expect(await slow.ask({ kind: 'Faults', grammar: 'python', text: 'x = 1\n' })).toEqual({ count: 0, first: [] });
    await slow.close();
  });

  it('survives a parser that runs out of its memory', async () => {
    const text = '(['.repeat(8_000_000);
    expect(await parser.ask({ kind: 'Faults', grammar: 'python', text })).toBeNull();
    expect(await parser.ask({ kind: 'Faults', grammar: 'python', text: 'x = 1\n' })).toEqual({ count: 0, first: [] });
  });
});
