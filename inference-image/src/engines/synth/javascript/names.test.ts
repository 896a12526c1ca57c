import { describe, expect, it } from 'vitest';
import { parserOf } from '../testing/table.ts';
import { Names, type NameInfo } from './names.ts';
import { rules } from './operator.ts';
import { types, type SyntaxNode } from './syntax.ts';

const parser = parserOf('typescript', rules);

/** Names at the identifier `here`. */
function at(source: string): ReadonlyMap<string, NameInfo> {
  const root = parser().parse(source)?.root as SyntaxNode;
  const here = [...root.walk(types)].find((node) => node.text === 'here' && node.type === 'identifier') as SyntaxNode;
  return new Map(new Names(root).at(here).map((info) => [info.name, info]));
}

const names = (source: string): readonly string[] => [...at(source).keys()].sort();

describe('names at a place', () => {
  it('are those of the blocks, functions and module around it', () => {
    const source = `
import read, { write as put, type Kind } from 'files';
import type { Other } from 'others';
import * as all from 'all';
function f(a, { b, c: d = 1, ...e }, [g], ...rest) {
  if (a) { let inner = 1; }
  for (const i of a) { const j = i; }
  try { a(); } catch (error) { a(error); }
  here;
}
function other() { const hidden = 1; }
class Thing {}
`;
    expect(names(source)).toEqual(['Thing', 'a', 'all', 'b', 'd', 'e', 'f', 'g', 'other', 'put', 'read', 'rest']);
  });

  it('see a loop inside of it, the error of a catch clause, and no sibling block', () => {
    expect(names('for (let i = 0; i < 3; i++) { const j = i; here; }\n{ const k = 1; }\n')).toEqual(['i', 'j']);
    expect(names('try { const a = 1; } catch (error) { here; }\n')).toEqual(['error']);
    expect(names('for (const [key, { value }] of all) here;\n')).toEqual(['key', 'value']);
  });

  it('hoist var to its function, and functions to their block', () => {
    expect(names('function f() { if (x) { var deep = 1; let flat = 2; } here; }\n')).toEqual(['deep', 'f']);
    expect(at('here;\nfunction late() {}\n').get('late')?.boundAt).toBe(0);
  });

  it('give the innermost of two with one name', () => {
    const found = at('const n = "text";\nfunction f(n: number) { here; }\n').get('n');
    expect(found).toMatchObject({ declared: 'parameter', kind: 'number', local: true });
  });

  it('report when a name has a value', () => {
    const source = 'function f() {\n  here;\n  const later = 1;\n}\n';
    expect(at(source).get('later')?.boundAt).toBe(source.indexOf('1') + 1);
  });

  it('count reads of the binding that is meant', () => {
    const found = at('let n = 0;\nfunction f() { let n = 1; n += 1; return n; }\nn = 2;\nn++;\nhere;\nuse({ n });\n').get('n');
    expect(found).toMatchObject({ reads: 1 });
  });

  it('know kinds by type, value and use', () => {
    const found = at('function f(a: string[], b = 1, c, d: Map<string, number>) {\n  const e = { x: 1 };\n  c.trim();\n  here;\n}\n');
    const kinds = Object.fromEntries([...found].map(([name, info]) => [name, info.kind]));
    expect(kinds).toEqual({ a: 'array', b: 'number', c: 'string', d: 'map', e: 'object', f: 'function' });
  });
});
