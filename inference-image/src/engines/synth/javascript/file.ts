import { Names, type Kind, type NameInfo, boundNames } from './names.ts';
import { types, unwrap, type SyntaxNode, functionOf, isFunction } from './syntax.ts';
import { kindOf } from './kinds.ts';
import type { NodeLines } from '../language.ts';

export interface FunctionInfo {
  readonly name: string;
  /** Plain names of the parameters in order; '' for a pattern. */
  readonly parameters: readonly string[];
  readonly isAsync: boolean;
  readonly node: SyntaxNode;
}

/** A parsed file and what operators ask of it; every answer is computed once. */
export class ScriptFile {
  readonly source: string;
  readonly root: SyntaxNode;
  readonly newline: string;
  /** What ends a statement here: most files have semicolons, some have none. */
  readonly end: string;
  readonly #names: Names;
  readonly #texts = new Map<string, ReadonlyMap<string, number>>();
  #functions: ReadonlyMap<string, FunctionInfo> | null = null;
  #step: string | null = null;

  constructor(source: string, root: SyntaxNode) {
    this.source = source;
    this.root = root;
    this.newline = source.includes('\r\n') ? '\r\n' : '\n';
    this.end = /;[ \t]*(\r?\n|$)/.test(source) ? ';' : '';
    this.#names = new Names(root);
  }

  names(node: SyntaxNode): readonly NameInfo[] {
    return this.#names.at(node);
  }

  /** Values of the innermost function that are set before the node. */
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

  /** Distinct texts of all nodes of a type with how often each occurs, in the order of the file. */
  texts(type: string): ReadonlyMap<string, number> {
    const known = this.#texts.get(type) ?? this.#count(type);
    this.#texts.set(type, known);
    return known;
  }

  /** Functions and methods of this file by name; of two with one name the last. */
  get functions(): ReadonlyMap<string, FunctionInfo> {
    this.#functions ??= this.#findFunctions();
    return this.#functions;
  }

  /** White space before the line of a statement. */
  indent(statement: SyntaxNode): string {
    const line = this.source.lastIndexOf('\n', statement.start - 1) + 1;
    return /^[ \t]*/.exec(this.source.slice(line, statement.start))?.[0] ?? '';
  }

  /** One level of indentation: that of the first line which has any. */
  get step(): string {
    this.#step ??= /^(\t| {2,8})(?=\S)/m.exec(this.source.replaceAll(/^ \*.*$/gm, ''))?.[1] ?? '  ';
    return this.#step;
  }

  /** A statement that runs another one on a condition, in as many lines as fit. */
  when(condition: string, statement: string): string {
    const text = statement.endsWith(';') || this.end === '' || statement.endsWith('}') ? statement : `${statement};`;
    return `if (${condition}) ${text}`;
  }

  /** True when nothing else shares the lines of the statement. */
  ownsLines(statement: SyntaxNode): boolean {
    const line = this.source.lastIndexOf('\n', statement.start - 1) + 1;
    const newline = this.source.indexOf('\n', statement.end);
    const rest = this.source.slice(statement.end, newline === -1 ? this.source.length : newline).trim();
    return this.source.slice(line, statement.start).trim() === '' && (rest === '' || rest.startsWith('//'));
  }

  #count(type: string): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const node of this.root.walk(types)) if (node.type === type) counts.set(node.text, (counts.get(node.text) ?? 0) + 1);
    return counts;
  }

  #findFunctions(): ReadonlyMap<string, FunctionInfo> {
    const functions = new Map<string, FunctionInfo>();
    for (const node of this.root.walk(types)) {
      const isDeclared = /^(generator_)?function_declaration$|^method_definition$/.test(node.type);
      const value = node.type === 'variable_declarator' ? node.child('value') : null;
      const definition = isDeclared ? node : value !== null && /^(arrow_function|function_expression)$/.test(value.type) ? value : null;
      const name = node.child('name')?.text;
      if (definition === null || name === undefined) continue;
      const isAsync = definition.children.some((child) => child.type === 'async');
      functions.set(name, { name, parameters: parametersOf(definition), isAsync, node: definition });
    }
    return functions;
  }
}

/** Names of the parameters in order; '' for a pattern, none for what a rest parameter takes. */
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
  if (isFunction(unit) && unit !== node) return bodyStart(unit, node);
  if (isFunction(unit)) return bodyStart(unit, unit);
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

/** A function stands for the first lines that run when it is called; what is in its head for its own too. */
function bodyStart(unit: SyntaxNode, node: SyntaxNode): NodeLines {
  const body = unit.child('body');
  const first = body?.type === 'statement_block' ? (body.namedChildren[0] ?? body) : (body ?? unit);
  const from = node === unit ? first.row : Math.min(node.row, first.row);
  return { from: from + 1, to: first.row + 1, global: false };
}
