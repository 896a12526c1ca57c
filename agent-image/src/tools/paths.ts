import { posix } from 'node:path';
import { KeeperRefusal } from '@agentfleet/keeper/client';
import type { FileLines } from '@agentfleet/protocol/keeper';
import type { Hands } from '../attempt/hands.ts';
import { plain } from './text.ts';
import { ArgumentError } from './tool.ts';

/** A path as a model wrote it, below the workspace. @throws ArgumentError for one outside of it */
export function workspacePath(hands: Hands, path: string): string {
  const { path: root } = hands.root;
  const relative = posix.relative(root, posix.resolve(root, path));
  if (relative === '..' || relative.startsWith('../'))
    throw new ArgumentError(`path: ${plain(path)} is outside of the workspace ${root}; give a path below it, such as src/a.py`);
  return relative;
}

/** A path that is there and looks like one that is not; null when there is none. */
export function similarPath(path: string, tree: readonly string[]): string | null {
  const name = posix.basename(path).toLowerCase();
  const same = tree.filter((one) => posix.basename(one).toLowerCase() === name);
  return same.toSorted((a, b) => a.length - b.length)[0] ?? null;
}

/** Lines of a text file as a model may see them, without secrets; from 1, both ends included. */
export function linesAt(hands: Hands, path: string, from?: number, to?: number): Promise<FileLines> {
  return hands.call((keeper) => keeper.readLines(hands.absolute(path), from, to));
}

/** A path anywhere, as a model wrote it: relative ones are below the workspace. */
export function anyPath(hands: Hands, path: string): string {
  return posix.resolve(hands.root.path, path);
}

/** The same path as a model best reads it: relative where it is below the workspace. */
export function shownPath(hands: Hands, path: string): string {
  const { path: root } = hands.root;
  return plain(path === root ? '.' : path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path);
}

/** Cures for a model of refusals that are about what it asked for; the keeper's own speak of its requests. */
const cures: Readonly<Record<string, string>> = {
  AF_PATH_OUTSIDE_ROOTS: 'give a path below the workspace; read other files with a command',
  AF_FILE_NOT_FOUND: 'search for it, or list its folder',
  AF_FILE_NOT_REGULAR: 'name a file',
  AF_FILE_BINARY: 'look at it with a command',
  AF_INVALID: 'correct the argument',
  AF_TOO_LARGE: 'send less at a time',
  AF_READERS_UNAVAILABLE: 'run it and what uses it in one command',
  AF_QUOTA_EXCEEDED: 'delete what is not needed by edits, or go back with undo',
};

/** Runs a call of the keeper; a refusal of what the model asked for becomes an ArgumentError with a cure that it can follow. */
export async function forModel<T>(field: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const cure = error instanceof KeeperRefusal ? cures[error.code] : undefined;
    if (cure === undefined) throw error;
    throw new ArgumentError(`${field}: ${wordsOf(error as KeeperRefusal)}; ${cure}`);
  }
}

/** What a refusal says, without its code and cure. */
export function wordsOf({ code, message, cure }: KeeperRefusal): string {
  return plain(message.replace(`${code}: `, '').replace(` (${cure})`, ''));
}
