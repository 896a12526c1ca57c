import type { TextEdit } from './edit.ts';
import type { SyntaxNode, GrammarName, SyntaxRules } from './syntax.ts';
import type { FailingTest } from '@agentfleet/protocol/inference';

/** One way to change the program at one node. */
export interface Proposal {
  readonly edits: readonly TextEdit[];
  /** What was done, for people. */
  readonly rationale: string;
  /** Share within this operator at this node, relative to 1. */
  readonly weight: number;
}

/**
 * A kind of small repair. Operators are pure: they see one node and its file and know nothing of
 * tests or suspicion. What does not parse afterwards is dropped later.
 */
export interface Operator<File> {
  readonly name: string;
  /** How often people's bugs are of this kind, relative to 1: a judgement, not a measurement. */
  readonly prior: number;
  /** Types of the nodes it looks at. */
  readonly on: readonly string[];
  propose(node: SyntaxNode, file: File): Iterable<Proposal>;
}

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

/** What a failure says, and which operators answer to it: a judgement, not a measurement. */
export type SymptomTable = readonly (readonly [RegExp, Readonly<Record<string, number>>])[];

/**
 * The highest factor of each operator among the rows that fit a message or the line of a trace that
 * names the error.
 *
 * @param at index of that line, as for `Array.at`: runners print it first or last
 */
export function tableFactors(table: SymptomTable, tests: readonly FailingTest[], at: 0 | -1): Map<string, number> {
  const factors = new Map<string, number>();
  for (const [pattern, operators] of table) {
    if (!tests.some((test) => pattern.test(test.message) || pattern.test(test.trace?.trim().split('\n').at(at) ?? ''))) continue;
    for (const [name, factor] of Object.entries(operators)) factors.set(name, Math.max(factors.get(name) ?? 1, factor));
  }
  return factors;
}

/** Words and numbers that failing tests mention; candidates that bring one in are favoured a little. */
export function mentioned(tests: readonly FailingTest[]): ReadonlySet<string> {
  return new Set(tests.flatMap((test) => [...`${test.id} ${test.message}`.matchAll(/[A-Za-z_]\w+|\d+/g)].map((match) => match[0])));
}
