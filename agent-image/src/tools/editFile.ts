import { isUtf8 } from 'node:buffer';
import { KeeperRefusal } from '@agentfleet/keeper/client';
import { toolDefinition } from '@agentfleet/protocol/chat';
import type { Rewrite } from '../features/index.ts';
import { alike } from './alike.ts';
import { nearMiss } from './nearMiss.ts';
import { forModel, linesAt, similarPath, wordsOf, workspacePath } from './arguments.ts';
import { count, isAllowed, linesOf, numbered, plain, ArgumentError, type Observation, type Tool, type ToolContext } from './tool.ts';

interface Replacement {
  readonly old_text?: string;
  readonly new_text?: string;
  readonly all?: boolean;
}

interface EditArguments extends Replacement {
  readonly path: string;
  readonly edits?: readonly Replacement[];
}

/** New text in a file: its offset in UTF-16 units, and its lines. */
interface Place {
  readonly at: number;
  readonly lines: number;
}

/** Result of an edit: the file, and where it has new text, in order. */
interface Edit {
  readonly rewrite: Rewrite;
  readonly places: readonly Place[];
  readonly note: string;
}

/** A line by which models leave out what they mean to keep: in a comment, or with a space, as `...rest` is a value in JavaScript. */
const leftOut =
  /^[ \t]*(?:(?:\/\/|#|--|\/\*|<!--|;)[ \t]*(?:\.{3}|…)|(?:\.{3}|…)(?=[ \t(]))[ \t(]*(?:keep |the |your |all )*(?:existing|rest|remaining|unchanged|previous|omitted|same)\b(?![.,;:=[\]}]).*$/im;
/** Characters of a new text that proves by itself that its edit was made. */
const proving = 6;

/** Places that an observation shows, lines around each, and lines at either end of one that is longer than both. */
const maxPlaces = 3;
const around = 3;
const ends = 5;

/** Replaces texts of a file that each occur once, all of them or none, or creates a file. */
export const editFile: Tool = {
  definition: toolDefinition('edit_file'),
  propose: async (args, context) => ({ rewrites: [(await plan(args as unknown as EditArguments, context)).rewrite], acts: [] }),
  run: (args, context) => run(args as unknown as EditArguments, context),
};

async function plan({ path: given, edits = [], ...first }: EditArguments, context: ToolContext): Promise<Edit> {
  const { session } = context.scope;
  const path = workspacePath(session, given);
  if (path === '') throw new ArgumentError('path: it is the workspace itself; name a file in it');
  const before = await forModel('path', () => session.read(path));
  const all = [
    ...(first.old_text === undefined && first.new_text === undefined && edits.length > 0 ? [] : [{ ...first, field: '' }]),
    ...edits.map((one, at) => ({ ...one, field: `edits[${at}].` })),
  ].map(whole);
  const [{ old, fresh } = { old: '', fresh: '' }] = all;
  if (all.length === 1 && old === '') return create(path, before, fresh, context);
  if (before === null) throw absent(path, context);
  if (before.includes(0) || !isUtf8(before)) throw new ArgumentError(`path: ${plain(path)} is not UTF-8 text; change it with a command`);
  let made: Made = { text: before.toString('utf8'), places: [], crlf: false, notes: [] };
  try {
    for (const one of all) made = await replace({ path, ...one }, made, context);
  } catch (error) {
    if (all.length === 1 || !(error instanceof ArgumentError)) throw error;
    throw new ArgumentError(`${error.message}; none of the ${all.length} edits was made`);
  }
  const note = [...(made.crlf ? [', with the CRLF line ends of the file'] : []), ...new Set(made.notes)].join('');
  const places = made.places.toSorted((a, b) => a.at - b.at);
  return { rewrite: { path, before, after: Buffer.from(made.text, 'utf8') }, places, note };
}

/** A replacement, with the beginning of its fields' names in messages. */
interface Whole {
  readonly field: string;
  readonly old: string;
  readonly fresh: string;
  readonly all: boolean;
}

function whole({ field, old_text: old = '', new_text: fresh, all = false }: Replacement & { readonly field: string }): Whole {
  if (fresh === undefined) throw new ArgumentError(`${field}new_text: missing; a string is expected, "" to delete old_text`);
  if (![old, fresh].every((text) => text.isWellFormed())) throw new ArgumentError(`${field}new_text: it holds half of a surrogate pair`);
  return { field, old, fresh, all };
}

function create(path: string, before: Buffer | null, fresh: string, { scope }: ToolContext): Edit {
  if (before !== null && before.length > 0) {
    const way = isAllowed(scope.context, 'bash')
      ? `, or write it whole by bash: command "cat > ${plain(path)}" with the text as stdin`
      : '';
    throw unnamed('', path, before.length, way);
  }
  const bare = markup.test(path) ? undefined : fence.exec(fresh)?.[1];
  const escaped = fresh.includes('\n') ? 0 : fresh.split(String.raw`\n`).length - 1;
  const note = [
    ...(bare === undefined ? [] : [', without the marks ``` around new_text']),
    ...(escaped > 1 ? [String.raw`; new_text has \n as two characters ${escaped} times and no line end: escape line ends once`] : []),
  ].join('');
  return { rewrite: { path, before, after: Buffer.from(bare ?? fresh, 'utf8') }, places: [], note };
}

/** A text that is one block of Markdown, and files that may hold such. */
const fence = /^\s*```[\w+-]*\n((?:(?!```)[^\n]*\n)*)```\s*$/;
const markup = /(?:^|\/)[^./]*$|\.(?:md|mdx|markdown|rst|txt|adoc)$/i;

const unnamed = (field: string, path: string, bytes: number, way = ''): ArgumentError =>
  new ArgumentError(`${field}old_text: missing, and ${plain(path)} exists (${bytes} bytes); give the text of it that is replaced${way}`);

function absent(path: string, { baseline }: ToolContext): ArgumentError {
  const hint = similarPath(path, baseline.tree);
  return new ArgumentError(`path: there is no file ${plain(path)}${hint}; correct it, or leave old_text out to create it`);
}

/** A text after some of its replacements. */
interface Made {
  readonly text: string;
  readonly places: readonly Place[];
  /** Line ends were turned into those of the file. */
  readonly crlf: boolean;
  /** Words about old texts that the file has in another way. */
  readonly notes: readonly string[];
}

async function replace(one: Whole & { readonly path: string }, made: Made, context: ToolContext): Promise<Made> {
  const { path, field, old, fresh, all } = one;
  const { text } = made;
  if (old === '') throw unnamed(field, path, Buffer.byteLength(text));
  const [lost] = leftOut.exec(fresh) ?? [];
  if (lost !== undefined && !text.includes(lost))
    throw new ArgumentError(
      `${field}new_text: the line ${JSON.stringify(plain(lost.trim()))} stands for text that would be lost; write the new text whole, or replace a smaller part`,
    );
  if (old === fresh) throw new ArgumentError(`${field}new_text: it is the same as old_text, so nothing would change`);
  // A text of one line does not show the line ends of the file.
  const isCrlf = text.includes('\r\n') && !hasBareLf(text);
  const crlf = isCrlf ? hasBareLf(old) || hasBareLf(fresh) : !text.includes(old) && text.includes(withCrlf(old));
  const [wanted, put] = crlf ? [withCrlf(old), withCrlf(fresh)] : [old, fresh];
  const at = occurrences(text, wanted);
  if (at.length === 0) {
    const near = all ? null : nearly(one, put, made);
    if (near === null) throw await missing(one, put, made, context);
    return near;
  }
  if (at.length > 1 && !all) {
    const lines = at.slice(0, 10).map((place) => lineAt(text, place));
    const more = at.length > 10 ? ', …' : '';
    throw new ArgumentError(
      `${field}old_text: it occurs ${at.length} times in ${plain(path)}, on lines ${lines.join(', ')}${more}; add lines around it to name one, or set all`,
    );
  }
  const grown = put.length - wanted.length;
  const moved = made.places.map((place) => ({ ...place, at: place.at + grown * at.filter((before) => before < place.at).length }));
  const places = at.map((place, i) => ({ at: place + i * grown, lines: linesOf(put).length }));
  return { text: text.split(wanted).join(put), places: [...moved, ...places], crlf: made.crlf || crlf, notes: made.notes };
}

/** The edit at the one place that its old text surely means; null: there is none. One that was made already means no other place. */
function nearly({ old, fresh }: Whole, put: string, { text, places, crlf, notes }: Made): Made | null {
  const found = put.trim().length >= proving && text.includes(put) ? null : alike(text, old, fresh);
  if (found === null || text.slice(found.from, found.to) === found.put) return null;
  const fits = text.includes('\r\n') && !hasBareLf(text) ? withCrlf(found.put) : found.put;
  const grown = fits.length - (found.to - found.from);
  const moved = places.map((place) => ({ ...place, at: place.at + (found.from < place.at ? grown : 0) }));
  const place = { at: found.from, lines: linesOf(fits).length };
  return { text: text.slice(0, found.from) + fits + text.slice(found.to), places: [...moved, place], crlf, notes: [...notes, found.note] };
}

async function missing(one: Whole & { readonly path: string }, put: string, { text }: Made, context: ToolContext): Promise<ArgumentError> {
  const { path, field, old } = one;
  const [made] = put.trim().length < proving ? [] : occurrences(text, put);
  const hint = made === undefined ? '' : `, and new_text does, on line ${lineAt(text, made)}: look whether the edit is made already`;
  return new ArgumentError(`${field}old_text: it does not occur in ${plain(path)}${hint}; ${await closest(path, old, context)}`);
}

const hasBareLf = (text: string): boolean => /(?<!\r)\n/.test(text);

const withCrlf = (text: string): string => text.replaceAll(/\r?\n/g, '\r\n');

function occurrences(text: string, wanted: string): readonly number[] {
  const found: number[] = [];
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) found.push(at);
  return found;
}

function lineAt(text: string, at: number): number {
  let line = 1;
  for (let next = text.indexOf('\n'); next !== -1 && next < at; next = text.indexOf('\n', next + 1)) line += 1;
  return line;
}

/** Reads the file in the form that the model may see. */
async function closest(path: string, old: string, { scope }: ToolContext): Promise<string> {
  const { text } = await forModel('path', () => linesAt(scope.session, path));
  return plain(nearMiss(text, old));
}

async function run(args: EditArguments, context: ToolContext): Promise<Observation> {
  const { rewrite, places, note } = await plan(args, context);
  const { path, before, after } = rewrite;
  const fault = await write(context, path, after);
  const text = after.toString('utf8');
  const what = before === null || before.length === 0 ? `created ${plain(path)}, ${count(linesOf(text).length, 'line')}${note}` : '';
  const changed = `changed ${plain(path)}${places.length > 1 ? ` in ${places.length} places` : ''}${note}`;
  const shown = await regions(
    context,
    path,
    places.map(({ at, lines }) => ({ from: lineAt(text, at), lines })),
  );
  const said = [what === '' ? changed : what, ...shown, ...(fault === null ? [] : [`[syntax] ${fault}`])].join('\n');
  return { text: said, ok: true, changed: true };
}

/** Writes the file. Returns its new syntax errors; null without any, or where no parser knows. */
async function write({ scope }: ToolContext, path: string, after: Buffer): Promise<string | null> {
  try {
    await forModel('path', () => scope.session.write(path, after, 'Check'));
    return null;
  } catch (error) {
    if (!(error instanceof KeeperRefusal) || error.code !== 'AF_EDIT_SYNTAX') throw error;
    await forModel('path', () => scope.session.write(path, after));
    return wordsOf(error).replace(' would have ', ' has ').replace(' would be ', ' is ');
  }
}

interface Lines {
  /** From 1. */
  readonly from: number;
  readonly lines: number;
}

/** Returns the lines around the changes, as the file has them now, without secrets. */
async function regions({ scope }: ToolContext, path: string, places: readonly Lines[]): Promise<readonly string[]> {
  const shown: string[] = [];
  let next = 1;
  for (const place of places.slice(0, maxPlaces)) {
    const from = Math.max(next, place.from - around);
    const to = place.from + Math.max(0, place.lines - 1) + around;
    if (to < from) continue;
    const { text } = await linesAt(scope.session, path, from, to);
    const lines = numbered(linesOf(plain(text)), from).split('\n');
    const left = lines.length - 2 * ends;
    // Where little would be left out, the line that says so is no shorter.
    shown.push(...(left > 3 ? [...lines.slice(0, ends), `… ${left} lines, as you wrote them`, ...lines.slice(-ends)] : lines));
    next = to + 1;
  }
  const rest = places.slice(maxPlaces, 23).flatMap(({ from }) => (from < next ? [] : [from]));
  if (rest.length > 0) shown.push(`… and on lines ${rest.join(', ')}${places.length > 23 ? ', …' : ''}`);
  return shown;
}
