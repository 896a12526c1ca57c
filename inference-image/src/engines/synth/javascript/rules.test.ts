import { describe, expect, it } from 'vitest';
import { parserOf } from '../testing/table.ts';
import { rules } from './operator.ts';

describe('the parser of JavaScript', () => {
  const parser = parserOf('typescript', rules);

  it.each([
    'x = = 3;\n',
    'break;\n',
    'return 3;\n',
    'for (const x of y) { (() => { continue; })(); }\n',
    'function f() { await g(); }\n',
    'x = a ?? b || c;\n',
    'x = -a ** b;\n',
    'a?.b = 1;\n',
    'a() = 1;\n',
    'const a = 1; const a = 2;\n',
    'const a;\n',
    'f(a,, b);\n',
  ])('refuses %j', (text) => expect(parser().accepts(text)).toBe(false));

  it.each([
    '',
    'switch (a) { case 1: break; }\n',
    'outer: for (;;) { for (;;) continue outer; }\n',
    'async function f() { for await (const x of y) await x; }\n',
    'await f();\n',
    'x = (a ?? b) || c;\n',
    'const f = (a: number): a is 3 => a === 3;\n',
    'class A { #b = 1; static { A.c = 2; } }\n',
    'let a = 1; { let a = 2; }\n',
  ])('accepts %j', (text) => expect(parser().accepts(text)).toBe(true));

  it('still repairs a file of which it does not understand all, as long as no edit adds to that', () => {
    const source = 'f(a b);\nconst x = 1;\n';
    expect(parser().parse(source)?.faults).toBeGreaterThan(0);
    const draft = parser().draft(source);
    const start = source.indexOf('1');
    expect(draft?.accepts({ start, end: start + 1, after: '2' })).toBe(true);
    expect(draft?.accepts({ start, end: start + 1, after: '= 2' })).toBe(false);
    draft?.close();
  });
});
