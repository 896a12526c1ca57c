// inference-image, engines/synth/language: forms of edits that all languages share. May import base, gpu, models and protocol.
import type { TextEdit } from './edit.ts';
import type { Proposal } from './language.ts';
import type { SourceFile } from './sourceFile.ts';
import type { SyntaxNode } from './syntax.ts';

/** Replaces a node. */
export function replace(node: SyntaxNode, after: string, weight = 1, rationale?: string): Proposal {
  const edits = [{ start: node.start, end: node.end, after }];
  return { edits, weight, rationale: rationale ?? `replace ${brief(node.text)} by ${brief(after)}` };
}

/** Texts to put in a place, each with its weight. */
export type Weighed = readonly (readonly [text: string, weight: number])[];

/**
 * A table of texts and weights, each written as `text weight`.
 *
 * @example
 * weighed('[] 0.6', "' ' 0.5"); // [['[]', 0.6], ["' '", 0.5]]
 */
export function weighed(...rows: readonly string[]): Weighed {
  return rows.map((row) => [row.slice(0, row.lastIndexOf(' ')), Number(row.slice(row.lastIndexOf(' ') + 1))]);
}

/** A text short enough for one sentence. */
export function brief(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > 60 ? `\`${line.slice(0, 57)}…\`` : `\`${line}\``;
}

/** Replaces a node by each text that it does not have already. */
export function* otherTexts(node: SyntaxNode, texts: Weighed, share = 1): Generator<Proposal> {
  for (const [after, weight] of texts) if (after !== node.text) yield replace(node, after, weight * share);
}

/** Replacements of a sign or a name, with weights. */
export type WeighedTable = Readonly<Record<string, Weighed>>;

/** Replaces each sign of a node that the table has. */
export function* otherSigns(node: SyntaxNode, table: WeighedTable, share = 1): Generator<Proposal> {
  for (const sign of node.children)
    if (!sign.named && Object.hasOwn(table, sign.type)) yield* otherTexts(sign, table[sign.type] ?? [], share);
}

/** Puts a statement on its own line before another. Lines of `text` are already relative to its indent. */
export function insertBefore(file: SourceFile, statement: SyntaxNode, text: string, weight = 1): Proposal {
  const indent = file.indent(statement);
  const after = text.split('\n').join(`${file.newline}${indent}`) + file.newline + indent;
  return { edits: [{ start: statement.start, end: statement.start, after }], weight, rationale: `insert ${brief(text)}` };
}

/** Puts a statement on its own line after another, at that statement's indent. */
export function insertAfter(file: SourceFile, statement: SyntaxNode, text: string, weight = 1): Proposal {
  const indent = file.indent(statement);
  const after = text
    .split('\n')
    .map((line) => `${file.newline}${indent}${line}`)
    .join('');
  return { edits: [{ start: statement.end, end: statement.end, after }], weight, rationale: `insert ${brief(text)}` };
}

/** The lines of a statement with their end, for an edit that removes them. */
export function linesOf(file: SourceFile, statement: SyntaxNode): TextEdit {
  const newline = file.source.indexOf('\n', statement.end);
  return { start: file.lineStart(statement), end: newline === -1 ? file.source.length : newline + 1, after: '' };
}

/** Moves a statement: inserts it there, and removes it here. */
export function moved(node: SyntaxNode, inserted: Proposal, removed: TextEdit): Proposal {
  return { ...inserted, edits: [...inserted.edits, removed], rationale: `move ${brief(node.text)}` };
}

/** Two nodes in each other's place. */
export function exchange(one: SyntaxNode, other: SyntaxNode, weight: number, rationale?: string): Proposal {
  const first = replace(one, other.text, weight, rationale ?? `swap \`${one.text.slice(0, 28)}\` and \`${other.text.slice(0, 28)}\``);
  return { ...first, edits: [...first.edits, { start: other.start, end: other.end, after: one.text }] };
}

/** Each two neighbours of a list in each other's place. */
export function* neighbours(items: readonly SyntaxNode[]): Generator<Proposal> {
  for (const [at, item] of items.entries()) {
    const next = items[at + 1];
    if (next !== undefined) yield exchange(item, next, items.length > 5 ? 0.2 : 1);
  }
}

