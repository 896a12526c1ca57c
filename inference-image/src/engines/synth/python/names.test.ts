import { describe, expect, it } from 'vitest';
import { parserOf } from '../testing/table.ts';
import { namesAt } from './names.ts';
import { rules } from './file.ts';
import { find } from '../language/syntax.ts';

const parser = parserOf('python', rules);

const source = `
import math
LIMIT = 3

def other():
    hidden = 1

def f(items, key=None, *rest):
    total = 0
    for index, item in enumerate(items):
        total += item
        word = item.strip()
    unread = {}
    return total
`;

function names() {
  const root = parser().parse(source)?.root;
  const last = [...(root?.walk() ?? [])].filter((node) => node.type === 'return_statement').at(-1);
  return new Map(
    namesAt(find(last as NonNullable<typeof last>, 'identifier') as NonNullable<typeof last>).map((info) => [info.name, info]),
  );
}

describe('names at a place', () => {
  it('are those of the function and of the module, not of other functions', () => {
    expect([...names().keys()].sort()).toEqual(
      ['LIMIT', 'f', 'index', 'item', 'items', 'key', 'math', 'other', 'rest', 'total', 'unread', 'word'].sort(),
    );
  });

  it('have kinds by assignment and use', () => {
    const kinds = Object.fromEntries([...names()].map(([name, info]) => [name, info.kind]));
    expect(kinds).toMatchObject({ LIMIT: 'number', total: 'number', unread: 'dict', word: 'string', f: 'callable' });
  });

  it('count bindings and reads', () => {
    expect(names().get('total')).toMatchObject({ bindings: 2, reads: 1, local: true });
    expect(names().get('unread')).toMatchObject({ bindings: 1, reads: 0 });
    expect(names().get('LIMIT')).toMatchObject({ local: false });
  });

  it('can be read after their assignment and in the body of their loop', () => {
    expect(source.slice(names().get('item')?.boundAt)).toMatch(/^total \+= item/);
    expect(source.slice(names().get('unread')?.boundAt)).toMatch(/^\n {4}return/);
  });
});
