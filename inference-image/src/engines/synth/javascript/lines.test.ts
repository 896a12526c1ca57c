import { describe, expect, it } from 'vitest';
import { parserOf } from '../testing/table.ts';
import { lines } from './file.ts';
import { rules } from './operator.ts';
import type { SyntaxNode } from './syntax.ts';

const parser = parserOf('typescript', rules);

/** Lines of the first node with this text. */
function of(source: string, text: string) {
  const root = parser().parse(source)?.root as SyntaxNode;
  return lines([...root.walk()].find((node) => node.text === text && node.named) as SyntaxNode);
}

describe('the lines of a node', () => {
  const source = `const top = 1;
function f(
  list,
) {
  if (list) {
    use(list);
  } else {
    drop();
  }
  return list
    .filter((item) => item.ok)
    .map(name);
}
`;

  it.each([
    ['top', { from: 1, to: 1, global: true }],
    ['use(list)', { from: 6, to: 6, global: false }],
    ['drop()', { from: 8, to: 8, global: false }],
    ['item.ok', { from: 11, to: 11, global: false }],
    ['map', { from: 10, to: 12, global: false }],
    ['(list)', { from: 5, to: 5, global: false }],
  ])('of %s are its statement', (text, expected) => expect(of(source, text)).toEqual(expected));

  it('of a function are the first that run when it is called', () => {
    const root = parser().parse('function f(a) {\n  return a;\n}\n')?.root as SyntaxNode;
    expect(lines(root.children[0] as SyntaxNode)).toEqual({ from: 2, to: 2, global: false });
  });
});
