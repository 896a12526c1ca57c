import { hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { constants, type Stats } from 'node:fs';
import { editBounds, patchBounds, type PatchedFile, type PatchRequest } from '@agentfleet/protocol/keeper';
import { KeeperError } from '../../base/failure.ts';
import { bytesOf, displayPath, sysPath, type BytePath } from '../../snapshot/index.ts';
import { applyHunks, linesOf } from './apply.ts';
import { lstatOrNull } from '../tree/resolve.ts';
import type { Section } from './parse.ts';

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

/** Resolved target of a name in a patch. */
interface Place {
  readonly path: BytePath;
  /** Null when nothing is there. */
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

/** Returns a refusal caused by the content of the tree. */
function rejected(name: BytePath, why: string): KeeperError {
  return new KeeperError('AF_PATCH_REJECTED', `${displayPath(name)}: ${why}`);
}

interface Before {
  readonly place: Place;
  readonly content: Buffer;
  readonly mode: number;
}

async function readOld(base: BytePath, name: BytePath): Promise<Before> {
  const place = await placeOf(base, name);
  if (place.stat === null) throw rejected(name, 'there is no such file');
  if (!place.stat.isFile()) throw rejected(name, 'it is not a regular file');
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(sysPath(place.path), flags);
  try {
    const { size, mode } = await handle.stat();
    if (size > editBounds.fileBytes) throw new KeeperError('AF_TOO_LARGE', `${displayPath(name)} has ${size} bytes`);
    return { place, content: await handle.readFile(), mode: mode & 0o777 };
  } finally {
    await handle.close();
  }
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

interface After {
  readonly content: Buffer;
  readonly offsets: PatchedFile['offsets'];
}

function patched({ from, to, hunks }: Section, before: Buffer): After {
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

function reportedOf(name: BytePath, op: PatchedFile['op'], content: Buffer | null, mode: number, { offsets }: After): PatchedFile {
  return {
    path: displayPath(name),
    op,
    sha256: content === null ? null : hash('sha256', content),
    bytes: content?.length ?? 0,
    mode,
    offsets,
  };
}