/** A statement that runs only on a condition. */
export function guarded(node: SyntaxNode, after: string, condition: string, weight: number): Proposal {
  const edits = [{ start: node.start, end: node.end, after }];
  return { edits, weight, rationale: `run ${brief(node.text)} only if ${brief(condition)}` };
}

/** A counter that the end of a block moves or resets. */
export function* counted(file: SourceFile, last: SyntaxNode, name: string, looped: boolean, weight: number): Generator<Proposal> {
  yield insertAfter(file, last, `${name} += 1${file.end}`, looped ? 1.5 : weight);
  yield insertAfter(file, last, `${name} -= 1${file.end}`, looped ? 1 : weight * 0.4);
  yield insertAfter(file, last, `${name} = 0${file.end}`, weight * 0.5);
}

/** Another way out of a loop than this one. */
export function* otherExits(node: SyntaxNode, file: SourceFile, values: readonly string[]): Generator<Proposal> {
  const weight = node.type === 'return_statement' ? 0.3 : 1;
  for (const after of ['break', 'continue']) if (!node.text.startsWith(after)) yield replace(node, `${after}${file.end}`, weight);
  if (node.type === 'return_statement') return;
  for (const info of file.locals(node)) yield replace(node, `return ${info.name}${file.end}`, 0.15);
  for (const value of values) yield replace(node, `return ${value}${file.end}`, 0.15);
}

/** Another variable than a function returns, or one of the usual constants; `inverse` by the type of the node. */
export function* otherResults(
  node: SyntaxNode,
  file: SourceFile,
  constants: readonly string[],
  inverse: Readonly<Record<string, string>>,
): Generator<Proposal> {
  const [value] = node.namedChildren;
  const locals = file.locals(node);
  if (value === undefined) {
    for (const info of locals) yield replace(node, `return ${info.name}${file.end}`, 0.5);
    return;
  }
  for (const info of locals)
    if (info.name !== value.text) yield replace(value, info.name, (value.type === 'identifier' ? 1 : 0.5) * (info.reads === 0 ? 4 : 1));
  for (const after of constants) if (after !== value.text) yield replace(value, after, inverse[value.type] === after ? 0.8 : 0.1);
}

/** Literals for another one that the file uses elsewhere, the more often the likelier. */
export function* otherLiterals(node: SyntaxNode, counts: Iterable<readonly [string, number]>): Generator<Proposal> {
  const others = [...counts].filter(([text]) => text !== node.text && text.length < 40);
  for (const [text, count] of others.slice(0, 12)) yield replace(node, text, Math.min(1, 0.4 + 0.3 * count));
}

/** An integer that is one too low or too high; an index, or a large one, has a smaller share. */
export function* offByOne(node: SyntaxNode, isIndex: boolean): Generator<Proposal> {
  const value = Number(node.text);
  if (!Number.isSafeInteger(value)) return;
  const share = isIndex || Math.abs(value) > 12 ? 0.4 : 1;
  yield replace(node, String(value + 1), share);
  yield replace(node, String(value - 1), value === 0 ? 0.5 : share);
}

/** An expression that the function computes elsewhere. */
export function* reused(node: SyntaxNode, texts: Iterable<string>): Generator<Proposal> {
  for (const text of [...texts].slice(0, 6)) yield replace(node, text, text.includes(node.text) ? 1 : 0.4);
}

/** A call with one more argument at its end. */
export function withArgument(list: SyntaxNode, extra: string, weight: number): Proposal {
  // A single argument of Python's may be a generator without brackets of its own.
  if (list.type === 'generator_expression') return replace(list, `(${list.text}, ${extra})`, weight);
  return replace(list, `(${[...list.namedChildren.map((argument) => argument.text), extra].join(', ')})`, weight);
}

/** A call with an argument of the name of a parameter that it leaves out. */
export function* withParameter(list: SyntaxNode, argument: string, kind: string): Generator<Proposal> {
  yield withArgument(list, argument, 1.5);
  if (kind !== 'number') return;
  yield withArgument(list, `${argument} + 1`, 1);
  yield withArgument(list, `${argument} - 1`, 0.6);
}

/** Yields a call with an optional argument that the table has for the called function. */
export function* withOptional(list: SyntaxNode, called: string, table: WeighedTable): Generator<Proposal> {
  if (!Object.hasOwn(table, called)) return;
  for (const [extra, weight] of table[called] ?? []) if (!list.text.includes(extra)) yield withArgument(list, extra, weight);
}

