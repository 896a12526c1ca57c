// sandbox-image/keeper, snapshot/base: file stats of a whole tree by `runner stat`. May import protocol alone.
import { processEach, type Program } from './program.ts';

/** Stats of all names below a root at once, by more threads than Node has for it. */
export interface TreeStats {
  /** Number of names from which starting a program pays off. */
  readonly worthFrom: number;
  /**
   * Reads the output of `runner stat`; `since` is the token of its last answer, of which it omits unchanged records.
   * Null when there are more than `maxEntries`, or it failed: then each name is stat'ed separately.
   */
  read(rootPath: string, maxEntries: number, since: string | null): Promise<StatAnswer | null>;
}

/** An answer of `runner stat`. */
export interface StatAnswer {
  readonly token: string;
  /** A name without a record is unchanged since the last answer. */
  readonly changesOnly: boolean;
  readonly records: Buffer;
}

/** Fewer names are asked for one by one in the time that a program takes to start. */
const WORTH_FROM = 2000;
const TOKEN_BYTES = 16;
const NOT_STARTED = { code: null, stdout: Buffer.alloc(0) };

/** {@link TreeStats} by `runner stat <root> <max> <since>`. */
export function treeStatsByRunner(runner: string | Program, worthFrom: number = WORTH_FROM): TreeStats {
  const program = typeof runner === 'string' ? processEach(runner) : runner;
  return {
    worthFrom,
    read: async (rootPath, maxEntries, since) => {
      const run = program.start(['stat', rootPath, String(maxEntries), since ?? '-']);
      run.end();
      const { code, stdout } = await run.ended.catch(() => NOT_STARTED);
      const kind = stdout[TOKEN_BYTES];
      // A list of changes is meaningless without the answer that it refers to.
      if (code !== 0 || (kind !== 0 && (kind !== 1 || since === null))) return null;
      return {
        token: stdout.toString('hex', 0, TOKEN_BYTES),
        changesOnly: kind === 1,
        records: stdout.subarray(TOKEN_BYTES + 1),
      };
    },
  };
}
