import { replace, type Weighed, weighed, brief, insertBefore, insertAfter, guarded, firsts, withUsual } from '../language/forms.ts';
import type { Proposal } from '../language/language.ts';
import type { PythonFile } from './file.ts';
import { parametersOf } from './file.ts';
import { isRead, functionOf } from './names.ts';
import { type Operator, bracketed } from './operator.ts';
import type { SyntaxNode } from '../language/syntax.ts';

const mostConditions = 8;

/** A condition that forgets a case: one more thing that must hold, or that suffices. */
const addCondition: Operator = {
  name: 'add-condition',
  prior: 0.3,
  on: ['if_statement', 'elif_clause', 'while_statement'],
  *propose(node, file) {
    const condition = node.child('condition');
    if (condition === null) return;
    const text =
      condition.type === 'boolean_operator' && condition.children.some((child) => child.type === 'or')
        ? `(${condition.text})`
        : condition.text;
    for (const { name, kind } of file.locals(condition).slice(0, mostConditions)) {
      yield replace(condition, `${name} and ${text}`, kind === 'number' ? 0.3 : 1);
      yield replace(condition, `${text} and not ${name}`, 0.5);
      yield replace(condition, `not ${name} or ${bracketed(condition)}`, 0.4);
      yield replace(condition, `${name} is not None and ${text}`, 0.4);
      if (kind === 'number') yield replace(condition, `${text} and ${name} > 0`, 0.4);
    }
  },
};

/** A `not` that is missing or too much. */
const negation: Operator = {
  name: 'negation',
  prior: 0.7,
  on: [
    'not_operator',
    'if_statement',
    'elif_clause',
    'while_statement',
    'conditional_expression',
    'boolean_operator',
    'return_statement',
    'if_clause',
  ],
  *propose(node) {
    if (node.type === 'not_operator') {
      const argument = node.child('argument') ?? node.namedChildren[0];
      if (argument !== undefined) yield replace(node, argument.text);
      return;
    }
    for (const condition of negated(node)) {
      if (condition.type === 'not_operator' || condition.type === 'true') continue;
      yield replace(condition, `not ${bracketed(condition)}`, negationWeight(condition, node));
    }
  },
};

/** Comparisons have their own operator; a returned expression is seldom a truth value. */
function negationWeight(condition: SyntaxNode, holder: SyntaxNode): number {
  if (condition.type === 'comparison_operator') return 0.3;
  return holder.type === 'return_statement' && condition.type !== 'boolean_operator' ? 0.2 : 1;
}

function negated(node: SyntaxNode): readonly SyntaxNode[] {
  if (node.type === 'boolean_operator') return node.namedChildren;
  const named = node.namedChildren;
  if (node.type === 'conditional_expression') return named.slice(1, 2);
  if (node.type === 'return_statement') return named.filter((child) => child.type !== 'integer' && child.type !== 'string').slice(0, 1);
  const condition = node.child('condition') ?? named[0];
  return condition === undefined ? [] : [condition];
}

const simple = ['expression_statement', 'delete_statement', 'raise_statement', 'return_statement', 'break_statement'];

/** A statement that must run only under a condition: `if stack: stack.pop()`. */
const guardStatement: Operator = {
  name: 'guard-statement',
  prior: 0.45,
  on: simple,
  *propose(node, file) {
    if (!file.startsLine(node) || node.text.includes('\n')) return;
    const names = new Set<string>();
    for (const inner of node.walk())
      if (isRead(inner) && file.names(node).some((info) => info.name === inner.text && info.kind !== 'callable')) names.add(inner.text);
    for (const name of names) {
      yield wrap(node, file, name, 1);
      yield wrap(node, file, `not ${name}`, 0.3);
      yield wrap(node, file, `${name} is not None`, 0.5);
      yield wrap(node, file, `${name} > 0`, 0.2);
    }
    for (const inner of node.walk()) {
      if (inner.type !== 'subscript') continue;
      const [object, key] = [inner.child('value')?.text, inner.child('subscript')];
      if (object === undefined || key === null || key.type === 'slice' || key.type === 'integer') continue;
      yield wrap(node, file, `${key.text} in ${object}`, 0.8);
      yield wrap(node, file, `${key.text} not in ${object}`, 0.6);
    }
  },
};

