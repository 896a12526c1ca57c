/**
 * One node of a syntax tree as plain data: the parser's own tree lives outside the garbage
 * collector and is deleted at once. Offsets are UTF-16 units of the source, rows count from 0.
 */
export class SyntaxNode {
  readonly type: string;
  readonly named: boolean;
  /** Role in the parent, such as `condition`; null for most. */
  readonly field: string | null;
  readonly start: number;
  readonly end: number;
  readonly row: number;
  readonly column: number;
  readonly endRow: number;
  readonly parent: SyntaxNode | null;
  readonly children: readonly SyntaxNode[];
  readonly #source: string;

  constructor(source: string, parent: SyntaxNode | null, facts: NodeFacts) {
    this.#source = source;
    this.parent = parent;
    this.type = facts.type;
    this.named = facts.named;
    this.field = facts.field;
    this.start = facts.start;
    this.end = facts.end;
    this.row = facts.row;
    this.column = facts.column;
    this.endRow = facts.endRow;
    this.children = facts.children;
  }

  get text(): string {
    return this.#source.slice(this.start, this.end);
  }

  /** The named child with this role. */
  child(field: string): SyntaxNode | null {
    return this.children.find((child) => child.field === field && child.named) ?? null;
  }

  get namedChildren(): readonly SyntaxNode[] {
    return this.children.filter((child) => child.named && child.type !== 'comment');
  }

  /**
   * This node and all below it, parents first, in the order of the text.
   *
   * @param skipped types of nodes that are left out with all below them
   */
  *walk(skipped?: ReadonlySet<string>): Generator<SyntaxNode> {
    const open: SyntaxNode[] = [this];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (skipped?.has(node.type) === true) continue;
      yield node;
      for (let i = node.children.length - 1; i >= 0; i -= 1) open.push(node.children[i] as SyntaxNode);
    }
  }

  /** Nearest node above of one of the types. */
  ancestor(...types: readonly string[]): SyntaxNode | null {
    let node = this.parent;
    while (node !== null && !types.includes(node.type)) node = node.parent;
    return node;
  }
}

export interface NodeFacts {
  readonly type: string;
  readonly named: boolean;
  readonly field: string | null;
  readonly start: number;
  readonly end: number;
  readonly row: number;
  readonly column: number;
  readonly endRow: number;
  /** Filled while the tree is copied; never changed after. */
  readonly children: SyntaxNode[];
}

/** First descendant of the type, or the node itself. */
export function find(node: SyntaxNode, type: string): SyntaxNode | null {
  for (const inner of node.walk()) if (inner.type === type) return inner;
  return null;
}
