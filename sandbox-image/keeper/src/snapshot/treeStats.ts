import { spawn } from 'node:child_process';

/** Stats of all names below a root at once, by more threads than Node has for it. */
export interface TreeStats {
  /** From how many names on it is worth starting a program. */
  readonly worthFrom: number;
  /** The records of `runner stat`; null when there are more than `maxEntries`, or it did not work: then each name is asked for. */
  read(rootPath: string, maxEntries: number): Promise<Buffer | null>;
}

/** Fewer names are asked for one by one in the time that a program takes to start. */
const WORTH_FROM = 2000;

/** {@link TreeStats} by `<binary> stat <root> <max>`. */
export function treeStatsByRunner(binary: string, worthFrom: number = WORTH_FROM): TreeStats {
  return { worthFrom, read: (rootPath, maxEntries) => output(binary, ['stat', rootPath, String(maxEntries)]) };
}

function output(command: string, args: readonly string[]): Promise<Buffer | null> {
  const { promise, resolve } = Promise.withResolvers<Buffer | null>();
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'], env: {} });
  const pieces: Buffer[] = [];
  child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
  child.on('error', () => resolve(null));
  child.on('close', (code) => resolve(code === 0 ? Buffer.concat(pieces) : null));
  return promise;
}