function wrap(node: SyntaxNode, file: PythonFile, condition: string, weight: number): Proposal {
  return guarded(node, `if ${condition}:${file.newline}${file.deeper(node)}${node.text}`, condition, weight);
}

/** A missing guard at the start: `if not items: return …` with the function's return value elsewhere. */
const baseCase: Operator = {
  name: 'base-case',
  prior: 0.5,
  on: ['function_definition'],
  *propose(node, file) {
    const first = node.child('body')?.namedChildren.find((statement, at) => at > 0 || !isDocstring(statement));
    if (first === undefined) return;
    const returned = returnedValues(node);
    for (const name of parametersOf(node)) {
      const guards = [`not ${name}`, `${name} is None`, `${name} <= 0`, `${name} == 0`, `len(${name}) <= 1`, `${name} == []`];
      for (const [rank, guard] of guards.entries()) {
        for (const [value, weight] of [...returned, [name, 0.3] as const]) {
          yield insertBefore(
            file,
            first,
            `if ${guard}:\n${file.deeper(first).slice(file.indent(first).length)}return ${value}`,
            weight / (1 + rank),
          );
        }
      }
    }
  },
};

function isDocstring(statement: SyntaxNode): boolean {
  return statement.type === 'expression_statement' && statement.namedChildren[0]?.type === 'string';
}

const usual = weighed('0 0.4', '[] 0.3', 'None 0.4', 'False 0.25', 'True 0.2', '1 0.3', "'' 0.2", '{} 0.15', ' 0.1');

/** Simple values that the function returns or starts from, then the usual ones. */
function returnedValues(node: SyntaxNode): Weighed {
  const own = firsts(node, (inner) => {
    const value = inner.type === 'return_statement' && functionOf(inner) === node ? inner.namedChildren[0] : undefined;
    return /^(integer|float|string|list|dictionary|none|true|false)$/.test(value?.type ?? '') ? value?.text : undefined;
  });
  return withUsual(own.keys(), usual);
}

const mostBranches = 8;

/** A case that is missing or that should exclude the one before it. */
const elseBranch: Operator = {
  name: 'else-branch',
  prior: 0.35,
  on: ['if_statement'],
  *propose(node, file) {
    const siblings = node.parent?.namedChildren ?? [];
    const before = siblings[siblings.indexOf(node) - 1];
    const keyword = node.children[0];
    if (keyword !== undefined && before?.type === 'if_statement' && !before.children.some((child) => child.type === 'else_clause')) {
      yield replace(keyword, 'elif', 1, `make ${brief(node.text)} exclude the case before`);
    }
    for (const clause of node.children) {
      const word = clause.type === 'elif_clause' ? clause.children[0] : undefined;
      if (word !== undefined) yield replace(word, 'if', 0.6, 'test the second case on its own');
    }
    if (node.children.some((child) => child.type === 'else_clause')) return;
    const indent = file.indent(node);
    const deeper = file.deeper(node).slice(indent.length);
    for (const text of [...branches(node).keys()].slice(0, mostBranches)) yield insertAfter(file, node, `else:\n${deeper}${text}`, 0.6);
  },
};

function branches(node: SyntaxNode): ReadonlyMap<string, SyntaxNode> {
  return firsts(functionOf(node), (inner) => {
    const simple = /^(expression|break|continue|return)_statement$/.test(inner.type) && inner.parent?.type === 'block';
    return simple && !inner.text.includes('\n') && inner.namedChildren[0]?.type !== 'string' ? inner.text : undefined;
  });
}

/** Operators of this file. */
export const conditions: readonly Operator[] = [addCondition, negation, guardStatement, baseCase, elseBranch];
