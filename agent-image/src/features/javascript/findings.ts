import { child, named, walk, type Node } from '../../rails/syntax/node.ts';
import { bindingsOf } from './bindings.ts';

const decisions = new Set([
  'if_statement',
  'ternary_expression',
  'for_statement',
  'for_in_statement',
  'while_statement',
  'do_statement',
  'catch_clause',
  'switch_case',
]);
const branching = new Set(['&&', '||', '??']);
const jumps = new Set(['return_statement', 'throw_statement', 'break_statement', 'continue_statement']);
const idle = new Set([
  'identifier',
  'binary_expression',
  'member_expression',
  'subscript_expression',
  'array',
  'number',
  'ternary_expression',
]);
const equalities = new Set(['==', '!=', '===', '!==']);
/** Operators whose right side acts or not, as statements like `ready && start()` have it. */
const steering = branching;

/** Cyclomatic complexity of a whole file: 1, and 1 for each decision. */
export function complexityOf(root: Node): number {
  return [...walk(root)].reduce((sum, node) => sum + Number(decisions.has(node.type) || branching.has(operatorOf(node))), 1);
}

/** What the usual linters hold against a file, of what is hardly ever meant. */
export function findingsOf(root: Node): number {
  return [...walk(root)].reduce((sum, node) => sum + wrong(node), 0) + unused(root);
}

const operatorOf = ({ type, children }: Node): string =>
  type === 'binary_expression' ? (children.find(({ field }) => field === 'operator')?.text ?? '') : '';
const text = (node: Node | null): string => node?.text ?? '';
const parts = (node: Node | null, wanted: string): readonly Node[] => node?.children.filter(({ type }) => type === wanted) ?? [];

/** How much is wrong with one node, without those below it. */
function wrong(node: Node): number {
  switch (node.type) {
    case 'program':
    case 'statement_block':
      return unreachable(named(node));
    case 'switch_statement':
      return repeated(parts(child(node, 'body'), 'switch_case').map((one) => text(child(one, 'value'))));
    case 'object':
      return repeated(parts(node, 'pair').map((one) => text(child(one, 'key'))));
    case 'binary_expression':
      return wrongComparison(node);
    case 'assignment_expression':
      return Number(text(child(node, 'left')) === text(child(node, 'right')));
    case 'parenthesized_expression':
      return Number(node.children.some(({ type }) => type === 'assignment_expression') && node.field === 'condition');
    case 'catch_clause':
      return Number(child(node, 'body')?.children.every(({ named: isNamed }) => !isNamed) === true);
    case 'expression_statement':
      return Number(node.children.some((one) => idle.has(one.type) && !steering.has(operatorOf(one))));
    default:
      return 0;
  }
}

/** Statements behind one that never goes on; functions stand anywhere. */
function unreachable(statements: readonly Node[]): number {
  return statements.filter(({ type }, at) => type !== 'function_declaration' && at > 0 && jumps.has(statements[at - 1]?.type ?? '')).length;
}

const repeated = (words: readonly string[]): number => words.length - new Set(words).size;

function wrongComparison(node: Node): number {
  const operator = operatorOf(node);
  if (!equalities.has(operator)) return 0;
  const [left, right] = [child(node, 'left'), child(node, 'right')];
  const sides = [text(left), text(right)];
  const simple = left?.type === 'identifier' || left?.type === 'member_expression';
  // `x == null` asks for undefined too, and is meant.
  const loose = operator.length === 2 && !sides.includes('null');
  return Number(loose) + Number(sides.includes('NaN')) + Number(simple && sides[0] === sides[1]);
}

/** Imports and variables that stand nowhere but where they are bound. */
function unused(root: Node): number {
  const times = new Map<string, number>();
  for (const { type, text: name } of walk(root))
    if (type === 'identifier' || type.startsWith('shorthand_property_identifier')) times.set(name, (times.get(name) ?? 0) + 1);
  const bound = [...walk(root)].flatMap((node) => {
    if (node.type === 'import_specifier') return [text(child(node, 'alias') ?? child(node, 'name'))];
    if (node.type === 'namespace_import' || node.type === 'import_clause')
      return node.children.flatMap((one) => (one.type === 'identifier' ? [one.text] : []));
    return node.type === 'lexical_declaration' ? variablesOf(node) : [];
  });
  const given = exportedNames(root);
  const counts = bindingsOf(root);
  return bound.filter((name) => counts.get(name) === 1 && times.get(name) === 1 && !name.startsWith('_') && !given.has(name)).length;
}

/** A declaration with one name; what is taken apart may be so for the sake of the rest. */
function variablesOf(node: Node): readonly string[] {
  return node.children.flatMap((one) => {
    const name = one.type === 'variable_declarator' ? child(one, 'name') : null;
    return name?.type === 'identifier' ? [name.text] : [];
  });
}

function exportedNames(root: Node): ReadonlySet<string> {
  const names = root.children.filter(({ type }) => type === 'export_statement').flatMap((one) => [...walk(one)]);
  return new Set(names.flatMap(({ type, text: name }) => (type === 'identifier' ? [name] : [])));
}
