import { replace, type Weighed, weighed, brief, insertBefore, insertAfter, guarded, firsts, withUsual } from '../language/forms.ts';
import type { Proposal } from '../language/language.ts';
import type { ScriptFile } from './file.ts';
import { parametersOf } from './file.ts';
import { isRead } from './names.ts';
import { type Operator, bracketed } from './operator.ts';
import { types, functionOf, isListed, siblingsOf, signOf, unwrap, conditionOf, type SyntaxNode } from './syntax.ts';

const mostConditions = 8;

/** A condition that forgets a case: one more thing that must hold, or that suffices. */
const addCondition: Operator = {
  name: 'add-condition',
  prior: 0.3,
  on: ['if_statement', 'while_statement', 'for_statement', 'ternary_expression'],
  *propose(node, file) {
    const condition = conditionOf(node);
    if (condition === null) return;
    const isOr = condition.children.some((child) => child.type === '||' || child.type === '??');
    const text = isOr || condition.type === 'ternary_expression' ? `(${condition.text})` : condition.text;
    for (const { name, kind } of file.locals(condition).slice(0, mostConditions)) {
      if (kind === 'array' || kind === 'string') yield replace(condition, `${name}.length > 0 && ${text}`, 0.8);
      yield replace(condition, `${name} && ${text}`, kind === 'number' || kind === 'array' ? 0.3 : 0.8);
      yield replace(condition, `${text} && !${name}`, 0.4);
      yield replace(condition, `!${name} || ${bracketed(condition)}`, 0.4);
      yield replace(condition, `${name} !== undefined && ${text}`, 0.4);
      if (kind === 'number') yield replace(condition, `${text} && ${name} > 0`, 0.4);
      if (kind === 'number') yield replace(condition, `${text} && ${name} >= 0`, 0.2);
    }
  },
};

/** A `!` that is missing or too much. */
const negation: Operator = {
  name: 'negation',
  prior: 0.7,
  on: [
    'unary_expression',
    'if_statement',
    'while_statement',
    'do_statement',
    'ternary_expression',
    'binary_expression',
    'return_statement',
    'arrow_function',
  ],
  *propose(node) {
    if (node.type === 'unary_expression') {
      const argument = node.child('argument');
      if (argument !== null && node.children[0]?.type === '!') yield replace(node, unwrap(argument).text);
      return;
    }
    for (const condition of negated(node)) {
      if (condition.type === 'unary_expression' || condition.type === 'true') continue;
      yield replace(condition, `!${bracketed(condition)}`, negationWeight(condition, node));
    }
  },
};

/** Comparisons have their own operator; a returned expression is seldom a truth value. */
function negationWeight(condition: SyntaxNode, holder: SyntaxNode): number {
  if (/^[<>!=]/.test(signOf(condition))) return 0.2;
  return /^(return_statement|arrow_function)$/.test(holder.type) ? 0.3 : 1;
}

function negated(node: SyntaxNode): readonly SyntaxNode[] {
  return truths(node).filter(
    ({ type }) => node.type === 'binary_expression' || !/^(statement_block|number|string|template_string|object|array)$/.test(type),
  );
}

/** The operands of a sign of logic; else what a node tests or returns. */
function truths(node: SyntaxNode): readonly SyntaxNode[] {
  if (node.type === 'binary_expression')
    return node.children.some((child) => /^(&&|\|\|)$/.test(child.type)) ? node.namedChildren.map(unwrap) : [];
  const value =
    node.type === 'return_statement' ? node.namedChildren[0] : node.type === 'arrow_function' ? node.child('body') : conditionOf(node);
  return value == null ? [] : [value];
}

/** A test for truth where 0, the empty text or an empty list are meant otherwise. */
const truthiness: Operator = {
  name: 'truthiness',
  prior: 0.6,
  on: ['if_statement', 'while_statement', 'ternary_expression', 'binary_expression', 'arrow_function', 'return_statement'],
  *propose(node, file) {
    for (const condition of truths(node).map(unwrap)) {
      const negated = condition.type === 'unary_expression' && condition.children[0]?.type === '!';
      const value = negated ? condition.child('argument') : condition;
      if (value === null || !/^(identifier|member_expression|subscript_expression|call_expression)$/.test(value.type)) continue;
      const weight = node.type === 'return_statement' || node.type === 'arrow_function' ? 0.3 : 1;
      for (const [after, share] of tests(value, negated, file)) yield replace(condition, after, weight * share);
    }
  },
};

function tests(value: SyntaxNode, negated: boolean, file: ScriptFile): readonly (readonly [string, number])[] {
  const kind = file.kind(value);
  const [same, more] = negated ? ['===', '==='] : ['!==', '>'];
  const absent: [string, number][] = [
    [`${value.text} ${same} undefined`, 1],
    [`${value.text} ${negated ? '==' : '!='} null`, 0.6],
    [`${value.text} ${same} null`, 0.5],
  ];
  const list: [string, number][] = [[`${value.text}.length ${more} 0`, 1]];
  if (kind === 'array') return list;
  if (kind === 'map' || kind === 'set') return [[`${value.text}.size ${more} 0`, 1]];
  if (kind === 'boolean') return [];
  return kind === 'unknown' ? [...absent, [`${value.text}.length ${more} 0`, 0.3]] : absent;
}

