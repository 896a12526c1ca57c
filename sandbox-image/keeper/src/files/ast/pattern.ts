import type { Node, Tree } from 'web-tree-sitter';
import type { AstLanguage } from '@agentfleet/protocol/keeper';

/** Parses a text; the caller deletes the tree. */
export type ParseText = (text: string) => Tree;

/** A node of a pattern, as plain data. */
export interface PatternNode {
  readonly kind: string;
  readonly text: string;
  readonly children: readonly PatternNode[];
  /** What it stands for; null for itself. */
  readonly meta: Meta | null;
}

/** `$NAME`, or with `many` `$$$NAME`. A name `_` or none binds nothing. */
export interface Meta {
  readonly name: string;
  readonly many: boolean;
}

/** A pattern that cannot be used, in words. */
export class PatternFault extends Error {}

const metaPattern = /\$\$\$([A-Z_][A-Z0-9_]*)?|\$([A-Z_][A-Z0-9_]*)/g;
const placeholder = /^AF(V|M)_([A-Z0-9_]*)$/;
const maxDepth = 200;

/** Code around a pattern that makes it parse where it does not by itself; the first that does is taken. */
const contexts: Readonly<Record<AstLanguage, readonly (readonly [string, string])[]>> = {
  python: [['', '\n']],
  javascript: [
    ['', '\n'],
    ['(', ')'],
    ['class A {\n', '\n}'],
  ],
  typescript: [
    ['', '\n'],
    ['(', ')'],
    ['class A {\n', '\n}'],
  ],
  tsx: [
    ['', '\n'],
    ['(', ')'],
    ['class A {\n', '\n}'],
  ],
  go: [
    ['', '\n'],
    ['package p\nfunc f() {\n', '\n}\n'],
    ['package p\nvar x = ', '\n'],
  ],
  java: [
    ['', '\n'],
    ['class A { Object x = ', '; }'],
    ['class A { void f() {\n', '\n} }'],
    ['class A {\n', '\n}'],
  ],
  rust: [
    ['', '\n'],
    ['fn f() { let x = ', '; }'],
    ['fn f() {\n', '\n}'],
  ],
};

/** Understands a pattern. @throws PatternFault */
export function parsePattern(pattern: string, language: AstLanguage, parse: ParseText): PatternNode {
  const metas = metasOf(pattern);
  const code = pattern
    .trim()
    .replaceAll(metaPattern, (_whole, many: string | undefined, one: string | undefined) =>
      one === undefined ? `AFM_${many ?? ''}` : `AFV_${one}`,
    );
  let several = false;
  for (const [before, after] of contexts[language]) {
    const tree = parse(`${before}${code}${after}`);
    try {
      const found = rootOf(tree, before.length, before.length + code.length);
      if (found === 'several') several = true;
      if (found === 'broken' || found === 'several') continue;
      return checked(plain(found, 0), metas);
    } finally {
      tree.delete();
    }
  }
  if (several) throw new PatternFault('it is several pieces of code side by side, not one');
  throw new PatternFault(`it is no ${language} that parses by itself`);
}

function metasOf(pattern: string): readonly string[] {
  return [...pattern.matchAll(metaPattern)].map(([whole]) => whole);
}

/** The smallest node that is the whole pattern. */
function rootOf(tree: Tree, start: number, end: number): Node | 'broken' | 'several' {
  const node = tree.rootNode.namedDescendantForIndex(start, end);
  if (node === null || tree.rootNode.hasError) return 'broken';
  const exact = node.startIndex === start && node.endIndex === end && node.parent !== null;
  if (exact) return node;
  const inside = node.namedChildren.filter((child) => child.startIndex >= start && child.endIndex <= end);
  const [only] = inside;
  if (inside.length > 1) return 'several';
  return only !== undefined && only.startIndex === start ? only : 'broken';
}

function plain(node: Node, depth: number): PatternNode {
  if (depth > maxDepth) throw new PatternFault('it is nested too deeply');
  const { type: kind, text } = node;
  const match = placeholder.exec(text);
  if (match !== null) return { kind, text, children: [], meta: { name: match[2] ?? '', many: match[1] === 'M' } };
  return { kind, text, meta: null, children: childrenOf(node).map((child) => plain(child, depth + 1)) };
}

/** What is compared: comments, commas and semicolons are not. */
export function childrenOf(node: Node): readonly Node[] {
  return node.children.filter((child) => !child.isExtra && child.type !== ',' && child.type !== ';');
}

function checked(root: PatternNode, metas: readonly string[]): PatternNode {
  if (root.meta !== null) throw new PatternFault('it matches everything: write code around the name');
  const found = count(root);
  if (found === metas.length) return root;
  throw new PatternFault(`one of ${metas.join(', ')} is not a piece of code of its own there (inside a string, or part of a word)`);
}

function count({ meta, children }: PatternNode): number {
  return meta === null ? children.reduce((sum, child) => sum + count(child), 0) : 1;
}
