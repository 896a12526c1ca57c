import { afterAll, describe, expect, it } from 'vitest';
import type { AstLanguage } from '@agentfleet/protocol/keeper';
import { systemClock } from '../../base/clock.ts';
import { SyntaxParser } from '../syntax/index.ts';
import type { Rewritten } from './rewrite.ts';

const parser = new SyntaxParser({ clock: systemClock, millis: 20_000, idleMs: 60_000 });
afterAll(() => parser.close());

const ask = (grammar: AstLanguage, text: string, pattern: string, rewrite: string, max = 10_000): Promise<Rewritten | null> =>
  parser.ask({ kind: 'Rewrite', grammar, text, pattern, rewrite, max });

async function rewrite(grammar: AstLanguage, text: string, pattern: string, to: string): Promise<string> {
  const answer = await ask(grammar, text, pattern, to);
  if (answer === null || 'fault' in answer) throw new Error(`no rewrite: ${JSON.stringify(answer)}`);
  return answer.text;
}

describe('rewriteTree', () => {
  it.each([
    ['python', 'x = foo(a, b=1)  # kept\n', 'foo($A, $$$REST)', 'bar($$$REST, $A)', 'x = bar(b=1, a)  # kept\n'],
    ['python', 'foo( a )\n', 'foo($A, $$$REST)', 'bar($A, $$$REST)', 'bar(a)\n'],
    ['python', 'if x == None:\n    pass\n', '$X == None', '$X is None', 'if x is None:\n    pass\n'],
    [
      'python',
      'def f(a, b):\n    return a\n',
      'def $F($$$P):\n    $$$B',
      'def $F($$$P) -> int:\n    $$$B',
      'def f(a, b) -> int:\n    return a\n',
    ],
    ['javascript', 'var a = 1;\nvar b = f(2)\n', 'var $N = $V', 'const $N = $V', 'const a = 1;\nconst b = f(2)\n'],
    ['javascript', 'a && a.b; a && c.b', '$A && $A.b', '$A?.b', 'a?.b; a && c.b'],
    ['javascript', 'const o = { a: 1, b: 2 };', '{ a: $A, b: $B }', '{ b: $B, a: $A }', 'const o = { b: 2, a: 1 };'],
    ['typescript', 'console.log(x as string, "ü", 1);\n', 'console.log($$$ARGS)', 'log.info($$$ARGS)', 'log.info(x as string, "ü", 1);\n'],
    ['tsx', 'const a = <B x={1} />;\n', '<B x={$V} />', '<C y={$V} />', 'const a = <C y={1} />;\n'],
    [
      'go',
      'package a\n\nfunc f() {\n\tfmt.Println("x", 1)\n}\n',
      'fmt.Println($$$A)',
      'log.Print($$$A)',
      'package a\n\nfunc f() {\n\tlog.Print("x", 1)\n}\n',
    ],
    [
      'go',
      'package a\n\nfunc f() error {\n\tif err != nil {\n\t\treturn err\n\t}\n\treturn nil\n}\n',
      'if err != nil { return err }',
      'must(err)',
      'package a\n\nfunc f() error {\n\tmust(err)\n\treturn nil\n}\n',
    ],
    [
      'java',
      'class A { int f() { return new Integer(1).intValue(); } }\n',
      'new Integer($X)',
      'Integer.valueOf($X)',
      'class A { int f() { return Integer.valueOf(1).intValue(); } }\n',
    ],
    ['rust', 'fn f() { let x = a.unwrap(); }\n', '$A.unwrap()', '$A?', 'fn f() { let x = a?; }\n'],
  ] as const)('changes %s: %j by %j', async (language, text, pattern, to, expected) => {
    expect(await rewrite(language, text, pattern, to)).toBe(expected);
  });

  it('keeps every byte around the matches, and deepens the lines of a rewrite', async () => {
    const text = 'def f():\r\n\tif a:\r\n\t\told( 1 ,2 )  # ü 𝒳\r\n\r\n\told(3)';
    expect(await rewrite('python', text, 'old($$$A)', 'one($$$A)\ntwo()')).toBe(
      'def f():\r\n\tif a:\r\n\t\tone(1 ,2)\n\t\ttwo()  # ü 𝒳\r\n\r\n\tone(3)\n\ttwo()',
    );
  });

  it('counts, stops at the maximum, and skips matches nested in a match', async () => {
    const answer = await ask('javascript', 'f(1); f(f(2)); f(3);', 'f($A)', 'g($A)', 2);
    expect(answer).toMatchObject({
      text: 'g(1); g(f(2)); f(3);',
      matches: 3,
      replaced: 2,
      snippets: [{ line: 1, before: 'f(1)', after: 'g(1)' }, {}],
    });
  });

  it('sees structure, not text: strings, comments and other nesting do not match', async () => {
    const text = '// f(1)\nconst s = "f(1)";\nff(1);\nx.f(1);\nf(1, 2);\nf(/* c */ 1);\n';
    expect(await ask('javascript', text, 'f(1)', 'g()')).toMatchObject({ matches: 1, snippets: [{ line: 6, before: 'f(/* c */ 1)' }] });
  });

  it.each([
    ['f(', 'x', 'no javascript that parses'],
    ['f(1); g(2);', 'x', 'several pieces'],
    ['$A', 'x', 'matches everything'],
    ['"a $A"', 'x', 'not a piece of code of its own'],
    ['foo$A()', 'x', 'not a piece of code of its own'],
    ['f($A)', 'g($B)', 'the rewrite has $B'],
    ['f($_)', 'g($_)', 'the rewrite has $_'],
    ['   ', 'x', 'no javascript that parses'],
  ])('says what is wrong with the pattern %j', async (pattern, to, why) => {
    expect(await ask('javascript', 'f(1)', pattern, to)).toEqual({ fault: expect.stringContaining(why) as string });
  });

  it('gives up on patterns that would take for ever', async () => {
    const pattern = `f(${Array.from({ length: 8 }, (_, n) => `$$$A${n}, 0`).join(', ')}, 7)`.replaceAll(
      /A(\d)/g,
      (_, n: string) => `A${'BCDEFGHI'[Number(n)] ?? ''}`,
    );
    const text = `f(${'0, '.repeat(400)}1)`;
    expect(await ask('javascript', text, pattern, 'x')).toEqual({ fault: expect.stringContaining('too many comparisons') as string });
  });
});
