import { isBinary } from './tree/look.ts';
import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  editBounds,
  maxFileBytes,
  type FileReplaced,
  type ReplaceRequest,
  lookBounds,
  type FileLines,
  type LinesQuery,
  astBounds,
  astLanguages,
  syntaxBounds,
  type AstEditReport,
  type AstEditRequest,
  type AstLanguage,
} from '@agentfleet/protocol/keeper';
import { KeeperError, messageOf } from '../base/failure.ts';
import { readWhole } from './tree/look.ts';
import { type SyntaxCheck, languageOf, syntaxCheck, type SyntaxParser } from './syntax/index.ts';
import { writeFile, type WriteOptions } from './write.ts';

/**
 * Returns the positions of a sequence in another, overlapping ones too, at most `most`. Knuth, Morris and Pratt (1977):
 * the time is linear in the sum of the lengths, so that no file and no text can make an edit slow.
 */
export function occurrences<T>(within: ArrayLike<T>, of: ArrayLike<T>, most: number, from = 0): readonly number[] {
  const found: number[] = [];
  const borders = bordersOf(of);
  for (let at = from, matched = 0; at < within.length && found.length < most; at++) {
    while (matched > 0 && within[at] !== of[matched]) matched = borders[matched - 1] ?? 0;
    if (within[at] === of[matched]) matched += 1;
    if (matched !== of.length) continue;
    found.push(at + 1 - matched);
    matched = borders[matched - 1] ?? 0;
  }
  return found;
}

/** Returns, for each prefix, the length of the longest proper prefix that also ends it. */
function bordersOf<T>(of: ArrayLike<T>): Uint32Array {
  const borders = new Uint32Array(of.length);
  for (let at = 1, length = 0; at < of.length; at++) {
    while (length > 0 && of[at] !== of[length]) length = borders[length - 1] ?? 0;
    if (of[at] === of[length]) length += 1;
    borders[at] = length;
  }
  return borders;
}

/** Places that a refusal counts, and those that it names. */
const counted = 1000;
const named = 10;

/**
 * Replaces a text that occurs exactly once in a file inside the roots. Bytes around it, the mode and the line ends stay
 * as they are. The caller holds the gate, so that no process writes between reading and replacing.
 *
 * @throws KeeperError `AF_EDIT_STALE`, `AF_EDIT_MATCH` saying how many and where, `AF_EDIT_SYNTAX`, and those of
 * reading and writing
 */
export async function replaceInFile(
  roots: readonly string[],
  edit: ReplaceRequest,
  options: Omit<WriteOptions, 'mode'> & { readonly checkSyntax: SyntaxCheck },
): Promise<FileReplaced> {
  const [old, fresh] = [bytesOf(edit.old, 'old'), bytesOf(edit.new, 'new')];
  const content = await readWhole(roots, edit.path, editBounds.fileBytes);
  const previousSha256 = knownDigest(edit, content);
  const at = onlyPlace(edit.path, content, old);
  const result = Buffer.concat([content.subarray(0, at), fresh, content.subarray(at + old.length)]);
  if (result.length > maxFileBytes) throw new KeeperError('AF_TOO_LARGE', `${edit.path} would have ${result.length} bytes`);
  if (edit.check === 'Json') assertJson(edit.path, result);
  const syntax = await options.checkSyntax({ path: edit.path, before: content, after: result });
  const written = await writeFile(roots, edit.path, Readable.from([result]), { ...options, mode: null });
  return { ...written, syntax, previousSha256, line: lineOf(content, at) };
}

/** The digest of a file to edit. @throws KeeperError `AF_EDIT_STALE` when the caller expects another one */
function knownDigest({ path, expectedSha256 }: ReplaceRequest | AstEditRequest, content: Buffer): string {
  const found = hash('sha256', content);
  if (expectedSha256 === undefined || expectedSha256 === found) return found;
  throw new KeeperError('AF_EDIT_STALE', `${path} has the SHA-256 ${found}, not ${expectedSha256}`);
}

function bytesOf(text: string, field: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text, 'utf8');
  throw new KeeperError('AF_INVALID', `${field}: it holds half of a surrogate pair`);
}

function onlyPlace(path: string, content: Buffer, old: Buffer): number {
  const places = occurrences(content, old, counted);
  const [first] = places;
  if (first !== undefined && places.length === 1) return first;
  if (first === undefined) throw new KeeperError('AF_EDIT_MATCH', `the old text occurs 0 times in ${path}`);
  const lines = places.slice(0, named).map((at) => lineOf(content, at));
  const times = places.length === counted ? `${counted} times or more` : `${places.length} times`;
  const more = places.length > named ? ', …' : '';
  throw new KeeperError('AF_EDIT_MATCH', `the old text occurs ${times} in ${path}, from lines ${lines.join(', ')}${more}`);
}

function lineOf(content: Buffer, at: number): number {
  let line = 1;
  for (let next = content.indexOf(0x0a); next !== -1 && next < at; next = content.indexOf(0x0a, next + 1)) line += 1;
  return line;
}

