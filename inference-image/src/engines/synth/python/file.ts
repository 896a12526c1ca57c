import type { Node } from 'web-tree-sitter';
import type { NodeLines } from '../language/language.ts';
import { SourceFile, type FunctionFacts } from '../language/sourceFile.ts';
import type { SyntaxRules, SyntaxNode } from '../language/syntax.ts';
import { namesAt, type NameInfo, type ScopeCache, functionOf, statementOf } from './names.ts';

/** A parsed file of Python. */
export class PythonFile extends SourceFile<NameInfo> {
  readonly end = '';
  readonly #names = new Map<SyntaxNode | null, readonly NameInfo[]>();
  readonly #scopes: ScopeCache = new Map();
  readonly #sources = new Map<SyntaxNode, ReadonlyMap<string, ReadonlySet<string>>>();

  names(node: SyntaxNode): readonly NameInfo[] {
    const scope = functionOf(node);
    const known = this.#names.get(scope) ?? namesAt(node, this.#scopes);
    this.#names.set(scope, known);
    return known;
  }

  /** The names that each name of a function is made from, by its assignments. */
  sources(scope: SyntaxNode): ReadonlyMap<string, ReadonlySet<string>> {
    const known = this.#sources.get(scope) ?? sourcesIn(scope);
    this.#sources.set(scope, known);
    return known;
  }

  locals(node: SyntaxNode): readonly NameInfo[] {
    return this.names(node).filter((info) => info.local && info.boundAt < node.start && info.kind !== 'callable');
  }

  /** Indentation one level deeper than the statement. */
  deeper(statement: SyntaxNode): string {
    const indent = this.indent(statement);
    return `${indent}${indent.includes('\t') ? '\t' : '    '}`;
  }

  protected definitionAt(node: SyntaxNode): FunctionFacts | null {
    if (node.type !== 'function_definition') return null;
    return { name: node.child('name')?.text ?? '', parameters: parametersOf(node), node };
  }
}

function sourcesIn(scope: SyntaxNode): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const node of scope.walk()) {
    const [left, right] = node.type === 'assignment' ? [node.child('left'), node.child('right')] : [null, null];
    if (left === null || right === null) continue;
    const read = found.get(left.text) ?? new Set();
    found.set(left.text, read);
    for (const one of right.walk()) if (one.type === 'identifier') read.add(one.text);
  }
  return found;
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
  // Defaults matter to callers of the function.
  if (statement.type === 'function_definition') return bodyStart(statement);
  if (body == null) return { from: statement.row + 1, to: statement.endRow + 1, global };
  // A clause such as `elif` or `except` has its own line.
  if (node !== statement && node.row >= body.row) return { from: node.row + 1, to: node.row + 1, global };
  return { from: statement.row + 1, to: Math.max(statement.row, body.row - 1) + 1, global };
}

/** For a function returns the first lines that run when it is called. */
function bodyStart(definition: SyntaxNode): NodeLines {
  const body = definition.child('body');
  const first = body?.namedChildren.find((statement) => statement.namedChildren[0]?.type !== 'string') ?? definition;
  return { from: first.row + 1, to: first.row + 1, global: false };
}

const loops = new Set(['for_statement', 'while_statement']);
const functions = new Set(['function_definition', 'lambda']);
const checked = ['block', 'break_statement', 'continue_statement', 'return_statement', 'yield'];

/** Checks constructs that the grammar accepts and Python does not: empty blocks, stray `break` and `return`. */
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

/** Rules of Python beyond its grammar; a file that it would not compile is not repaired. */
export const rules: SyntaxRules = { checked, isPlacedWell, tolerant: false, local: false };
