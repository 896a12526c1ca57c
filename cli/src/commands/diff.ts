import { obtainIntact, type ArtifactFlags } from '../evidence/artifact.ts';
import type { AgentTask } from '@agentfleet/protocol/api';
import { CliError } from '../base/failure.ts';
import { printableLines } from '@agentfleet/protocol/text';
import { taskOf, type CommandContext } from './command.ts';
import { save } from './results.ts';

const artifactName = 'change.patch';
/** End of a patch that the worker cut for the status. */
const cutInStatus = /\n… cut; [^\n]*\n$/;
/** End of a patch that is longer than any that the keeper makes. */
const cutByKeeper = /^# cut at .*$/m;

/** The whole patch: of the status where it is whole there, else the artifact; half a patch would be applied without a word. @throws CliError */
async function patchOf(context: CommandContext, task: AgentTask, flags: ArtifactFlags): Promise<string> {
  const shown = task.status?.run?.patch;
  const wanted = flags.file !== undefined || flags.endpoint !== undefined;
  if (!wanted && shown !== undefined && !cutInStatus.test(shown)) return shown;
  return (await obtainIntact(task, artifactName, flags, context)).toString('utf8');
}

/** Prints what a task changed: as it is for a program, safe for a terminal. */
export async function diff(context: CommandContext, name: string, flags: ArtifactFlags): Promise<void> {
  const patch = (await patchOf(context, await taskOf(context, name), flags)).replace(/\n$/, '');
  if (patch === '') return context.warn(`AgentTask ${name} changed nothing that a patch shows`);
  if (!context.terminal) context.print(patch);
  else for (const line of printableLines(patch)) context.print(line);
  const cut = cutByKeeper.exec(patch)?.[0];
  if (cut !== undefined) context.warn(`the patch is not whole (${cut.slice(2)}); revert.tar and redo.sh in it have all of the change`);
}

/** Saves the patch of a task that has ended; reports why where it cannot be had. @throws CliError when it cannot be written */
export async function saveDiff(context: CommandContext, task: AgentTask, path: string): Promise<void> {
  let patch: string;
  try {
    patch = await patchOf(context, task, {});
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return context.warn(error.message);
  }
  if (patch === '') return context.print('it changed nothing that a patch shows');
  await save(path, patch.endsWith('\n') ? patch : `${patch}\n`);
  context.print(`the patch is in ${path}: git apply ${path}`);
}
