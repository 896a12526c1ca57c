import { namesAt, type NameInfo, type ScopeCache } from './names.ts';
import { functionOf, type SyntaxNode, statementOf } from './syntax.ts';
import type { NodeLines } from '../language.ts';
import type { Node } from 'web-tree-sitter';
import type { SyntaxRules } from '../syntax/index.ts';

export interface FunctionInfo {
  readonly name: string;
  readonly parameters: readonly string[];
  readonly node: SyntaxNode;
}

/** A parsed file and what operators ask of it; every answer is computed once. */
export class PythonFile {
  readonly source: string;
  readonly root: SyntaxNode;
  readonly newline: string;
  readonly #names = new Map<SyntaxNode | null, readonly NameInfo[]>();
  readonly #scopes: ScopeCache = new Map();
  readonly #texts = new Map<string, ReadonlyMap<string, number>>();
  #functions: ReadonlyMap<string, FunctionInfo> | null = null;

  constructor(source: string, root: SyntaxNode) {
    this.source = source;
    this.root = root;
    this.newline = source.includes('\r\n') ? '\r\n' : '\n';
  }

  names(node: SyntaxNode): readonly NameInfo[] {
    const scope = functionOf(node);
    const known = this.#names.get(scope) ?? namesAt(node, this.#scopes);
    this.#names.set(scope, known);
    return known;
  }

  /** Distinct texts of all nodes of a type with how often each occurs, in the order of the file. */
  texts(type: string): ReadonlyMap<string, number> {
    const known = this.#texts.get(type) ?? this.#count(type);
    this.#texts.set(type, known);
    return known;
  }

  /** Functions of this file by name; of two with one name the last. */
  get functions(): ReadonlyMap<string, FunctionInfo> {
    this.#functions ??= this.#findFunctions();
    return this.#functions;
  }

  /** White space before a statement that starts its line. */
  indent(statement: SyntaxNode): string {
    const line = this.source.lastIndexOf('\n', statement.start - 1) + 1;
    return /^[ \t]*/.exec(this.source.slice(line, statement.start))?.[0] ?? '';
  }

  /** One level deeper than the statement. */
  deeper(statement: SyntaxNode): string {
    const indent = this.indent(statement);
    return `${indent}${indent.includes('\t') ? '\t' : '    '}`;
  }

  /** True when nothing else shares the statement's first line. */
  startsLine(statement: SyntaxNode): boolean {
    const line = this.source.lastIndexOf('\n', statement.start - 1) + 1;
    return this.source.slice(line, statement.start).trim() === '';
  }

  #count(type: string): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const node of this.root.walk()) if (node.type === type) counts.set(node.text, (counts.get(node.text) ?? 0) + 1);
    return counts;
  }

  #findFunctions(): ReadonlyMap<string, FunctionInfo> {
    const functions = new Map<string, FunctionInfo>();
    for (const node of this.root.walk()) {
      if (node.type !== 'function_definition') continue;
      const name = node.child('name')?.text ?? '';
      functions.set(name, { name, parameters: parametersOf(node), node });
    }
    return functions;
  }
}

/** Names of the parameters in order; star parameters and `self` are left out. */
export function parametersOf(definition: SyntaxNode): readonly string[] {
  const list = definition.child('parameters')?.namedChildren ?? [];
  const names = list.map((parameter) => {
    if (parameter.type === 'identifier') return parameter.text;
    if (parameter.type === 'typed_parameter') return parameter.namedChildren[0]?.text ?? '';
    return parameter.child('name')?.text ?? '';
  });
  return names.filter((name) => name !== '' && name !== 'self' && name !== 'cls' && !name.startsWith('*'));
}

/** The lines that speak for a node: its statement's, or the head of a statement with a body. */
export function lines(node: SyntaxNode): NodeLines {
  const statement = statementOf(node) ?? node;
  const body = statement.child('body') ?? statement.child('consequence') ?? statement.children.find((child) => child.type === 'block');
  const global = functionOf(statement) === null;
  // Defaults matter to those who call the function.
  if (statement.type === 'function_definition') return bodyStart(statement);
  if (body == null) return { from: statement.row + 1, to: statement.endRow + 1, global };
  // A clause such as `elif` or `except` has its own line.
  if (node !== statement && node.row >= body.row) return { from: node.row + 1, to: node.row + 1, global };
  return { from: statement.row + 1, to: Math.max(statement.row, body.row - 1) + 1, global };
}

/** A function stands for the first lines that run when it is called. */
function bodyStart(definition: SyntaxNode): NodeLines {
  const body = definition.child('body');
  const first = body?.namedChildren.find((statement) => statement.namedChildren[0]?.type !== 'string') ?? definition;
  return { from: first.row + 1, to: first.row + 1, global: false };
}

const loops = new Set(['for_statement', 'while_statement']);
const functions = new Set(['function_definition', 'lambda']);
const checked = ['block', 'break_statement', 'continue_statement', 'return_statement', 'yield'];

/** What the grammar lets through and Python does not: empty blocks, stray `break` and `return`. */
function isPlacedWell(node: Node): boolean {
  if (node.type === 'block') return node.namedChildren.some((child) => child.type !== 'comment');
  const jumps = node.type === 'break_statement' || node.type === 'continue_statement';
  for (let at = node.parent; at !== null; at = at.parent) {
    if (jumps && loops.has(at.type)) return true;
    if (functions.has(at.type)) return !jumps;
    if (at.type === 'class_definition') return false;
  }
  return false;
}

/** What Python asks beyond its grammar; a file that it would not compile is not repaired. */
export const rules: SyntaxRules = { checked, isPlacedWell, tolerant: false, local: false };
