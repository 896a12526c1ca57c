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

  it('survives deep nesting', () => {
    const deep = `x = ${'('.repeat(3000)}1${')'.repeat(3000)}\n`;
    expect([...(parser().parse(deep)?.root.walk() ?? [])].length).toBeGreaterThan(3000);
  });
});
