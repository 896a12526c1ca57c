import type { Node } from 'web-tree-sitter';
import { childrenOf, PatternFault, type PatternNode } from './pattern.ts';

/** Names of a pattern with the range of text that they stand for. */
export type Bindings = ReadonlyMap<string, Range>;

/** Offsets into the file; equal ones for no nodes at all. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Comparisons of nodes for one edit: patterns with several `$$$` could else take for ever. */
const maxSteps = 300_000;

/** Compares trees with a pattern. The depth of the recursion is the pattern's. */
export class Matcher {
  readonly #pattern: PatternNode;
  readonly #text: string;
  #steps = 0;

  constructor(pattern: PatternNode, text: string) {
    this.#pattern = pattern;
    this.#text = text;
  }

  /** What the names stand for when the node matches; null when it does not. @throws PatternFault */
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

  /** The same name stands for the same text. */
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
