import { canonical } from './edit.ts';
import type { Language, LanguageFile, NodeLines } from './language.ts';
import type { Proposal } from './operator.ts';
import type { Entry } from './pool.ts';
import type { SyntaxNode } from './syntax/index.ts';

/** How the search weighs what operators propose. */
export interface Weigher {
  /** Suspicion > 0 of the lines of a node. */
  suspicion(lines: NodeLines): number;
  /** What the failures say of an operator; 1 = nothing. */
  symptom(operator: string): number;
  /** Whether failing tests mention a word. */
  isMentioned(word: string): boolean;
}

/** A focus file that can be edited. */
export interface OpenFile {
  /** Index in the request. */
  readonly index: number;
  readonly path: string;
  readonly source: string;
  readonly root: SyntaxNode;
  readonly language: Language;
  readonly file: LanguageFile;
}

/** Suspicion counts more than any single preference among operators. */
const suspicionPower = 2;
const mentionBoost = 1.3;

/**
 * The candidates at one node: P(place) · P(operator) · P(variant). The variants of one operator at
 * one node share its prior by their weights, damped by a square root: an operator with many
 * variants may have more in all, not n times as much.
 */
export function* proposeAt(node: SyntaxNode, place: number, open: OpenFile, weigher: Weigher): Generator<Entry> {
  for (const { operator, prior, proposals } of open.file.propose(node)) {
    const total = proposals.reduce((sum, proposal) => sum + proposal.weight, 0);
    if (total <= 0) continue;
    const share = (place ** suspicionPower * prior * weigher.symptom(operator)) / Math.sqrt(Math.max(1, total));
    for (const proposal of proposals) {
      const entry = entryOf(operator, proposal, node, open, share * proposal.weight * mention(proposal, node, weigher));
      if (entry !== null) yield entry;
    }
  }
}

function entryOf(operator: string, proposal: Proposal, node: SyntaxNode, open: OpenFile, weight: number): Entry | null {
  const edit = canonical(open.source, proposal.edits);
  if (edit === null || weight <= 0) return null;
  const key = `${open.index}:${edit.start}:${edit.end}:${edit.after}`;
  const { rationale } = proposal;
  return { key, file: open.index, edits: [edit], operator, rationale, row: node.row, column: node.column, weight };
}

/** Words that the edit brings in and the tests name. */
function mention(proposal: Proposal, node: SyntaxNode, weigher: Weigher): number {
  const old = node.text;
  for (const { after } of proposal.edits) {
    for (const [word] of after.matchAll(/[A-Za-z_]\w+|\d+/g)) if (!old.includes(word) && weigher.isMentioned(word)) return mentionBoost;
  }
  return 1;
}
