// inference-image, engines/synth/language: parsed file with queries for operators. May import base, gpu, models and protocol.
import type { SyntaxNode } from './syntax.ts';

interface NameFacts {
  readonly name: string;
  /** Type of its value, in the terms of its language. */
  readonly kind: string;
  readonly reads: number;
}

/** A function of a file; of its parameters the plain names. */
export interface FunctionFacts {
  readonly name: string;
  readonly parameters: readonly string[];
  readonly node: SyntaxNode;
}

/** A parsed file with the queries of operators of every language; every result is computed once. */
export abstract class SourceFile<Info extends NameFacts = NameFacts, Definition extends FunctionFacts = FunctionFacts> {
  readonly source: string;
  readonly root: SyntaxNode;
  readonly newline: string;
  /** Terminator of a statement. */
  abstract readonly end: string;
  readonly #skipped: ReadonlySet<string>;
  readonly #texts = new Map<string, ReadonlyMap<string, number>>();
  #functions: ReadonlyMap<string, Definition> | null = null;

  constructor(source: string, root: SyntaxNode, skipped: ReadonlySet<string> = new Set()) {
    this.source = source;
    this.root = root;
    this.newline = source.includes('\r\n') ? '\r\n' : '\n';
    this.#skipped = skipped;
  }

  abstract names(node: SyntaxNode): readonly Info[];

  /** Values of the innermost function that are set before the node. */
  abstract locals(node: SyntaxNode): readonly Info[];

  /** The function that a node defines. */
  protected abstract definitionAt(node: SyntaxNode): Definition | null;

  /** Distinct texts of all nodes of a type with how often each occurs, in the order of the file. */
  texts(type: string): ReadonlyMap<string, number> {
    const known = this.#texts.get(type);
    if (known !== undefined) return known;
    const counts = new Map<string, number>();
    for (const node of this.root.walk(this.#skipped)) if (node.type === type) counts.set(node.text, (counts.get(node.text) ?? 0) + 1);
    this.#texts.set(type, counts);
    return counts;
  }

  /** Functions of this file by name; of two with one name the last. */
  get functions(): ReadonlyMap<string, Definition> {
    if (this.#functions !== null) return this.#functions;
    const functions = new Map<string, Definition>();
    for (const node of this.root.walk(this.#skipped)) {
      const definition = this.definitionAt(node);
      if (definition !== null) functions.set(definition.name, definition);
    }
    this.#functions = functions;
    return functions;
  }

  /** Returns the start of the statement's first line. */
  lineStart(statement: SyntaxNode): number {
    return this.source.lastIndexOf('\n', statement.start - 1) + 1;
  }

  /** White space before the line of a statement. */
  indent(statement: SyntaxNode): string {
    return /^[ \t]*/.exec(this.source.slice(this.lineStart(statement), statement.start))?.[0] ?? '';
  }

  /** True when the statement is the first on its line. */
  startsLine(statement: SyntaxNode): boolean {
    return this.source.slice(this.lineStart(statement), statement.start).trim() === '';
  }
}
