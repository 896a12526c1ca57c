import { extname } from 'node:path/posix';
import { canonical, sha256, type TextEdit } from './language/edit.ts';
import type { Language, LanguageFile, NodeLines, Proposal } from './language/language.ts';
import type { Entry } from './pool.ts';
import { type Draft, type GrammarName, type Grammars, SourceParser, type SyntaxNode } from './language/syntax.ts';
import { javascript, typescript } from './javascript/index.ts';
import { python } from './python/index.ts';
import type { GenerateRequest, Edit } from '@agentfleet/protocol/inference';
import { candidateId } from '../../base/engine.ts';

/** Every language; a new one is used once it is listed here. */
export const languages: readonly Language[] = [python, javascript, typescript];

/** The language and grammar of a file by its name, or null for one of no known language. */
function languageOf(path: string): { readonly language: Language; readonly grammar: GrammarName } | null {
  const ending = extname(path);
  for (const language of languages) {
    const grammar = Object.hasOwn(language.grammars, ending) ? language.grammars[ending] : undefined;
    if (grammar !== undefined) return { language, grammar };
  }
  return null;
}

/** The language of a file and its parser. */
export interface Source {
  readonly language: Language;
  readonly parser: SourceParser;
}

/** Parsers by the name of a file. */
export class Sources {
  readonly #grammars: Grammars;

  constructor(grammars: Grammars) {
    this.#grammars = grammars;
  }

