import { insertAfter, replace, type Operator, type Proposal } from '../operator.ts';
import type { ScriptFile } from '../file.ts';
import { calledName, functionOf, isExit, type SyntaxNode } from '../syntax.ts';

/** A value that is computed and dropped, a function that runs off its end, an arrow whose braces are a block. */
export const missingReturn: Operator = {
  name: 'missing-return',
  prior: 0.6,
  on: ['expression_statement', 'function_declaration', 'function_expression', 'arrow_function', 'method_definition'],
  *propose(node, file) {
    if (node.type === 'expression_statement') {
      const [value] = node.namedChildren;
      if (value === undefined || functionOf(node) === null || value.type === 'string') return;
      if (/_expression$|^identifier$/.test(value.type)) yield replace(node, `return ${node.text}`, weightOf(value));
      return;
    }
    const body = node.child('body');
    if (body?.type !== 'statement_block') {
      if (body !== null) yield* returned(node, body);
      return;
    }
    const last = body.namedChildren.at(-1);
    if (last === undefined || isExit(last)) return;
    yield* atEnd(file, last);
  },
};

function* atEnd(file: ScriptFile, last: SyntaxNode): Generator<Proposal> {
  const locals = file.names(last).filter((info) => info.local && info.kind !== 'function' && info.boundAt <= last.end);
  for (const info of locals) yield insertAfter(file, last, `return ${info.name}${file.end}`, info.declared === 'parameter' ? 0.5 : 0.8);
  for (const value of ['false', 'true', 'null']) yield insertAfter(file, last, `return ${value}${file.end}`, 0.3);
}

/** `(x) => (f(x), x)`: the value of a step is dropped for that of another. */
function* returned(node: SyntaxNode, body: SyntaxNode): Generator<Proposal> {
  const parameter = node.child('parameter') ?? node.child('parameters')?.namedChildren[0];
  const name = parameter?.child('pattern')?.text ?? parameter?.text;
  if (name !== undefined && /^\w+$/.test(name) && body.type === 'call_expression') yield replace(body, `(${body.text}, ${name})`, 0.1);
}

function weightOf(value: SyntaxNode): number {
  if (/assignment_expression$|^update_expression$/.test(value.type)) return 0.1;
  // A value that does nothing was meant to be returned.
  if (!/^(call|await|new|yield)_expression$/.test(value.type)) return 4;
  const mutation = /^(push|add|set|delete|sort|splice|unshift|shift|pop|log|forEach|clear|reverse|write|emit)$/;
  return value.type === 'call_expression' && mutation.test(calledName(value)?.text ?? '') ? 0.15 : 1;
}
