import type { TextEdit } from './edit.ts';
import type { SyntaxNode } from './syntax/index.ts';

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

export function replace(node: SyntaxNode, after: string, weight = 1, rationale?: string): Proposal {
  const edits = [{ start: node.start, end: node.end, after }];
  return { edits, weight, rationale: rationale ?? `replace ${brief(node.text)} by ${brief(after)}` };
}

/** A text short enough for one sentence. */
export function brief(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > 60 ? `\`${line.slice(0, 57)}…\`` : `\`${line}\``;
}

/** The anonymous child that is an operator sign, such as `+` or `not in`. */
export function signOf(node: SyntaxNode, among: ReadonlySet<string> | Readonly<Record<string, unknown>>): SyntaxNode | null {
  const has = (type: string): boolean => (among instanceof Set ? among.has(type) : Object.hasOwn(among, type));
  return node.children.find((child) => !child.named && has(child.type)) ?? null;
}
