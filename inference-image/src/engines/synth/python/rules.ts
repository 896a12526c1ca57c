import type { Node } from 'web-tree-sitter';
import type { SyntaxRules } from '../syntax/index.ts';

const loops = new Set(['for_statement', 'while_statement']);
const functions = new Set(['function_definition', 'lambda']);
const checked = ['block', 'break_statement', 'continue_statement', 'return_statement', 'yield'];

/** What the grammar lets through and Python does not: empty blocks, stray `break` and `return`. */
function isPlacedWell(node: Node): boolean {
  if (node.type === 'block') return node.namedChildren.some((child) => child.type !== 'comment');
  const jumps = node.type === 'break_statement' || node.type === 'continue_statement';
  for (let at = node.parent; at !== null; at = at.parent) {
    if (jumps && loops.has(at.type)) return true;
    if (functions.has(at.type)) return !jumps;
    if (at.type === 'class_definition') return false;
  }
  return false;
}

/** What Python asks beyond its grammar; a file that it would not compile is not repaired. */
export const rules: SyntaxRules = { checked, isPlacedWell, tolerant: false, local: false };