/** A statement that must run only under a condition: `if (stack.length > 0) stack.pop();`. */
const guardStatement: Operator = {
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
  return guarded(node, file.when(condition, node.text), condition, weight);
}

/** A missing guard at the start: `if (list.length === 0) return …;` with the function's return value elsewhere. */
const baseCase: Operator = {
  name: 'base-case',
  prior: 0.5,
  on: ['function_declaration', 'function_expression', 'arrow_function', 'method_definition'],
  *propose(node, file) {
    const body = node.child('body');
    const first = body?.type === 'statement_block' ? body.namedChildren[0] : undefined;
    if (first === undefined) return;
    const returned = returnedValues(node);
    for (const name of parametersOf(node).filter((name) => name !== '')) {
      for (const [rank, guard] of guards(name, node, file).entries()) {
        for (const [value, weight] of [...returned, [name, 0.3] as const]) {
          const statement = value === '' ? 'return' : `return ${value}`;
          yield insertBefore(file, first, `if (${guard}) ${statement}${file.end}`, weight / (1 + rank));
        }
      }
    }
  },
};

function guards(name: string, node: SyntaxNode, file: ScriptFile): readonly string[] {
  const inside = node.child('body') ?? node;
  const kind = file.names(inside).find((info) => info.name === name)?.kind ?? 'unknown';
  const absent = [`${name} === undefined`, `${name} === null`];
  if (kind === 'array' || kind === 'string') return [`${name}.length === 0`, `!${name}`, `${name}.length <= 1`, ...absent];
  if (kind === 'number') return [`${name} <= 0`, `${name} === 0`, `${name} <= 1`, `${name} < 0`, ...absent];
  if (kind === 'boolean') return [name, `!${name}`];
  return [`!${name}`, ...absent, `${name}.length === 0`, `${name} <= 0`, `Array.isArray(${name})`];
}

const usual = weighed('0 0.4', '[] 0.35', 'null 0.4', 'false 0.3', 'true 0.25', 'undefined 0.15', '1 0.2', "'' 0.25", '{} 0.15', ' 0.1');

/** Simple values that the function returns or starts from, then the usual ones. */
function returnedValues(node: SyntaxNode): Weighed {
  const own = firsts(node, (inner) => {
    const value = inner.type === 'return_statement' && functionOf(inner) === node ? inner.namedChildren[0] : undefined;
    const isSimple = /^(number|string|array|object|null|true|false|undefined)$/.test(value?.type ?? '');
    return value !== undefined && isSimple && value.text.length < 40 ? value.text : undefined;
  });
  return withUsual(own.keys(), usual);
}

const mostBranches = 8;

/** A case that is missing, that should exclude the one before it, or a `case` that runs into the next. */
const elseBranch: Operator = {
  name: 'else-branch',
  prior: 0.35,
  on: ['if_statement', 'switch_case'],
  *propose(node, file) {
    if (node.type === 'switch_case') {
      const last = node.namedChildren.at(-1);
      if (last !== undefined && isListed(last) && !/^(break|return|continue|throw)_/.test(last.type))
        yield insertAfter(file, last, `break${file.end}`, 3);
      return;
    }
    const siblings = isListed(node) ? siblingsOf(node) : [];
    const before = siblings[siblings.indexOf(node) - 1];
    if (before?.type === 'if_statement' && before.child('alternative') === null) {
      const rationale = `make ${brief(node.text)} exclude the case before`;
      yield { edits: [{ start: before.end, end: node.start, after: ' else ' }], weight: 1, rationale };
    }
    if (node.child('alternative') !== null) {
      yield* separate(node);
      return;
    }
    for (const text of [...branches(node).keys()].slice(0, mostBranches)) {
      const gap = node.child('consequence')?.type === 'statement_block' ? ' ' : `${file.newline}${file.indent(node)}`;
      yield {
        edits: [{ start: node.end, end: node.end, after: `${gap}else ${text}` }],
        weight: 0.6,
        rationale: `insert ${brief(`else ${text}`)}`,
      };
    }
  },
};

/** `else if` that should be tested separately. */
function* separate(node: SyntaxNode) {
  const clause = node.child('alternative');
  const inner = clause?.namedChildren[0];
  const body = node.child('consequence');
  if (clause == null || inner?.type !== 'if_statement' || body === null) return;
  yield { edits: [{ start: body.end, end: inner.start, after: '\n' }], weight: 0.5, rationale: 'test the second case on its own' };
}

function branches(node: SyntaxNode): ReadonlyMap<string, SyntaxNode> {
  const textOf = (inner: SyntaxNode): string | undefined => {
    const isSimple = /^(expression|break|continue|return)_statement$/.test(inner.type) && !inner.text.includes('\n');
    return isSimple && inner.namedChildren[0]?.type !== 'string' ? inner.text : undefined;
  };
  return firsts(functionOf(node), textOf, types);
}

/** Operators of this file. */
export const conditions: readonly Operator[] = [addCondition, negation, truthiness, guardStatement, baseCase, elseBranch];
