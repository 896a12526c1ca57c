// hack, images: run of a program in a fixed environment. Of other folders imports hack/cache, hack/cluster/build.
import { execa } from 'execa';

/** Options of a program's run: folder, extra environment, and abort signal. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal | undefined;
}

/** Influences excluded from builds are fixed for every child: locale, time zone, clock. The caller's umask is replaced too. */
const fixedEnvironment = { LC_ALL: 'C', TZ: 'UTC', SOURCE_DATE_EPOCH: '0' } as const;

/**
 * Runs a program of the pipeline and returns its standard output without the last line end.
 * Throws an `Error` with the program, the reason and the last lines of its standard error.
 */
export async function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const result = await execa('sh', ['-c', 'umask 022 && exec "$@"', 'sh', program, ...args], {
    reject: false,
    stdin: 'ignore',
    env: { ...fixedEnvironment, ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.signal === undefined ? {} : { cancelSignal: options.signal }),
  });
  if (!result.failed) return result.stdout;
  options.signal?.throwIfAborted();
  const reason = result.exitCode === undefined ? (result.signal ?? 'did not start') : `exit code ${result.exitCode}`;
  throw new Error(`${program} ${args[0] ?? ''} failed (${reason}): ${lastLines(result.stderr)}`);
}

function lastLines(text: string): string {
  return text.trim().split('\n').slice(-6).join('\n  ') || 'it said nothing';
}

/** An external part that is not available now. An optional image is left out; of another it is a failure. */
export class PartUnavailable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'PartUnavailable';
  }
}
