import { statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { obtainIntact, type ArtifactFlags } from '../evidence/artifact.ts';
import { CliError } from '../base/failure.ts';
import { confirm, meaningOf, runRevert, unpackBundle, type Description, type ScriptEnd } from '../revert/index.ts';
import type { Mode } from '../revert/modes.ts';
import { printable } from '@agentfleet/protocol/text';
import { plural } from '../text/format.ts';
import { taskOf, type CommandContext } from './command.ts';

interface UndoFlags extends ArtifactFlags {
  /** Folder that stands for the workspace of the sandbox. */
  readonly into: string;
  readonly mode: Mode;
  /** Folders for other roots, by their names. */
  readonly root?: Readonly<Record<string, string>>;
}

const workspace = 'workspace';
const artifactName = 'revert.tar';
/** Lines of a list that are printed; a dry run prints all. */
const mostLines = 50;
const words: Readonly<Record<string, string>> = { A: 'bring back', D: 'remove', M: 'put back', T: 'replace' };

interface Undo {
  readonly context: CommandContext;
  readonly flags: UndoFlags;
  readonly folder: string;
  readonly description: Description;
  readonly roots: ReadonlyMap<string, string>;
}

function assertFolder(path: string, option: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new CliError(`there is no folder ${path}; correct ${option}`);
}

/** A folder for each root of the sandbox, empty for those that are left alone. Without one a script would take the sandbox's own. */
function rootsOf({ roots }: Description, { into, root = {} }: UndoFlags): ReadonlyMap<string, string> {
  const given: Readonly<Record<string, string>> = { ...root, [workspace]: into };
  const unknown = Object.keys(given).find((name) => !roots.includes(name));
  if (unknown !== undefined) throw new CliError(`the sandbox had no root ${unknown}; its roots: ${roots.join(', ')}`);
  if (root[workspace] !== undefined) throw new CliError('the folder of the workspace is that of --into; leave --root workspace out');
  for (const [name, path] of Object.entries(given)) assertFolder(path, name === workspace ? '--into' : `--root ${name}`);
  return new Map(roots.map((name) => [name, given[name] === undefined ? '' : resolve(given[name])]));
}

function printSome({ context, flags }: Undo, lines: readonly string[]): void {
  const most = flags.mode === 'dry-run' ? lines.length : mostLines;
  for (const line of lines.slice(0, most)) context.print(`  ${printable(line)}`);
  if (lines.length > most) context.print(`  and ${lines.length - most} more; --mode dry-run lists all`);
}

/** Prints what will be done, from what the script itself lists. */
function tellPlan(undo: Undo, task: string, listed: readonly string[]): void {
  const { context, description, roots } = undo;
  const { from, to, ops, irreversible, neverReverted, external } = description;
  context.print(
    `AgentTask ${task}: from snapshot ${to} back to ${from}, ${plural(listed.length, 'path')} in ${[...roots.values()].filter((path) => path !== '').join(', ')}`,
  );
  printSome(
    undo,
    listed.map((line) => `${words[line.charAt(0)] ?? line.charAt(0)} ${line.slice(2)}`),
  );
  for (const [name, path] of roots) {
    const count = ops.filter((op) => op.path.startsWith(`${name}/`)).length;
    if (path === '' && count > 0)
      context.print(`left alone: ${plural(count, 'path')} in root ${name} of the sandbox; --root ${name}=FOLDER names a folder for it`);
  }
  if (irreversible.length > 0) context.print('cannot be undone:');
  printSome(
    undo,
    irreversible.map(({ path, reason }) => `${path}: ${reason}`),
  );
  const standing = external.filter(({ state }) => state !== 'Undone');
  if (standing.length > 0) context.print('outside of the sandbox, and left alone here:');
  printSome(
    undo,
    standing.map(({ target, undo: by, why }) => `${target}: ${by === null ? why : `take it back in a clone with: ${by}`}`),
  );
  if (undo.flags.mode === 'dry-run') for (const line of neverReverted) context.print(`never undone: ${printable(line)}`);
}

const run = ({ context: { env, signal }, folder, roots }: Undo, mode: Mode): Promise<ScriptEnd> =>
  runRevert({ folder, roots, mode, env, signal });

function failed(undo: Undo, { code, err }: ScriptEnd): CliError {
  // The option of the script is another one than ours.
  printSome(
    undo,
    err.filter((line) => !line.endsWith('(--force overwrites them)')),
  );
  return new CliError(`not undone: ${meaningOf(code)} (revert.sh ended with ${code})`, code);
}

/** Looks first, then does it, then looks again. */
async function perform(undo: Undo, task: string): Promise<void> {
  const { context, flags, description, roots } = undo;
  const look = await run(undo, 'dry-run');
  if (look.code !== 0 && look.code !== 3) throw failed(undo, look);
  tellPlan(undo, task, look.out);
  if (look.code === 3 && flags.mode !== 'force') throw failed(undo, look);
  if (look.code === 3) {
    context.print('overwritten by --mode force:');
    printSome(
      undo,
      look.err.filter((line) => line.startsWith('conflict: ')),
    );
  }
  if (flags.mode === 'dry-run') return context.print('nothing was changed');
  const done = await run(undo, flags.mode);
  if (done.code !== 0) throw failed(undo, done);
  const wrong = await confirm(description.ops, roots);
  for (const line of done.err) context.print(printable(line));
  if (wrong.length === 0) return context.print(done.out.map(printable).join('\n'));
  printSome(undo, wrong);
  throw new CliError(`not undone: ${plural(wrong.length, 'path')} not as before; ${meaningOf(4)}`, 4);
}

/**
 * Takes what a task changed back out of a local folder by the revert script that the keeper made. The bundle must be the
 * one that the status names: it is a program, and it runs here.
 */
export async function undo(context: CommandContext, name: string, flags: UndoFlags): Promise<void> {
  const task = await taskOf(context, name);
  assertFolder(flags.into, '--into');
  const tar = await obtainIntact(task, artifactName, flags, context);
  const folder = await mkdtemp(join(tmpdir(), 'fleet-undo-'));
  try {
    const description = await unpackBundle(tar, folder);
    await perform({ context, flags, folder, description, roots: rootsOf(description, flags) }, name);
  } finally {
    await rm(folder, { recursive: true });
  }
}
