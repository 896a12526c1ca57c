import type { TextEdit } from './edit.ts';
import type { SyntaxNode, GrammarName, SyntaxRules } from './syntax.ts';
import type { FailingTest } from '@agentfleet/protocol/inference';

/** One way to change the program at one node. */
export interface Proposal {
  readonly edits: readonly TextEdit[];
  /** Description of the change, for people. */
  readonly rationale: string;
  /** Share within this operator at this node, relative to 1. */
  readonly weight: number;
}

/**
 * A kind of small repair. Operators are pure: they get one node and its file, without tests or suspicion. Results that
 * do not parse are dropped later.
 */
export interface Operator<File> {
  readonly name: string;
  /** Frequency of this kind of bug, relative to 1: a judgement, not a measurement. */
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

/** Definition of a language for the engine: data and operators. */
export interface LanguageDefinition<File> {
  /** Name in `/v1/info`. */
  readonly name: string;
  /** The grammar of a file, by the end of its name, such as `.py`. */
  readonly grammars: Readonly<Record<string, GrammarName>>;
  readonly syntax: SyntaxRules;
  readonly operators: readonly Operator<File>[];
  /** A file as its operators see it. */
  open(source: string, root: SyntaxNode): File;
  /** Types of nodes that are skipped, with all below them, such as types. */
  readonly skipped?: ReadonlySet<string>;
  /** The lines that speak for a node. */
  lines(node: SyntaxNode): NodeLines;
  /** Returns the factor > 0 of an operator, given the failures; 1 when they have no information about it. */
  symptoms(tests: readonly FailingTest[]): (operator: string) => number;
}

/** A proposal of one operator at one node. */
export interface Proposed {
  readonly operator: string;
  readonly prior: number;
  readonly proposals: readonly Proposal[];
}

/** A file of some language. */
export interface LanguageFile {
  propose(node: SyntaxNode): Iterable<Proposed>;
}

/** A language without the type of its files, as the search uses it. */
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

/** Patterns of failures, with the operators that they favour: a judgement, not a measurement. */
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