/** A call without its last argument. */
export function* withoutLast(list: SyntaxNode): Generator<Proposal> {
  const rest = list.namedChildren.slice(0, -1).map((argument) => argument.text);
  if (rest.length > 0) yield replace(list, `(${rest.join(', ')})`, 0.3);
}

/**
 * Of families of names that are easily mistaken for each other, finds those that have a name: the others in them, each with
 * the rank of its family and its place there. Between names are spaces, between families commas.
 */
export function relatives(text: string): (name: string) => readonly (readonly [other: string, rank: number, at: number])[] {
  const families = text.split(',').map((family) => family.trim().split(/\s+/));
  return (name) =>
    families
      .filter((family) => family.includes(name))
      .flatMap((family, rank) => family.map((other, at) => [other, rank, at] as const))
      .filter(([other]) => other !== name);
}

/** The likeliest names in the place of another. */
export function* likeliest<Info>(
  infos: readonly Info[],
  weightOf: (info: Info) => number,
  made: (info: Info, weight: number) => Proposal,
): Generator<Proposal> {
  const weighed = infos.map((info) => ({ info, weight: weightOf(info) }));
  weighed.sort((a, b) => b.weight - a.weight);
  for (const { info, weight } of weighed.slice(0, 16)) if (weight > 0.02) yield made(info, weight);
}

/** The entries of a table of kinds, for names with spaces between. */
export function named<Kind extends string>(kind: Kind, names: string): readonly (readonly [name: string, Kind])[] {
  return names.split(' ').map((name) => [name, kind]);
}

/** Weights of replacement names, by their relation to the original. */
export const boosts = { unread: 4, derived: 2, sibling: 2, misfit: 0.03 } as const;

/** Returns how well two kinds fit together. */
export function kindShare(kind: string, other: string): number {
  if (kind === other) return kind === 'unknown' ? 0.8 : 1;
  return kind === 'unknown' || other === 'unknown' ? 0.6 : 0.12;
}

/** Reports whether two functions of the file take as many arguments. */
export function sameArity(file: SourceFile, one: string, other: string): boolean {
  const count = file.functions.get(one)?.parameters.length;
  return count !== undefined && count === file.functions.get(other)?.parameters.length;
}

/** Distinct texts that `textOf` finds below a node, each with the first node that has it, in the order of the file. */
export function firsts(
  scope: SyntaxNode | null,
  textOf: (node: SyntaxNode) => string | undefined,
  skipped?: ReadonlySet<string>,
): Map<string, SyntaxNode> {
  const found = new Map<string, SyntaxNode>();
  for (const node of scope?.walk(skipped) ?? []) {
    const text = textOf(node);
    if (text !== undefined && !found.has(text)) found.set(text, node);
  }
  return found;
}

/** Yields a function's return values, then the usual values that it does not return. */
export function withUsual(found: Iterable<string>, usual: Weighed): Weighed {
  const own = new Set(found);
  return [...[...own].map((text) => [text, 1] as const), ...usual.filter(([text]) => !own.has(text))];
}

/** Reports whether a loop's body always leaves it in the first round. */
export function endsLoop(node: SyntaxNode, holder: SyntaxNode): boolean {
  return /^(for|for_in|while)_statement$/.test(holder.type) && /^(return|break)_/.test(node.type) && node.parent?.parent === holder;
}

/** Words of a name: `ROUND_HALF_UP` and `roundHalfUp` are round, half, up. */
function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split('_')
    .filter((word) => word !== '');
}

/** Reports whether a name is written like a constant, in capitals. */
export const isConstant = (name: string): boolean => /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*$/.test(name) && name.length > 1;

/**
 * Reports whether two names look like members of one family: written in the same way, with the same first or last word.
 *
 * @example areSiblings('ROUND_DOWN', 'ROUND_HALF_UP'); // true areSiblings('read_text', 'write_text'); // true
 */
export function areSiblings(one: string, other: string): boolean {
  if (one === other || isConstant(one) !== isConstant(other) || /^[A-Z]/.test(one) !== /^[A-Z]/.test(other)) return false;
  const [a, b] = [wordsOf(one), wordsOf(other)];
  if (a.length < 2 || b.length < 2) return false;
  return a[0] === b[0] || a.at(-1) === b.at(-1);
}
