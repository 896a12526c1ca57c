import { brief, replace, type Operator, type Proposal } from '../operator.ts';
import type { ScriptFile } from '../file.ts';
import type { SyntaxNode } from '../syntax.ts';

const byKind: Readonly<Record<string, readonly string[]>> = {
  number: ['0', '1'],
  string: ["''"],
  array: ['[]'],
  object: ['{}'],
  boolean: ['false', 'true'],
  unknown: ['0', '[]', '{}', "''", '1', 'false'],
};

/** A parameter that callers leave out, or a member of one, has no default, or a wrong one. */
export const defaultParameter: Operator = {
  name: 'default-parameter',
  prior: 0.4,
  on: ['formal_parameters', 'object_pattern'],
  *propose(node, file) {
    for (const child of node.namedChildren) yield* defaults(child, node, file);
  },
};

function* defaults(child: SyntaxNode, holder: SyntaxNode, file: ScriptFile): Generator<Proposal> {
  const pattern = child.child('pattern') ?? child;
  const isMember = child.type === 'shorthand_property_identifier_pattern';
  // A type stays between the name and the default.
  if (child.child('value') !== null || child.type === 'optional_parameter' || pattern.type === 'rest_pattern') return;
  if (pattern.type === 'object_pattern' && holder.type === 'formal_parameters') {
    yield added(child, '{}', 1);
    return;
  }
  if (!isMember && pattern.type !== 'identifier') return;
  const inside = holder.parent?.child('body') ?? holder;
  const kind = file.names(inside).find((info) => info.name === pattern.text)?.kind ?? 'unknown';
  for (const [rank, value] of (byKind[kind] ?? ['null']).entries()) yield added(child, value, 0.8 / (1 + rank));
}

function added(child: SyntaxNode, value: string, weight: number): Proposal {
  return replace(child, `${child.text} = ${value}`, weight, `let ${brief(child.text)} be \`${value}\` when it is left out`);
}
