import { isRead } from '../names.ts';
import type { ScriptFile } from '../file.ts';
import { brief, type Operator, type Proposal } from '../operator.ts';
import { types, type SyntaxNode } from '../syntax.ts';

/** A statement that must run only when what it needs is there: `if (stack.length > 0) stack.pop();`. */
export const guardStatement: Operator = {
  name: 'guard-statement',
  prior: 0.45,
  on: ['expression_statement', 'throw_statement', 'return_statement', 'break_statement'],
  *propose(node, file) {
    if (node.text.includes('\n')) return;
    const names = new Map<string, string>();
    for (const inner of node.walk(types)) {
      const info = isRead(inner) ? file.names(node).find((known) => known.name === inner.text) : undefined;
      if (info !== undefined && info.kind !== 'function') names.set(info.name, info.kind);
    }
    for (const [name, kind] of names) {
      const isList = kind === 'array' || kind === 'string';
      yield when(node, file, isList ? `${name}.length > 0` : name, 1);
      yield when(node, file, isList ? `${name}.length === 0` : `!${name}`, 0.3);
      yield when(node, file, `${name} !== undefined`, 0.5);
      if (!isList) yield when(node, file, `${name} > 0`, 0.2);
    }
    yield* lookups(node, file);
  },
};

/** A key or element must be there, or not yet. */
function* lookups(node: SyntaxNode, file: ScriptFile): Generator<Proposal> {
  for (const inner of node.walk(types)) {
    const [object, key] = [inner.child('object')?.text, inner.child('index')];
    if (inner.type === 'subscript_expression' && object !== undefined && key !== null && key.type !== 'number') {
      yield when(node, file, `${key.text} in ${object}`, 0.5);
      yield when(node, file, `!(${key.text} in ${object})`, 0.6);
    }
    const method = inner.child('function');
    const [first] = inner.child('arguments')?.namedChildren ?? [];
    if (inner.type !== 'call_expression' || method?.type !== 'member_expression' || first === undefined || first.text.length > 40) continue;
    const list = method.child('object')?.text ?? '';
    const called = method.child('property')?.text ?? '';
    if (called === 'push') yield when(node, file, `!${list}.includes(${first.text})`, 0.8);
    if (called === 'set') yield when(node, file, `!${list}.has(${first.text})`, 1);
  }
}

function when(node: SyntaxNode, file: ScriptFile, condition: string, weight: number): Proposal {
  const edits = [{ start: node.start, end: node.end, after: file.when(condition, node.text) }];
  return { edits, weight, rationale: `run ${brief(node.text)} only if ${brief(condition)}` };
}
