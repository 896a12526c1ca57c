import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apply } from '../language/edit.ts';
import type { Operator } from '../language/language.ts';
import { Grammars, installedGrammars, SourceParser, type GrammarName, type SyntaxNode, type SyntaxRules } from '../language/syntax.ts';

/** A text, a text that the operator must make of it, and texts that it must not make. */
export interface Row {
  readonly before: string;
  readonly after: string;
  readonly never?: readonly string[];
}

export interface TableLanguage<File> {
  readonly grammar: GrammarName;
  readonly rules: SyntaxRules;
  open(source: string, root: SyntaxNode): File;
}

/** Parses for the tests of a file; it is closed after them. */
export function parserOf(grammar: GrammarName, rules: SyntaxRules): () => SourceParser {
  let grammars: Grammars;
  let parser: SourceParser;
  beforeAll(async () => {
    grammars = await Grammars.open(installedGrammars());
    parser = new SourceParser(await grammars.load(grammar), rules);
  });
  afterAll(() => grammars.close());
  return () => parser;
}

/** Tests every operator by rows of its name; each expected result must also parse. */
export function testOperators<File>(
  language: TableLanguage<File>,
  operators: readonly Operator<File>[],
  rows: Readonly<Record<string, readonly Row[]>>,
): void {
  it('has rows for every operator', () => expect(Object.keys(rows).sort()).toEqual(operators.map((operator) => operator.name).sort()));

  describe.each(operators)('the operator $name', (operator) => {
    const parser = parserOf(language.grammar, language.rules);

    it.each(rows[operator.name] ?? [])('makes $after', ({ before, after, never = [] }) => {
      const texts = rewrites(parser(), language, operator, before);
      expect(texts).toContain(after);
      expect(parser().accepts(after)).toBe(true);
      for (const text of never) expect(texts).not.toContain(text);
    });
  });
}

function rewrites<File>(parser: SourceParser, language: TableLanguage<File>, operator: Operator<File>, source: string): readonly string[] {
  const parsed = parser.parse(source);
  if (parsed === null || parsed.faults > 0) throw new Error(`not ${language.grammar}: ${source}`);
  const file = language.open(source, parsed.root);
  const texts: string[] = [];
  for (const node of parsed.root.walk()) {
    if (!operator.on.includes(node.type)) continue;
    for (const proposal of operator.propose(node, file)) texts.push(apply(source, proposal.edits));
  }
  return texts;
}
