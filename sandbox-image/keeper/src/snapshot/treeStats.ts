import { processEach, type Program } from './program.ts';

/** Stats of all names below a root at once, by more threads than Node has for it. */
export interface TreeStats {
  /** From how many names on it is worth starting a program. */
  readonly worthFrom: number;
  /** The records of `runner stat`; null when there are more than `maxEntries`, or it did not work: then each name is asked for. */
  read(rootPath: string, maxEntries: number): Promise<Buffer | null>;
}

/** Fewer names are asked for one by one in the time that a program takes to start. */
const WORTH_FROM = 2000;

/** {@link TreeStats} by `runner stat <root> <max>`. */
export function treeStatsByRunner(runner: string | Program, worthFrom: number = WORTH_FROM): TreeStats {
  const program = typeof runner === 'string' ? processEach(runner) : runner;
  return {
    worthFrom,
    read: async (rootPath, maxEntries) => {
      const run = program.start(['stat', rootPath, String(maxEntries)]);
      run.end();
      const { code, stdout } = await run.ended.catch(() => NOT_STARTED);
      return code === 0 ? stdout : null;
    },
  };
}

const NOT_STARTED = { code: null, stdout: Buffer.alloc(0) };
