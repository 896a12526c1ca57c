import { canonical } from '../edit.ts';
import type { Entry } from '../pool.ts';
import type { PythonFile } from './file.ts';
import { operators } from './operators/index.ts';
import type { Operator, Proposal } from './operator.ts';
import { functionOf, statementOf, type SyntaxNode } from './syntax.ts';

/** How the search weighs what operators propose. */
export interface Weigher {
  /** Suspicion > 0 of the lines of a node; lines count from 1. */
  suspicion(from: number, to: number, global: boolean): number;
  /** What the failures say of an operator; 1 = nothing. */
  symptom(operator: string): number;
  /** Whether failing tests mention a word. */
  isMentioned(word: string): boolean;
}

const byType = new Map<string, Operator[]>();
for (const operator of operators) for (const type of operator.on) byType.set(type, [...(byType.get(type) ?? []), operator]);

/** Suspicion counts more than any single preference among operators. */
const suspicionPower = 2;
const mentionBoost = 1.3;

/**
 * The candidates at one node: P(place) · P(operator) · P(variant). The variants of one operator at
 * one node share its prior by their weights, damped by a square root: an operator with many
 * variants may have more in all, not n times as much.
 */
export function* proposeAt(node: SyntaxNode, place: number, file: PythonFile, index: number, weigher: Weigher): Generator<Entry> {
  const using = byType.get(node.type);
  if (using === undefined) return;
  for (const operator of using) {
    const proposals = [...operator.propose(node, file)];
    const total = proposals.reduce((sum, proposal) => sum + proposal.weight, 0);
    if (total <= 0) continue;
    const prior = (place ** suspicionPower * operator.prior * weigher.symptom(operator.name)) / Math.sqrt(Math.max(1, total));
    for (const proposal of proposals) {
      const entry = entryOf(operator, proposal, node, file, index, prior * proposal.weight * mention(proposal, node, weigher));
      if (entry !== null) yield entry;
    }
  }
}

function entryOf(operator: Operator, proposal: Proposal, node: SyntaxNode, file: PythonFile, index: number, weight: number): Entry | null {
  const edit = canonical(file.source, proposal.edits);
  if (edit === null || weight <= 0) return null;
  const key = `${index}:${edit.start}:${edit.end}:${edit.after}`;
  return {
    key,
    file: index,
    edits: [edit],
    operator: operator.name,
    rationale: proposal.rationale,
    row: node.row,
    column: node.column,
    weight,
  };
}

/** Words that the edit brings in and the tests name. */
function mention(proposal: Proposal, node: SyntaxNode, weigher: Weigher): number {
  const old = node.text;
  for (const { after } of proposal.edits) {
    for (const [word] of after.matchAll(/[A-Za-z_]\w+|\d+/g)) if (!old.includes(word) && weigher.isMentioned(word)) return mentionBoost;
  }
  return 1;
}

/** How suspicious the place of a node is. */
export function placeOf(node: SyntaxNode, weigher: Weigher): number {
  return weigher.suspicion(...lines(node));
}

/** The lines that speak for a node: its statement's, or the head of a statement with a body. */
function lines(node: SyntaxNode): [number, number, boolean] {
  const statement = statementOf(node) ?? node;
  const body = statement.child('body') ?? statement.child('consequence') ?? statement.children.find((child) => child.type === 'block');
  const global = functionOf(statement) === null;
  // Defaults matter to those who call the function.
  if (statement.type === 'function_definition') return bodyStart(statement);
  if (body == null) return [statement.row + 1, statement.endRow + 1, global];
  // A clause such as `elif` or `except` has its own line.
  if (node !== statement && node.row >= body.row) return [node.row + 1, node.row + 1, global];
  return [statement.row + 1, Math.max(statement.row, body.row - 1) + 1, global];
}

/** A function stands for the first lines that run when it is called. */
function bodyStart(definition: SyntaxNode): [number, number, boolean] {
  const body = definition.child('body');
  const first = body?.namedChildren.find((statement) => statement.namedChildren[0]?.type !== 'string') ?? definition;
  return [first.row + 1, first.row + 1, false];
}
