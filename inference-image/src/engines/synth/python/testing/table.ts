import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apply } from '../../edit.ts';
import { PythonFile } from '../file.ts';
import type { Operator } from '../operator.ts';
import { installedGrammar, PythonParser } from '../parser.ts';

/** A text, a text that the operator must make of it, and texts that it must not make. */
export interface Row {
  readonly before: string;
  readonly after: string;
  readonly never?: readonly string[];
}

/** Every text that an operator makes of a text, in the order of its proposals. */
export function rewrites(parser: PythonParser, operator: Operator, source: string): readonly string[] {
  const root = parser.parse(source);
  if (root === null) throw new Error(`not Python: ${source}`);
  const file = new PythonFile(source, root);
  const texts: string[] = [];
  for (const node of root.walk()) {
    if (!operator.on.includes(node.type)) continue;
    for (const proposal of operator.propose(node, file)) texts.push(apply(source, proposal.edits));
  }
  return texts;
}

/** Tests an operator by a table; what it must make must also parse. */
export function testOperator(operator: Operator, rows: readonly Row[]): void {
  describe(`the operator ${operator.name}`, () => {
    let parser: PythonParser;
    beforeAll(async () => {
      parser = await PythonParser.load(installedGrammar());
    });
    afterAll(() => parser.close());

    it.each(rows)('makes $after', ({ before, after, never = [] }) => {
      const texts = rewrites(parser, operator, before);
      expect(texts).toContain(after);
      expect(parser.accepts(after)).toBe(true);
      for (const text of never) expect(texts).not.toContain(text);
    });
  });
}
