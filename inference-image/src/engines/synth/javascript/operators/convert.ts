import { isRead } from '../names.ts';
import { bracketed, isValue, replace, type Operator, type Proposal } from '../operator.ts';
import type { ScriptFile } from '../file.ts';
import { argumentsOf, calledName, receiverOf, type SyntaxNode } from '../syntax.ts';

const around: readonly (readonly [string, number])[] = [
  ['Number', 0.6],
  ['String', 0.5],
  ['Math.abs', 0.3],
  ['Math.floor', 0.4],
  ['Math.round', 0.3],
  ['Math.ceil', 0.2],
  ['Boolean', 0.15],
  ['Object.keys', 0.15],
  ['Object.values', 0.1],
  ['Array.from', 0.15],
  ['new Set', 0.2],
  ['parseInt', 0.1],
];
const after: readonly (readonly [string, number])[] = [
  ['.trim()', 0.3],
  ['.toLowerCase()', 0.3],
  ['.length', 0.3],
  ['.flat()', 0.2],
  ['.toString()', 0.1],
];
/** Kinds that an ending is for. */
const wanted: Readonly<Record<string, string>> = { '.trim()': 'string', '.toLowerCase()': 'string', '.flat()': 'array' };

/** A value of the wrong type: a missing or needless conversion, for one value or for each of a list. */
export const convert: Operator = {
  name: 'convert',
  prior: 0.3,
  on: ['identifier', 'call_expression', 'subscript_expression', 'member_expression', 'binary_expression'],
  *propose(node, file) {
    if (node.type === 'call_expression') yield* unconverted(node);
    if (!isValue(node) || (node.type === 'identifier' && !isRead(node))) return;
    const kind = file.kind(node);
    if (node.type === 'binary_expression' && (kind !== 'number' || /^[<>!=]/.test(node.children[1]?.type ?? ''))) return;
    const share = node.type === 'binary_expression' && node.children[1]?.type === '/' ? 2 : 1;
    for (const [name, weight] of around) {
      if (node.text.startsWith(`${name}(`) || (kind === 'number' && name === 'Number')) continue;
      if ((kind === 'array' || kind === 'string') && name.startsWith('Math')) continue;
      yield replace(node, `${name}(${node.text})`, weight * share * (name.startsWith('Math') && kind === 'number' ? 1.5 : 1));
    }
    yield* ended(node, file);
  },
};

function* ended(node: SyntaxNode, file: ScriptFile): Generator<Proposal> {
  const kind = file.kind(node);
  if (kind === 'number' || kind === 'boolean') return;
  for (const [ending, weight] of after) {
    if (node.text.endsWith(ending) || (kind !== 'unknown' && wanted[ending] !== undefined && wanted[ending] !== kind)) continue;
    yield replace(node, `${bracketed(node)}${ending}`, weight);
  }
  if (node.type === 'call_expression' && /^(split|match)$/.test(calledName(node)?.text ?? '')) {
    yield replace(node, `${node.text}.map(Number)`, 2);
    yield replace(node, `${node.text}.map((part) => part.trim())`, 0.8);
    yield replace(node, `${node.text}.filter((part) => part !== '')`, 0.8);
  }
}

/** Takes a conversion away, or gives it the base that it needs. */
function* unconverted(node: SyntaxNode): Generator<Proposal> {
  const [first, ...rest] = argumentsOf(node);
  const callee = node.child('function');
  if (
    first !== undefined &&
    rest.length === 0 &&
    callee !== null &&
    /^(Number|String|Boolean|parseInt|parseFloat|Math\.\w+|Array\.from)$/.test(callee.text)
  )
    yield replace(node, first.text, 0.6);
  const object = receiverOf(node);
  if (object !== null && first === undefined) yield replace(node, object.text, 0.4);
  if (first?.text === 'parseInt' && calledName(node)?.text === 'map') yield replace(first, '(part) => parseInt(part, 10)', 3);
  if (callee?.text === 'parseInt' && rest.length === 0 && first !== undefined) yield replace(first, `${first.text}, 10`, 0.4);
}
