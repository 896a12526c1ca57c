import type { NodeLines } from '../language/language.ts';
import { SourceFile, type FunctionFacts } from '../language/sourceFile.ts';
import { kindOf } from './kinds.ts';
import { Names, type Kind, type NameInfo, boundNames } from './names.ts';
import { types, unwrap, type SyntaxNode, functionOf, isFunction } from './syntax.ts';

/** A function of a script; of its parameters '' for a pattern. */
interface ScriptFunction extends FunctionFacts {
  readonly isAsync: boolean;
}

/** A parsed file of JavaScript or TypeScript. */
export class ScriptFile extends SourceFile<NameInfo, ScriptFunction> {
  /** Most files have semicolons, some have none. */
  readonly end: string;
  readonly #names: Names;

  constructor(source: string, root: SyntaxNode) {
    super(source, root, types);
    this.end = /;[ \t]*(\r?\n|$)/.test(source) ? ';' : '';
    this.#names = new Names(root);
  }

  names(node: SyntaxNode): readonly NameInfo[] {
    return this.#names.at(node);
  }

  locals(node: SyntaxNode): readonly NameInfo[] {
    return this.names(node).filter((info) => info.local && info.boundAt <= node.start && info.kind !== 'function');
  }

  /** Kind of an expression, a name by its declaration and use. */
  kind(node: SyntaxNode): Kind {
    const inner = unwrap(node);
    const own = kindOf(inner);
    if (own !== 'unknown' || inner.type !== 'identifier') return own;
    return this.names(inner).find((info) => info.name === inner.text)?.kind ?? 'unknown';
  }

  /** A statement that runs another one on a condition, in as many lines as fit. */
  when(condition: string, statement: string): string {
    const text = statement.endsWith(';') || this.end === '' || statement.endsWith('}') ? statement : `${statement};`;
    return `if (${condition}) ${text}`;
  }

  /** True when the lines of the statement hold nothing else. */
  ownsLines(statement: SyntaxNode): boolean {
    const newline = this.source.indexOf('\n', statement.end);
    const rest = this.source.slice(statement.end, newline === -1 ? this.source.length : newline).trim();
    return this.startsLine(statement) && (rest === '' || rest.startsWith('//'));
  }

  protected definitionAt(node: SyntaxNode): ScriptFunction | null {
    const isDeclared = /^(generator_)?function_declaration$|^method_definition$/.test(node.type);
    const value = node.type === 'variable_declarator' ? node.child('value') : null;
    const definition = isDeclared ? node : value !== null && /^(arrow_function|function_expression)$/.test(value.type) ? value : null;
    const name = node.child('name')?.text;
    if (definition === null || name === undefined) return null;
    const isAsync = definition.children.some((child) => child.type === 'async');
    return { name, parameters: parametersOf(definition), isAsync, node: definition };
  }
}

/** Returns the names of the parameters in order; '' for a pattern, none for a rest parameter. */
export function parametersOf(definition: SyntaxNode): readonly string[] {
  const single = definition.child('parameter');
  const list = single === null ? (definition.child('parameters')?.namedChildren ?? []) : [single];
  return list.map((parameter) => {
    const pattern = parameter.child('pattern') ?? parameter;
    const names = [...boundNames(pattern)];
    return pattern.type === 'rest_pattern' || names.length !== 1 || /^(object|array)_pattern$/.test(pattern.type)
      ? ''
      : (names[0]?.text ?? '');
  });
}

/** The lines that speak for a node: its statement's, or the head of a statement with a body. */
export function lines(node: SyntaxNode): NodeLines {
  const unit = unitOf(node);
  if (isFunction(unit)) return bodyStart(unit, node);
  const global = functionOf(unit) === null;
  const body = blockOf(unit);
  if (body === null) return { from: unit.row + 1, to: unit.endRow + 1, global };
  return { from: unit.row + 1, to: Math.max(unit.row, body.row - 1) + 1, global };
}

/** The nearest statement, clause, member or arrow function's value that lines can be informed of. */
function unitOf(node: SyntaxNode): SyntaxNode {
  let at = node;
  while (at.parent !== null && !isUnit(at)) at = at.parent;
  return at;
}

function isUnit(node: SyntaxNode): boolean {
  if (node.parent?.type === 'arrow_function' && node.field === 'body') return node.type !== 'statement_block';
  if (isFunction(node)) return node.type !== 'arrow_function' || node.child('body')?.type === 'statement_block';
  if (node.type === 'lexical_declaration') return node.field !== 'initializer';
  return (
    /_(statement|declaration|definition)$/.test(node.type) ||
    ['else_clause', 'catch_clause', 'switch_case', 'switch_default', 'program'].includes(node.type)
  );
}

function blockOf(unit: SyntaxNode): SyntaxNode | null {
  const body = unit.child('body') ?? unit.child('consequence');
  if (body !== null) return body;
  return unit.children.find((child) => child.type === 'statement_block') ?? null;
}

/** For a function returns the first lines that run when it is called; for nodes in its head, their own too. */
function bodyStart(unit: SyntaxNode, node: SyntaxNode): NodeLines {
  const body = unit.child('body');
  const first = body?.type === 'statement_block' ? (body.namedChildren[0] ?? body) : (body ?? unit);
  const from = node === unit ? first.row : Math.min(node.row, first.row);
  return { from: from + 1, to: first.row + 1, global: false };
}