/** @throws KeeperError `AF_EDIT_SYNTAX` with the place that the parser names */
function assertJson(path: string, content: Buffer): void {
  if (!isUtf8(content)) throw new KeeperError('AF_EDIT_SYNTAX', `${path} would be no JSON: it is not UTF-8`);
  try {
    JSON.parse(content.toString('utf8'));
  } catch (error) {
    throw new KeeperError('AF_EDIT_SYNTAX', `${path} would be no JSON: ${messageOf(error)}`, { cause: error });
  }
}

const newline = 0x0a;

/**
 * Lines of a text file inside the roots, whole and as they are, or as `shown` makes them of the whole text. The caller holds the gate.
 * @throws KeeperError `AF_FILE_BINARY`, `AF_INVALID`, and those of reading
 */
export async function readLines(roots: readonly string[], query: LinesQuery, shown?: (text: string) => string): Promise<FileLines> {
  const [from, last] = [Number(query.from ?? 1), Number(query.to ?? Number.MAX_SAFE_INTEGER)];
  if (last < from) throw new KeeperError('AF_INVALID', `to: ${last} is before ${from}`);
  const content = await readWhole(roots, query.path, maxFileBytes);
  if (isBinary(content)) throw new KeeperError('AF_FILE_BINARY', `${query.path} is not UTF-8 text`);
  const sha256 = hash('sha256', content);
  const whole = shown === undefined ? content : Buffer.from(shown(content.toString('utf8')));
  const { start, end, to, lines } = cut(whole, from, last);
  const wanted = Math.min(last, lines);
  return { path: query.path, from, to, lines, sha256, text: whole.toString('utf8', start, end), truncated: to < wanted };
}

/** The bytes of some lines, the last of them that is inside, and how many lines there are. */
function cut(content: Buffer, from: number, last: number) {
  let [start, end, to, lines] = [content.length, content.length, from - 1, 0];
  for (let at = 0; at < content.length;) {
    const found = content.indexOf(newline, at);
    const next = found === -1 ? content.length : found + 1;
    lines += 1;
    if (lines === from) [start, end] = [at, at];
    if (lines >= from && lines <= last && to === lines - 1 && next - start <= lookBounds.textBytes) [end, to] = [next, lines];
    at = next;
  }
  return { start, end, to, lines };
}

interface AstEditRules extends Omit<WriteOptions, 'mode'> {
  readonly parser: SyntaxParser;
  readonly admit: (bytes: number) => Promise<void>;
}

/**
 * Replaces the matches of a pattern in a file inside the roots; all other bytes stay. The caller holds the gate.
 *
 * @throws KeeperError `AF_AST_PATTERN`, `AF_AST_UNAVAILABLE`, `AF_LANGUAGE_UNKNOWN`, `AF_EDIT_MATCH`, `AF_EDIT_STALE`,
 * `AF_EDIT_SYNTAX`
 */
export async function astEditFile(roots: readonly string[], edit: AstEditRequest, rules: AstEditRules): Promise<AstEditReport> {
  for (const field of ['pattern', 'rewrite'] as const) bytesOf(edit[field], field);
  const language = languageFor(edit);
  const content = await readWhole(roots, edit.path, syntaxBounds.fileBytes);
  const previousSha256 = knownDigest(edit, content);
  if (!isUtf8(content)) throw new KeeperError('AF_FILE_BINARY', `${edit.path} is not UTF-8 text`);
  const { text, ...counts } = await rewritten(edit, language, content.toString('utf8'), rules.parser);
  const result = Buffer.from(text, 'utf8');
  if (result.length > maxFileBytes) throw new KeeperError('AF_TOO_LARGE', `${edit.path} would have ${result.length} bytes`);
  const check = syntaxCheck(rules.parser, edit.syntax ?? 'Check');
  const syntax = await check({ path: edit.path, before: content, after: result });
  const applied = edit.dryRun !== true;
  const outcome = { language, applied, ...counts, previousSha256, syntax };
  if (!applied) return { ...outcome, path: edit.path, sha256: hash('sha256', result), bytes: result.length };
  await rules.admit(result.length);
  const { created: _created, ...written } = await writeFile(roots, edit.path, Readable.from([result]), { ...rules, mode: null });
  return { ...outcome, ...written };
}

function languageFor({ path, language }: AstEditRequest): AstLanguage {
  const known = language ?? astLanguages.find((each) => each === languageOf(path));
  if (known !== undefined) return known;
  throw new KeeperError('AF_LANGUAGE_UNKNOWN', `the name of ${path} tells none of ${astLanguages.join(', ')}`);
}

async function rewritten(edit: AstEditRequest, language: AstLanguage, text: string, parser: SyntaxParser) {
  const { path, pattern, rewrite, max = astBounds.matches } = edit;
  const answer = await parser.ask({ kind: 'Rewrite', grammar: language, text, pattern, rewrite, max });
  if (answer === null) throw new KeeperError('AF_AST_UNAVAILABLE', `${path} is too hard for the parser of ${language}`);
  if ('fault' in answer) throw new KeeperError('AF_AST_PATTERN', `pattern: ${answer.fault}`);
  if (answer.matches > 0) return answer;
  throw new KeeperError('AF_EDIT_MATCH', `the pattern matches nowhere in ${path} as ${language}`, {
    cure: 'look at the code that is meant, and make the pattern the whole of one expression or statement; nothing was written',
  });
}