  /** Null for a file of no known language. @throws Error when the grammar's file is absent or wrong */
  async of(path: string): Promise<Source | null> {
    const found = languageOf(path);
    if (found === null) return null;
    const { language, grammar } = found;
    return { language, parser: new SourceParser(await this.#grammars.load(grammar), language.syntax) };
  }

  close(): Promise<void> {
    return this.#grammars.close();
  }
}

/** Weights of the search for operators' proposals. */
export interface Weigher {
  /** Suspicion > 0 of the lines of a node. */
  suspicion(lines: NodeLines): number;
  /** Factor of an operator by the failures; 1 = no information. */
  symptom(operator: string): number;
  /** Reports whether failing tests mention a word. */
  isMentioned(word: string): boolean;
}

/** A focus file that can be edited. */
export interface OpenFile {
  /** Index in the request. */
  readonly index: number;
  readonly path: string;
  readonly source: string;
  readonly root: SyntaxNode;
  readonly language: Language;
  readonly file: LanguageFile;
}

/** Suspicion counts more than any single preference among operators. */
const suspicionPower = 2;
const mentionBoost = 1.3;

/**
 * The candidates at one node: P(place) · P(operator) · P(variant). The variants of one operator at
 * one node share its prior by their weights, damped by a square root: an operator with many
 * variants may have more in all, not n times as much.
 */
export function* proposeAt(node: SyntaxNode, place: number, open: OpenFile, weigher: Weigher): Generator<Entry> {
  for (const { operator, prior, proposals } of open.file.propose(node)) {
    const total = proposals.reduce((sum, proposal) => sum + proposal.weight, 0);
    if (total <= 0) continue;
    const share = (place ** suspicionPower * prior * weigher.symptom(operator)) / Math.sqrt(Math.max(1, total));
    for (const proposal of proposals) {
      const entry = entryOf(operator, proposal, node, open, share * proposal.weight * mention(proposal, node, weigher));
      if (entry !== null) yield entry;
    }
  }
}

function entryOf(operator: string, proposal: Proposal, node: SyntaxNode, open: OpenFile, weight: number): Entry | null {
  const edit = canonical(open.source, proposal.edits);
  if (edit === null || weight <= 0) return null;
  const key = `${open.index}:${edit.start}:${edit.end}:${edit.after}`;
  const { rationale } = proposal;
  return { key, file: open.index, edits: [edit], operator, rationale, row: node.row, column: node.column, weight };
}

/** Words that the edit brings in and the tests name. */
function mention(proposal: Proposal, node: SyntaxNode, weigher: Weigher): number {
  const old = node.text;
  for (const { after } of proposal.edits) {
    for (const [word] of after.matchAll(/[A-Za-z_]\w+|\d+/g)) if (!old.includes(word) && weigher.isMentioned(word)) return mentionBoost;
  }
  return 1;
}

/** Checks the candidates of one request; each file is parsed once. */
export class Drafts {
  readonly #request: GenerateRequest;
  readonly #sources: Sources;
  readonly #open = new Map<number, Draft | null>();

  constructor(request: GenerateRequest, sources: Sources) {
    this.#request = request;
    this.#sources = sources;
  }

  /** True when the file's language would take the entry's text. */
  async accepts({ file, edits }: Entry): Promise<boolean> {
    const { path, content } = this.#request.files[file] ?? { path: '', content: '' };
    const draft = this.#open.has(file) ? this.#open.get(file) : ((await this.#sources.of(path))?.parser.draft(content) ?? null);
    this.#open.set(file, draft ?? null);
    const edit = canonical(content, edits);
    return edit !== null && draft?.accepts(edit) === true;
  }

  close(): void {
    for (const draft of this.#open.values()) draft?.close();
    this.#open.clear();
  }
}

/** An entry's edits as the wire has them, and the id that follows from them. */
export interface WireEntry {
  readonly id: string;
  readonly edits: readonly Edit[];
}

/** Turns entries into their wire form, each once: callers exclude by id again and again. */
export class Wire {
  readonly #files: readonly WireFile[];
  readonly #known = new Map<string, WireEntry>();

  constructor(request: GenerateRequest) {
    this.#files = request.files.map(({ path, content }) => new WireFile(path, content));
  }

  of(entry: Entry): WireEntry {
    const known = this.#known.get(entry.key);
    if (known !== undefined) return known;
    const file = this.#files[entry.file];
    if (file === undefined) throw new RangeError(`there is no file ${entry.file}`);
    const edits = entry.edits.map((edit) => file.edit(edit));
    const made = { id: candidateId(edits), edits };
    this.#known.set(entry.key, made);
    return made;
  }
}

/** One file with the byte offset of each of its lines. */
class WireFile {
  readonly #path: string;
  readonly #content: string;
  readonly #sha256: string;
  readonly #lines: readonly { readonly at: number; readonly byte: number }[];

  constructor(path: string, content: string) {
    this.#path = path;
    this.#content = content;
    this.#sha256 = sha256(content);
    const lines = [{ at: 0, byte: 0 }];
    let byte = 0;
    for (const { index } of content.matchAll(/\n/g)) {
      byte += Buffer.byteLength(content.slice(lines.at(-1)?.at, index + 1));
      lines.push({ at: index + 1, byte });
    }
    this.#lines = lines;
  }

  edit({ start, end, after }: TextEdit): Edit {
    const before = this.#content.slice(start, end);
    const startByte = this.#byte(start);
    const range = { startByte, endByte: startByte + Buffer.byteLength(before) };
    return { path: this.#path, range, before, after, expectedSha256: this.#sha256 };
  }

  #byte(offset: number): number {
    let [low, high] = [0, this.#lines.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#lines[middle]?.at ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    const line = this.#lines[low] ?? { at: 0, byte: 0 };
    return line.byte + Buffer.byteLength(this.#content.slice(line.at, offset));
  }
}

const path = 'add.py';

/** A program with one wrong sign; the repair is among the first candidates of an engine that works. */
export const example: GenerateRequest = {
  requestId: 'example',
  role: 'Generalist',
  goal: 'Make the failing test pass.',
  step: 0,
  grammar: 'Edit',
  files: [{ path, content: 'def add(a, b):\n    return a - b\n' }],
  localisation: {
    spectrum: { passed: 0, failed: 1, lines: [{ path, line: 2, passed: 0, failed: 1 }] },
    failingTests: [{ id: 'test_add', message: 'AssertionError: assert add(1, 2) == 3' }],
  },
  k: 16,
  maxEdits: 1,
  exclude: [],
  seed: 0,
  budgetMillis: 10_000,
};
