import type { Node, Tree } from 'web-tree-sitter';
import { type AstLanguage, astBounds } from '@agentfleet/protocol/keeper';

/** Parses a text; the caller deletes the tree. */
export type ParseText = (text: string) => Tree;

interface PatternNode {
  readonly kind: string;
  readonly text: string;
  readonly children: readonly PatternNode[];
  /** The pattern variable that this node is; null for literal code. */
  readonly meta: Meta | null;
}

/** `$NAME`, or with `many` `$$$NAME`. A name `_` or none binds nothing. */
export interface Meta {
  readonly name: string;
  readonly many: boolean;
}

class PatternFault extends Error {}

const metaPattern = /\$\$\$([A-Z_][A-Z0-9_]*)?|\$([A-Z_][A-Z0-9_]*)/g;
const placeholder = /^AF(V|M)_([A-Z0-9_]*)$/;
const maxDepth = 200;

const script = [
  ['', '\n'],
  ['(', ')'],
  ['class A {\n', '\n}'],
] as const;

/** Code around a pattern that makes it parse where it does not by itself; the first that does is taken. */
const contexts: Readonly<Record<AstLanguage, readonly (readonly [string, string])[]>> = {
  python: [['', '\n']],
  javascript: script,
  typescript: script,
  tsx: script,
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

function parsePattern(pattern: string, language: AstLanguage, parse: ParseText): PatternNode {
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

/** Children that are compared: comments, commas and semicolons are not. */
function childrenOf(node: Node): readonly Node[] {
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

/** Names of a pattern with the range of text that each is bound to. */
type Bindings = ReadonlyMap<string, Range>;

/** Offsets into the file; equal ones for no nodes at all. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Most comparisons of nodes for one edit: patterns with several `$$$` could otherwise take exponential time. */
const maxSteps = 300_000;

/** Compares trees with a pattern. The depth of the recursion is the pattern's. */
class Matcher {
  readonly #pattern: PatternNode;
  readonly #text: string;
  #steps = 0;

  constructor(pattern: PatternNode, text: string) {
    this.#pattern = pattern;
    this.#text = text;
  }

  /** Returns the bindings of the names when the node matches; null when it does not. @throws PatternFault */
  match(node: Node): Bindings | null {
    return this.#node(this.#pattern, node, new Map());
  }

  #node(pattern: PatternNode, node: Node, bound: Bindings): Bindings | null {
    this.#steps += 1;
    if (this.#steps > maxSteps) throw new PatternFault('it takes too many comparisons: use fewer $$$');
    const { meta } = pattern;
    if (meta !== null) return node.isNamed ? this.#bind(meta.name, { start: node.startIndex, end: node.endIndex }, bound) : null;
    if (pattern.kind !== node.type) return null;
    if (pattern.children.length === 0) return pattern.text === node.text ? bound : null;
    return this.#list(pattern.children, childrenOf(node), bound);
  }

  #list(patterns: readonly PatternNode[], nodes: readonly Node[], bound: Bindings): Bindings | null {
    const [first, ...rest] = patterns;
    if (first === undefined) return nodes.length === 0 ? bound : null;
    if (first.meta?.many !== true) {
      const [node, ...others] = nodes;
      const next = node === undefined ? null : this.#node(first, node, bound);
      return next === null ? null : this.#list(rest, others, next);
    }
    for (let taken = 0; taken <= nodes.length; taken++) {
      this.#steps += 1;
      if (nodes.slice(0, taken).some((node) => !node.isNamed)) return null;
      const next = this.#bind(first.meta.name, rangeOf(nodes.slice(0, taken)), bound);
      const whole = next === null ? null : this.#list(rest, nodes.slice(taken), next);
      if (whole !== null) return whole;
    }
    return null;
  }

  /** Equal names must be bound to equal text. */
  #bind(name: string, range: Range, bound: Bindings): Bindings | null {
    if (name === '' || name === '_') return bound;
    const known = bound.get(name);
    if (known === undefined) return new Map(bound).set(name, range);
    return this.#text.slice(known.start, known.end) === this.#text.slice(range.start, range.end) ? bound : null;
  }
}

function rangeOf(nodes: readonly Node[]): Range {
  return { start: nodes[0]?.startIndex ?? 0, end: nodes.at(-1)?.endIndex ?? 0 };
}

const part = /\$\$\$([A-Z_][A-Z0-9_]*)|\$([A-Z_][A-Z0-9_]*)/g;

/** @throws PatternFault when a rewrite names what the pattern does not bind */
function assertBound(rewrite: string, pattern: string): void {
  const bound = new Set([...pattern.matchAll(part)].map(([, many, one]) => many ?? one));
  for (const [whole, many, one] of rewrite.matchAll(part)) {
    const name = many ?? one ?? '_';
    if (name === '_' || !bound.has(name)) throw new PatternFault(`the rewrite has ${whole}, which the pattern does not bind`);
  }
}

/**
 * The text that takes the place of a match. Lines after the first of the rewrite are indented like the match's line;
 * bound text is inserted unchanged. A comma beside a name that is bound to nothing is removed.
 *
 * @param indent white space at the beginning of the line on which the match begins
 */
function fill(rewrite: string, valueOf: (name: string) => string, indent: string): string {
  let result = '';
  let at = 0;
  const literal = (text: string): string => text.replaceAll('\n', `\n${indent}`);
  for (const found of rewrite.matchAll(part)) {
    result += literal(rewrite.slice(at, found.index));
    at = found.index + found[0].length;
    const value = valueOf(found[1] ?? found[2] ?? '');
    result += value;
    if (value !== '' || found[1] === undefined) continue;
    const trailing = /^\s*,\s*/.exec(rewrite.slice(at));
    if (/,\s*$/.test(result)) result = result.replace(/,\s*$/, '');
    else at += trailing?.[0].length ?? 0;
  }
  return result + literal(rewrite.slice(at));
}

/** A structural edit of one text. */
export interface RewriteJob {
  readonly grammar: AstLanguage;
  readonly text: string;
  readonly pattern: string;
  readonly rewrite: string;
  readonly max: number;
}

/** The new text and the changes, or the fault of the pattern. */
export type Rewritten =
  | { readonly fault: string }
  | {
      readonly text: string;
      readonly matches: number;
      readonly replaced: number;
      readonly snippets: readonly { readonly line: number; readonly before: string; readonly after: string }[];
    };

interface Match {
  readonly start: number;
  readonly end: number;
  readonly line: number;
  readonly bound: Bindings;
}

/** Replaces all matches, in document order; only the matched ranges change. Pure but for the parser; runs in its thread. */
export function rewriteTree(job: RewriteJob, parse: ParseText): Rewritten {
  try {
    const pattern = parsePattern(job.pattern, job.grammar, parse);
    assertBound(job.rewrite, job.pattern);
    const matcher = new Matcher(pattern, job.text);
    const tree = parse(job.text);
    try {
      const matches = matchesOf(tree.rootNode.descendantsOfType(pattern.kind), matcher, job.pattern.trimEnd().endsWith(';'));
      return replaceAll(job, matches);
    } finally {
      tree.delete();
    }
  } catch (error) {
    if (error instanceof PatternFault) return { fault: error.message };
    throw error;
  }
}

/** Returns matches that are not nested in one another; the outer one is first in document order. */
function matchesOf(nodes: readonly Node[], matcher: Matcher, semicolon: boolean): readonly Match[] {
  const matches: Match[] = [];
  let end = 0;
  for (const node of nodes) {
    if (node.startIndex < end) continue;
    const bound = matcher.match(node);
    if (bound === null) continue;
    matches.push({ start: node.startIndex, end: endOf(node, semicolon), line: node.startPosition.row + 1, bound });
    end = node.endIndex;
    if (matches.length > astBounds.matches) throw new PatternFault(`it matches more than ${astBounds.matches} times`);
  }
  return matches;
}

/** A semicolon that a pattern does not have stays, although it belongs to the node. */
function endOf(node: Node, semicolon: boolean): number {
  const last = node.lastChild;
  return !semicolon && last?.type === ';' ? last.startIndex : node.endIndex;
}

function replaceAll({ text, rewrite, max }: RewriteJob, matches: readonly Match[]): Rewritten {
  const snippets: { line: number; before: string; after: string }[] = [];
  const parts: string[] = [];
  const chosen = matches.slice(0, max);
  let at = 0;
  for (const { start, end, line, bound } of chosen) {
    const valueOf = (name: string): string => {
      const range = bound.get(name);
      return range === undefined ? '' : text.slice(range.start, range.end);
    };
    const after = fill(rewrite, valueOf, indentAt(text, start));
    parts.push(text.slice(at, start), after);
    at = end;
    if (snippets.length < astBounds.snippets) snippets.push({ line, before: shown(text.slice(start, end)), after: shown(after) });
  }
  parts.push(text.slice(at));
  return { text: parts.join(''), matches: matches.length, replaced: chosen.length, snippets };
}

function indentAt(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at);
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

function shown(text: string): string {
  return text.length <= astBounds.snippetChars ? text : `${text.slice(0, astBounds.snippetChars).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
