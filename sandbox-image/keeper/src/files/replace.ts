import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { editBounds, maxFileBytes, type FileReplaced, type ReplaceRequest } from '@agentfleet/protocol/keeper';
import { KeeperError, messageOf } from '../failure.ts';
import { occurrences } from './occurrences.ts';
import { readWhole } from './read.ts';
import type { SyntaxCheck } from './syntax/index.ts';
import { writeFile, type WriteOptions } from './write.ts';

/** Places that a refusal counts, and those that it names. */
const counted = 1000;
const named = 10;

/**
 * Replaces a text that stands exactly once in a file inside the roots. Bytes around it, the mode and the line ends stay as
 * they are. The caller holds the gate, so that nobody writes between reading and replacing.
 *
 * @throws KeeperError `AF_EDIT_STALE`, `AF_EDIT_MATCH` saying how many and where, `AF_EDIT_SYNTAX`, and those of reading and writing
 */
export async function replaceInFile(
  roots: readonly string[],
  edit: ReplaceRequest,
  options: Omit<WriteOptions, 'mode'> & { readonly checkSyntax: SyntaxCheck },
): Promise<FileReplaced> {
  const [old, fresh] = [bytesOf(edit.old, 'old'), bytesOf(edit.new, 'new')];
  const content = await readWhole(roots, edit.path, editBounds.fileBytes);
  const previousSha256 = createHash('sha256').update(content).digest('hex');
  if (edit.expectedSha256 !== undefined && edit.expectedSha256 !== previousSha256) {
    throw new KeeperError('AF_EDIT_STALE', `${edit.path} has the SHA-256 ${previousSha256}, not ${edit.expectedSha256}`);
  }
  const at = onlyPlace(edit.path, content, old);
  const result = Buffer.concat([content.subarray(0, at), fresh, content.subarray(at + old.length)]);
  if (result.length > maxFileBytes) throw new KeeperError('AF_TOO_LARGE', `${edit.path} would have ${result.length} bytes`);
  if (edit.check === 'Json') assertJson(edit.path, result);
  const syntax = await options.checkSyntax({ path: edit.path, before: content, after: result });
  const written = await writeFile(roots, edit.path, Readable.from([result]), { ...options, mode: null });
  return { ...written, syntax, previousSha256, line: lineOf(content, at) };
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
