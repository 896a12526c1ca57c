import { mkdir, writeFile, lstat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { extract } from 'tar-stream';
import { fieldsOf, listOf, textOf } from '@agentfleet/protocol/text';
import { CliError } from '../base/failure.ts';
import type { Mode } from './modes.ts';
import { bytesOf } from '@agentfleet/keeper/snapshot/paths';
import { isScript } from '@agentfleet/keeper/snapshot/script';
import { decodePath } from '@agentfleet/protocol/keeper';
import { spawn, type SpawnOptionsWithStdioTuple, type StdioNull, type StdioPipe } from 'node:child_process';

/** One path that the task changed, as it was before (`From`). */
interface ChangedPath {
  /** Root, slash, path; bytes that are no text as `%XX`. */
  readonly path: string;
  readonly op: 'A' | 'M' | 'D' | 'T';
  readonly type: string;
  readonly modeFrom: string | null;
  readonly sizeFrom: number | null;
}

/** One effect outside of the sandbox, which no script of ours takes back: `undo` is a line for the task's own workspace. */
export interface ExternalEffect {
  readonly target: string;
  readonly state: string;
  readonly undo: string | null;
  readonly why: string;
}

/** `description.json` of a revert bundle. */
export interface Description {
  readonly from: string;
  readonly to: string;
  readonly roots: readonly string[];
  readonly ops: readonly ChangedPath[];
  readonly irreversible: readonly { readonly path: string; readonly reason: string }[];
  readonly neverReverted: readonly string[];
  /** Effects of acts outside of the sandbox; none in a bundle of an older keeper. */
  readonly external: readonly ExternalEffect[];
}

/** All that a bundle may hold: what is unpacked here is run here. */
const member = /^(?:revert\.sh|redo\.sh|description\.json|objects\/[0-9a-f]{64})$/;

/** Unpacks a bundle into a folder and returns its description. @throws CliError for what no keeper makes */
export async function unpackBundle(tar: Buffer, folder: string): Promise<Description> {
  const files = new Map<string, Buffer>();
  try {
    for await (const entry of Readable.from([tar]).pipe(extract())) {
      const { name, type } = entry.header;
      if (type !== 'file' || !member.test(name) || files.has(name))
        throw new CliError(`revert.tar holds ${name} (${type ?? 'unknown'}), which no keeper puts there; it is not used`);
      files.set(name, await buffer(entry));
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`revert.tar cannot be unpacked (${error instanceof Error ? error.message : String(error)}); fetch it again`);
  }
  const script = files.get('revert.sh');
  if (script !== undefined && !isScript(script.toString('latin1')))
    throw new CliError(
      'revert.sh is not as keepers of this release make it: it may be of another release, or of somebody in the pod of the sandbox; it is not run. Read it, then unpack revert.tar and run it yourself',
    );
  for (const [name, content] of files) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content, { flag: 'wx', mode: 0o600 });
  }
  const description = files.get('description.json');
  if (description === undefined || !files.has('revert.sh'))
    throw new CliError('revert.tar has no description.json or no revert.sh; fetch it again');
  return parse(description.toString('utf8'));
}

function effectOf(value: unknown): ExternalEffect {
  const { target, state, undo, why } = fieldsOf(value);
  return { target: textOf(target), state: textOf(state), undo: undo === null ? null : textOf(undo), why: textOf(why) };
}

function parse(text: string): Description {
  const { from, to, roots, ops, irreversible, neverReverted, external } = fieldsOf(JSON.parse(text));
  const names = listOf(roots).map(textOf);
  if (names.length === 0)
    throw new CliError('revert.tar was made by an older keeper, whose script knows no roots to leave alone; unpack it and run revert.sh');
  return {
    from: textOf(fieldsOf(from)['snapshot']),
    to: textOf(fieldsOf(to)['snapshot']),
    roots: names,
    ops: listOf(ops) as readonly ChangedPath[],
    irreversible: listOf(irreversible).map((one) => ({ path: textOf(fieldsOf(one)['path']), reason: textOf(fieldsOf(one)['reason']) })),
    neverReverted: listOf(neverReverted).map(textOf),
    external: (external === undefined ? [] : listOf(external)).map(effectOf),
  };
}

const missing: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR']);

function pathIn(folder: string, path: string): Buffer {
  const below = decodePath(bytesOf(path)).slice(path.indexOf('/') + 1);
  return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(below, 'latin1')]);
}

/** Describes how one path differs from what it should be; null when it is as it was. */
async function wrongWith(folder: string, { path, op, type, modeFrom, sizeFrom }: ChangedPath): Promise<string | null> {
  const found = await lstat(pathIn(folder, path)).catch((error: unknown) => {
    if (missing.has((error as { readonly code?: unknown }).code)) return null;
    throw error;
  });
  if (op === 'A') return found === null ? null : 'it is still there';
  if (found === null) return 'it is missing';
  // Of a path whose type changed the description names the new type only.
  if (op === 'T' || found.isSymbolicLink()) return op === 'T' || type === 'l' ? null : 'it is a symbolic link';
  if ((type === 'd') !== found.isDirectory()) return 'it is of another type';
  const mode = (found.mode & 0o7777).toString(8).padStart(4, '0');
  if (mode !== modeFrom) return `its mode is ${mode}, not ${modeFrom ?? 'known'}`;
  return type !== 'f' || found.size === sizeFrom ? null : `it has ${found.size} bytes, not ${sizeFrom ?? 'known'}`;
}

/**
 * Looks at every changed path again, by code that is not the script's: presence, type, mode and size. The contents were
 * compared by the script, by their hashes. Returns the paths that are not as they were.
 */
export async function confirm(ops: readonly ChangedPath[], roots: ReadonlyMap<string, string>): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const op of ops) {
    const folder = roots.get(op.path.slice(0, op.path.indexOf('/')));
    if (folder === undefined || folder === '') continue;
    const why = await wrongWith(folder, op);
    if (why !== null) wrong.push(`${op.path}: ${why}`);
  }
  return wrong;
}

interface ScriptRun {
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

/** Explains an exit status of the script other than 0, and what to do. */
export function meaningOf(code: number): string {
  return (
    meanings[code] ??
    'the script stopped in the middle, see the lines above (no room, no right?): mend that and run it again, it goes on where it stopped'
  );
}
