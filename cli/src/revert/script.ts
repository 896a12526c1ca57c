import { spawn, type SpawnOptionsWithStdioTuple, type StdioNull, type StdioPipe } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { CliError } from '../failure.ts';

export type Mode = 'guard' | 'force' | 'dry-run';

export interface ScriptRun {
  /** Folder of an unpacked bundle. */
  readonly folder: string;
  /** Folder for each root; an empty one is left alone. */
  readonly roots: ReadonlyMap<string, string>;
  readonly mode: Mode;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

export interface ScriptEnd {
  readonly code: number;
  readonly out: readonly string[];
  readonly err: readonly string[];
}

const lines = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');

/** Runs `revert.sh` to its end. Its environment is ours for it alone: it takes folders from variables, too. */
export async function runRevert({ folder, roots, mode, env, signal }: ScriptRun): Promise<ScriptEnd> {
  const named = [...roots].flatMap(([name, path]) => ['--root', `${name}=${path}`]);
  const args = [join(folder, 'revert.sh'), ...(mode === 'guard' ? [] : [`--${mode}`]), ...named];
  const options: SpawnOptionsWithStdioTuple<StdioNull, StdioPipe, StdioPipe> = {
    cwd: folder,
    env: { PATH: env['PATH'] ?? '/usr/bin:/bin' },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
  };
  const child = spawn('/bin/sh', args, options);
  const end = Promise.withResolvers<number | null>();
  child.once('error', end.reject);
  child.once('close', (code) => end.resolve(code));
  const [code, out, err] = await Promise.all([end.promise, text(child.stdout), text(child.stderr)]).catch((error: unknown) => {
    if (signal.aborted) throw new CliError('interrupted; run it again, it goes on where it stopped');
    throw new CliError(`/bin/sh cannot run revert.sh (${error instanceof Error ? error.message : String(error)})`);
  });
  if (code === null) throw new CliError('revert.sh was killed; run it again, it goes on where it stopped');
  return { code, out: lines(out), err: lines(err) };
}

const meanings: Readonly<Record<number, string>> = {
  2: 'the script refused its arguments, or a folder is not there: nothing was changed',
  3: 'paths are not as the task left them: nothing was changed. Look at them, then --mode force overwrites them; in a checkout with a history of its own, "fleet diff" and git apply -R take back the text changes alone',
  4: 'what is there does not verify, see the lines above: an object is damaged and nothing was changed, or another program writes here; run it again when that has ended',
  5: 'a symbolic link leads out of a path that is to be written: remove the link, then run it again',
};

/** What an exit status of the script means and what to do; 0 is none. */
export function meaningOf(code: number): string {
  return (
    meanings[code] ??
    'the script stopped in the middle, see the lines above (no room, no right?): mend that and run it again, it goes on where it stopped'
  );
}
