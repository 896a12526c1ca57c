import type { TreeCursor } from 'web-tree-sitter';

/** One node of a syntax tree as plain data; offsets are UTF-16 units of the parsed text. */
export interface Node {
  readonly type: string;
  readonly field: string | null;
  readonly named: boolean;
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly children: readonly Node[];
}

/** Deeper trees are refused: all walks are recursive. */
export const maxDepth = 150;

/** Copies the tree under a cursor, so that the parser's own memory is freed at once. Null when it is too deep. */
export function copy(cursor: TreeCursor, source: string, depth = 0): Node | null {
  if (depth > maxDepth) return null;
  const { nodeType: type, nodeIsNamed: named, currentFieldName: field, startIndex: start, endIndex: end } = cursor;
  const children: Node[] = [];
  let more = cursor.gotoFirstChild();
  const inside = more;
  while (more) {
    const child = copy(cursor, source, depth + 1);
    if (child === null) return null;
    children.push(child);
    more = cursor.gotoNextSibling();
  }
  if (inside) cursor.gotoParent();
  return { type, field: field ?? null, named, start, end, text: source.slice(start, end), children };
}

export function named(node: Node): readonly Node[] {
  return node.children.filter((child) => child.named && child.type !== 'comment');
}

/** Nodes that touch are one word to the shell, whatever the grammar makes of them. */
export function joinTouching(nodes: readonly Node[]): readonly Node[] {
  const out: Node[] = [];
  for (const node of nodes) {
    const last = out.at(-1);
    if (last === undefined || last.end !== node.start) out.push(node);
    else {
      const children = last.type === 'concatenation' && last.field === 'joined' ? last.children : [last];
      out[out.length - 1] = {
        ...last,
        type: 'concatenation',
        field: 'joined',
        end: node.end,
        text: last.text + node.text,
        children: [...children, node],
      };
    }
  }
  return out;
}

export function child(node: Node, field: string): Node | null {
  return node.children.find((one) => one.field === field && one.named) ?? null;
}

/** The node and all below it, parents first. */
export function* walk(node: Node): Generator<Node> {
  yield node;
  for (const below of node.children) yield* walk(below);
}
