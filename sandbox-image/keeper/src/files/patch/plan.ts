import { hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { type Stats, constants } from 'node:fs';
import { type PatchRequest, type PatchedFile, editBounds, patchBounds } from '@agentfleet/protocol/keeper';
import { KeeperError } from '../../base/failure.ts';
import { type BytePath, bytesOf, displayPath, sysPath } from '../../snapshot/index.ts';
import { lstatOrNull } from '../tree/resolve.ts';
import type { Hunk, Section } from './parse.ts';
import { occurrences } from '../replace.ts';

/** The planned change of one file; nothing has been written. */
export interface Change {
  readonly reported: PatchedFile;
  /** The removed file and its content; null for a new file. */
  readonly old: BytePath | null;
  readonly before: Buffer | null;
  /** The new file; null for a deleted file. */
  readonly fresh: {
    readonly path: BytePath;
    readonly content: Buffer;
    readonly mode: number;
    readonly folders: readonly BytePath[];
  } | null;
}

/**
 * Reads the files of a diff and computes all results in memory. The caller holds the gate.
 *
 * @param folder real and inside the roots
 * @throws KeeperError `AF_PATCH_REJECTED` naming file, hunk and line, `AF_EDIT_STALE`, `AF_TOO_LARGE`
 */
export async function planPatch(
  folder: string,
  sections: readonly Section[],
  expected: PatchRequest['expected'],
): Promise<readonly Change[]> {
  const base = bytesOf(folder);
  const hashes = new Map(Object.entries(expected ?? {}).map(([name, hash]) => [bytesOf(name), hash]));
  const changes: Change[] = [];
  let total = 0;
  for (const section of sections) {
    const before = section.from === null ? null : await readOld(base, section.from);
    assertExpected(section, before?.content ?? null, hashes);
    const change = await changeOf(base, section, before);
    total += (before?.content.length ?? 0) + (change.fresh?.content.length ?? 0);
    if (total > patchBounds.contentBytes)
      throw new KeeperError('AF_TOO_LARGE', `the files have over ${patchBounds.contentBytes} bytes together`);
    changes.push(change);
  }
  for (const name of hashes.keys()) throw new KeeperError('AF_INVALID', `expected: the diff does not name ${displayPath(name)}`);
  return changes;
}

interface Place {
  readonly path: BytePath;
  readonly stat: Stats | null;
  /** Folders on the way that are missing, the outermost first. */
  readonly missing: readonly BytePath[];
}

/**
 * Walks a name below a real folder. No link is followed, not even one that stays inside, so that one file has one name.
 * @throws KeeperError `AF_PATCH_REJECTED`
 */
async function placeOf(folder: BytePath, name: BytePath): Promise<Place> {
  const missing: BytePath[] = [];
  const parts = name.split('/');
  let path = folder;
  for (const part of parts.slice(0, -1)) {
    path = `${path}/${part}`;
    const stat = missing.length > 0 ? null : await lstatOrNull(path);
    if (stat === null) missing.push(path);
    else if (stat.isSymbolicLink()) throw rejected(name, `it leads through the symbolic link ${displayPath(path)}`);
    else if (!stat.isDirectory()) throw rejected(name, `${displayPath(path)} is not a folder`);
  }
  path = `${path}/${parts.at(-1) ?? ''}`;
  return { path, stat: missing.length > 0 ? null : await lstatOrNull(path), missing };
}

function rejected(name: BytePath, why: string): KeeperError {
  return new KeeperError('AF_PATCH_REJECTED', `${displayPath(name)}: ${why}`);
}

type Before = Awaited<ReturnType<typeof readOld>>;

async function readOld(base: BytePath, name: BytePath) {
  const place = await placeOf(base, name);
  if (place.stat === null) throw rejected(name, 'there is no such file');
  if (!place.stat.isFile()) throw rejected(name, 'it is not a regular file');
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  await using handle = await open(sysPath(place.path), flags);
  const { size, mode } = await handle.stat();
  if (size > editBounds.fileBytes) throw new KeeperError('AF_TOO_LARGE', `${displayPath(name)} has ${size} bytes`);
  return { place, content: await handle.readFile(), mode: mode & 0o777 };
}

function assertExpected({ from, to }: Section, content: Buffer | null, hashes: Map<BytePath, string | null>): void {
  for (const name of new Set([from, to])) {
    const expected = name === null ? undefined : hashes.get(name);
    if (name === null || expected === undefined) continue;
    hashes.delete(name);
    const there = name === from && content !== null ? hash('sha256', content) : null;
    if (there === expected) continue;
    const is = there === null ? 'is not there' : `has the SHA-256 ${there}`;
    throw new KeeperError('AF_EDIT_STALE', `${displayPath(name)} ${is}, expected was ${expected ?? 'that it is not there'}`);
  }
}

async function changeOf(base: BytePath, section: Section, before: Before | null): Promise<Change> {
  const { from, to } = section;
  const after = patched(section, before?.content ?? Buffer.alloc(0));
  const old = before?.place.path ?? null;
  if (to === null) {
    if (after.content.length > 0) throw rejected(from ?? '', 'it is to be deleted and holds more than the diff takes away');
    return { old, before: before?.content ?? null, fresh: null, reported: reportedOf(from ?? '', 'D', null, before?.mode ?? 0, after) };
  }
  const place = from === to && before !== null ? before.place : await placeOf(base, to);
  if (from !== to && place.stat !== null) throw rejected(to, 'it is there already');
  const mode = modeOf(before?.mode ?? 0o644, section.executable);
  const op = from === null ? 'A' : from === to ? 'M' : 'R';
  const reported = {
    ...reportedOf(to, op, after.content, mode, after),
    ...(op === 'R' && from !== null ? { from: displayPath(from) } : {}),
  };
  return {
    old,
    before: before?.content ?? null,
    fresh: { path: place.path, content: after.content, mode, folders: place.missing },
    reported,
  };
}

function patched({ from, to, hunks }: Section, before: Buffer) {
  const name = from ?? to ?? '';
  const content = before.toString('latin1');
  const lines = hunks.length === 0 ? 0 : linesOf(content).length;
  if (lines > patchBounds.lines)
    throw new KeeperError('AF_TOO_LARGE', `${displayPath(name)} has ${lines} lines, ${patchBounds.lines} can be patched`);
  const applied = applyHunks(content, hunks);
  if ('why' in applied) {
    throw rejected(name, `hunk ${applied.hunk.number} (line ${applied.hunk.line} of the diff) does not fit: ${applied.why}`);
  }
  return { content: hunks.length === 0 ? before : Buffer.from(applied.content, 'latin1'), offsets: applied.offsets };
}

/** Git's modes only distinguish executable or not, for all who may read. */
function modeOf(mode: number, executable: boolean | null): number {
  if (executable === null) return mode;
  return executable ? mode | ((mode & 0o444) >> 2) : mode & ~0o111;
}

function reportedOf(
  name: BytePath,
  op: PatchedFile['op'],
  content: Buffer | null,
  mode: number,
  { offsets }: Pick<PatchedFile, 'offsets'>,
): PatchedFile {
  return {
    path: displayPath(name),
    op,
    sha256: content === null ? null : hash('sha256', content),
    bytes: content?.length ?? 0,
    mode,
    offsets,
  };
}

/** The new content and the hunks that were found at another line; or why a hunk does not fit. */
export type Applied =
  | { readonly content: string; readonly offsets: readonly { readonly hunk: number; readonly lines: number }[] }
  | { readonly hunk: Hunk; readonly why: string };

/** Lines with their ends; a last one may have none. No content has no lines. */
export function linesOf(content: string): readonly string[] {
  return content.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** Bound of searches for moved hunks: this many passes over the lines of a file on average. */
const searches = 8;
const freeSteps = 100_000;

/**
 * Applies the hunks of one file in their order; context must match byte for byte. Pure; contents are bytes (latin1). A
 * hunk is tried at its line, shifted like the hunk before it; then at the only place after the last hunk where it fits.
 */
export function applyHunks(content: string, hunks: readonly Hunk[]): Applied {
  const lines = linesOf(content);
  const result: string[] = [];
  const offsets: { hunk: number; lines: number }[] = [];
  const budget = { steps: searches * lines.length + freeSteps };
  let [end, moved] = [0, 0];
  for (const hunk of hunks) {
    const stated = hunk.before.length === 0 ? hunk.start : hunk.start - 1;
    const place = hunkPlace({ lines, end, guess: stated + moved }, hunk, stated, budget);
    if (typeof place === 'string') return { hunk, why: place };
    moved = place - stated;
    if (moved !== 0) offsets.push({ hunk: hunk.number, lines: moved });
    for (; end < place; end++) result.push(lines[end] ?? '');
    const first = result.length;
    for (const line of hunk.after) result.push(line);
    end += hunk.before.length;
    if (isTorn(result, first, end < lines.length)) return { hunk, why: 'a line without a newline would stand in the middle of the file' };
  }
  for (; end < lines.length; end++) result.push(lines[end] ?? '');
  return { content: result.join(''), offsets };
}

interface Search {
  readonly lines: readonly string[];
  /** Lines that the hunks before have dealt with. */
  readonly end: number;
  readonly guess: number;
}

/** Returns the place of a hunk, or why it has none. */
function hunkPlace({ lines, end, guess }: Search, { before }: Hunk, stated: number, budget: { steps: number }): number | string {
  const fits = (at: number): boolean =>
    at >= end && at + before.length <= lines.length && before.every((line, n) => line === lines[at + n]);
  if (fits(guess)) return guess;
  if (before.length === 0) {
    return guess < end ? 'it goes before the end of the hunk above it' : `the file has ${lines.length} lines, it goes after line ${stated}`;
  }
  if (fits(stated)) return stated;
  const why = mismatch(lines, before, Math.max(guess, end));
  budget.steps -= lines.length - end;
  if (budget.steps < 0) return `${why}; too many hunks before it were not at their lines to search for it`;
  const others = occurrences(lines, before, 2, end);
  const [only] = others;
  if (only !== undefined && others.length === 1) return only;
  return others.length > 1 ? `${why}; it fits at several other lines` : why;
}

function mismatch(lines: readonly string[], before: readonly string[], at: number): string {
  const first = before.findIndex((line, n) => line !== lines[at + n]);
  const n = Math.max(0, first);
  const there = lines[at + n];
  const what = there === undefined ? `is not there, the file has ${lines.length} lines` : `is ${shown(there)}`;
  return `line ${at + n + 1} of the file ${what}, the hunk has ${shown(before[n] ?? '')}`;
}

function shown(line: string): string {
  const text = Buffer.from(line.replace(/\n$/, '').slice(0, 120), 'latin1').toString('utf8');
  return `${JSON.stringify(text)}${line.endsWith('\n') ? '' : ' without a newline'}`;
}

/** Reports whether a line from the one before `first` on has no newline and is not the last. */
function isTorn(result: readonly string[], first: number, more: boolean): boolean {
  const last = more ? result.length : result.length - 1;
  for (let at = Math.max(0, first - 1); at < last; at++) {
    if (result[at]?.endsWith('\n') === false) return true;
  }
  return false;
}
