import { insertAfter, replace, type Operator } from '../operator.ts';
import type { SyntaxNode } from '../syntax.ts';

/** A value that is computed and dropped, or a function that runs off its end. */
export const missingReturn: Operator = {
  name: 'missing-return',
  prior: 0.5,
  on: ['expression_statement', 'function_definition'],
  *propose(node, file) {
    if (node.type === 'expression_statement') {
      const [value] = node.namedChildren;
      if (value === undefined || node.ancestor('function_definition') === null) return;
      if (value.type === 'call') yield replace(node, `return ${value.text}`, isMutation(value) ? 0.1 : 1);
      if (value.type === 'comparison_operator' || value.type === 'identifier') yield replace(node, `return ${value.text}`);
      return;
    }
    const last = node.child('body')?.namedChildren.at(-1);
    if (last === undefined || ['return_statement', 'raise_statement'].includes(last.type)) return;
    const locals = file.names(last).filter((info) => info.local && info.kind !== 'callable');
    for (const info of locals) yield insertAfter(file, last, `return ${info.name}`, 0.8);
    for (const value of ['False', 'True', '0']) yield insertAfter(file, last, `return ${value}`, 0.4);
  },
};

function isMutation(call: SyntaxNode): boolean {
  return /\.(append|add|extend|update|pop|remove|insert|sort|clear|write|discard|setdefault)$/.test(call.child('function')?.text ?? '');
}
