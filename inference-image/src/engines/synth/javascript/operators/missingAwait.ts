import { bracketed, isValue, replace, type Operator } from '../operator.ts';
import type { ScriptFile } from '../file.ts';
import { calledName, functionOf, receiverOf, type SyntaxNode } from '../syntax.ts';

/** A promise that nobody waits for, or several that are waited for as if they were one. */
export const missingAwait: Operator = {
  name: 'missing-await',
  prior: 0.5,
  on: ['call_expression', 'identifier', 'await_expression'],
  *propose(node, file) {
    const around = functionOf(node);
    const mayWait = around === null || around.children.some((child) => child.type === 'async');
    if (node.type === 'await_expression') {
      const [value] = node.namedChildren;
      if (value !== undefined) yield replace(node, value.text, 0.1);
      if (value !== undefined && value.type !== 'call_expression') yield replace(value, `Promise.all(${value.text})`, 0.4);
      return;
    }
    if (node.parent?.type === 'await_expression') {
      if (calledName(node)?.text === 'map') yield replace(node, `Promise.all(${node.text})`, 2);
      return;
    }
    if (node.type === 'identifier') {
      if (
        mayWait &&
        around !== null &&
        isValue(node) &&
        /^(for_in_statement|return_statement|variable_declarator)$/.test(node.parent?.type ?? '')
      )
        yield replace(node, `await ${node.text}`, 0.2);
      return;
    }
    const weight = weightOf(node, file);
    if (!mayWait || around === null) return;
    yield replace(node, isReceiver(node) ? `(await ${node.text})` : `await ${node.text}`, weight);
    if (calledName(node)?.text === 'map')
      yield replace(node, `${isReceiver(node) ? '(' : ''}await Promise.all(${node.text})${isReceiver(node) ? ')' : ''}`, 1);
    yield* returned(node);
  },
};

function isReceiver(node: SyntaxNode): boolean {
  return node.field === 'object';
}

/** The promise of the last step is what the caller must wait for. */
function* returned(node: SyntaxNode): Generator<ReturnType<typeof replace>> {
  if (node.parent?.type === 'binary_expression') yield replace(node, `(await ${bracketed(node)})`, 0.2);
}

function weightOf(call: SyntaxNode, file: ScriptFile): number {
  const name = calledName(call)?.text ?? '';
  if (file.functions.get(name)?.isAsync === true) return 3;
  if (/^(load|fetch|read|write|save|send|get|run|close|wait|json|text)/.test(name)) return 1;
  const parameters = functionOf(call)?.child('parameters')?.text ?? '';
  const object = receiverOf(call)?.text ?? name;
  return parameters.includes(object) ? 0.8 : 0.2;
}
