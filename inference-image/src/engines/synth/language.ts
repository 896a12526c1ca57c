import type { FailingTest } from '@agentfleet/protocol/inference';
import type { Operator, Proposal } from './operator.ts';
import type { GrammarName, SyntaxNode, SyntaxRules } from './syntax/index.ts';

/** The lines, from 1, whose suspicion is that of a node; `global` code runs for every test. */
export interface NodeLines {
  readonly from: number;
  readonly to: number;
  readonly global: boolean;
}

/** All that the engine knows of a language: data and operators. */
export interface LanguageDefinition<File> {
  /** As `/v1/info` tells it. */
  readonly name: string;
  /** The grammar of a file, by how its name ends, such as `.py`. */
  readonly grammars: Readonly<Record<string, GrammarName>>;
  readonly syntax: SyntaxRules;
  readonly operators: readonly Operator<File>[];
  /** A file as its operators see it. */
  open(source: string, root: SyntaxNode): File;
  /** Types of nodes that are never looked at, with all below them, such as types. */
  readonly skipped?: ReadonlySet<string>;
  /** The lines that speak for a node. */
  lines(node: SyntaxNode): NodeLines;
  /** Factor > 0 of an operator, given what failed; 1 when that says nothing about it. */
  symptoms(tests: readonly FailingTest[]): (operator: string) => number;
}

/** What one operator proposes at one node. */
export interface Proposed {
  readonly operator: string;
  readonly prior: number;
  readonly proposals: readonly Proposal[];
}

/** A file of some language. */
export interface LanguageFile {
  propose(node: SyntaxNode): Iterable<Proposed>;
}

/** A language without the type of its files: what the search works with. */
export interface Language extends Omit<LanguageDefinition<never>, 'open' | 'operators'> {
  open(source: string, root: SyntaxNode): LanguageFile;
}

export function defineLanguage<File>(definition: LanguageDefinition<File>): Language {
  const byType = new Map<string, Operator<File>[]>();
  for (const operator of definition.operators) for (const type of operator.on) byType.set(type, [...(byType.get(type) ?? []), operator]);
  const open = (source: string, root: SyntaxNode): LanguageFile => {
    const file = definition.open(source, root);
    return {
      *propose(node) {
        for (const operator of byType.get(node.type) ?? [])
          yield { operator: operator.name, prior: operator.prior, proposals: [...operator.propose(node, file)] };
      },
    };
  };
  return { ...definition, open };
}
