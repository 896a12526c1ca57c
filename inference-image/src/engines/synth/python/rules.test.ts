import { describe, expect, it } from 'vitest';
import { parserOf } from '../testing/table.ts';
import { rules } from './file.ts';

describe('the parser of Python', () => {
  const parser = parserOf('python', rules);

  it.each([
    'x = = 3\n',
    'if a:\nb\n',
    'break\n',
    'def f():\n    break\n',
    'return 3\n',
    'class A:\n    return 3\n',
    'for x in y:\n    def f():\n        continue\n',
    'f(a,, b)\n',
  ])('refuses %j', (text) => expect(parser().accepts(text)).toBe(false));

  it.each(['', 'for x in y:\n    if x:\n        break\n', 'class A:\n    def f(self):\n        return 3\n', 'f = lambda x: (yield x)\n'])(
    'accepts %j',
    (text) => expect(parser().accepts(text)).toBe(true),
  );

  it('keeps the text, the order and the place of every node', () => {
    const source = 'def f(a):\n    return g(a, "é😀") + b\n';
    const root = parser().parse(source)?.root;
    const names = [...(root?.walk() ?? [])].filter((node) => node.type === 'identifier');
    expect(names.map((node) => node.text)).toEqual(['f', 'a', 'g', 'a', 'b']);
    expect(names.at(-1)).toMatchObject({ start: source.indexOf('b'), row: 1 });
    expect(root?.text).toBe(source);
  });

  it.each<[string, string]>([
    ['levels', `x = ${'('.repeat(50_000)}1${')'.repeat(50_000)}\n`],
    ['terms', `x = ${'1+'.repeat(100_000)}1\n`],
    ['calls', `x = a${'()'.repeat(100_000)}\n`],
    ['statements', 'a=1\n'.repeat(60_000)],
    ['lines within lines', `x = ${'['.repeat(300)}${'\n'.repeat(200_000)}${']'.repeat(300)}\n`],
    ['characters', `x = "${'a'.repeat(300_000)}"\n`],
  ])('leaves a text of very many %s alone, and lives on', (_, text) => {
    const own = parser();
    expect(own.parse(text)).toBeNull();
    expect(own.parse(`x = ${'('.repeat(60)}1${')'.repeat(60)}\n`)).not.toBeNull();
  });
});
