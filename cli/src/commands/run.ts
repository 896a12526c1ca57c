import { asError, isAlreadyExists, isInvalid, ResourceClient } from '@agentfleet/kube';
import { apiVersion, type AgentTask } from '@agentfleet/protocol/api';
import { agentTasks } from '../base/connection.ts';
import { CliError, readNamed } from '../base/failure.ts';
import { repositoryOf, workspaceOf } from '../source/folder.ts';
import { objectLines } from '../text/format.ts';
import { printable } from '@agentfleet/protocol/text';
import type { CommandContext } from './command.ts';
import { saveDiff } from './diff.ts';
import { assertDelivered, assertSucceeded, followed } from './follow.ts';
import { resultLines } from './results.ts';

interface RunFlags {
  readonly from?: string;
  readonly check: readonly string[];
  /** A person accepts or rejects the result as well. */
  readonly review?: boolean;
  readonly pool?: string;
  readonly name?: string;
  readonly patch?: string;
  readonly pullRequest?: boolean;
  /** Of the pool, for the repository. */
  readonly credential?: string;
  readonly detach?: boolean;
  readonly dryRun?: boolean;
  readonly timeout: number;
  /** As given by `-n`. */
  readonly namespace?: string;
}

type NewTask = Pick<AgentTask, 'apiVersion' | 'kind'> & {
  readonly metadata: { readonly name?: string; readonly generateName?: string; readonly namespace?: string };
  readonly spec: Readonly<Record<string, unknown>>;
};

function poolRefOf(pool: string): { readonly name: string; readonly namespace?: string } {
  const [first = '', second, ...more] = pool.split('/');
  if (first === '' || second === '' || more.length > 0) throw new CliError(`--pool ${pool} is no pool; write NAME, or NAMESPACE/NAME`);
  return second === undefined ? { name: first } : { namespace: first, name: second };
}

/** A name from what the task is for: the first words of its goal. */
function stemOf(goal: string): string {
  const words = goal.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  return words.slice(0, 4).join('-').slice(0, 40).replace(/-$/, '') || 'task';
}

/** The folder as it is, or the repository that it was pushed to and that the result goes back to. */
async function sourceOf(folder: string, { pullRequest, credential }: RunFlags): Promise<Readonly<Record<string, unknown>>> {
  if (pullRequest !== true) {
    if (credential !== undefined) throw new CliError('--credential goes with --pull-request; a folder by itself needs none');
    return { workspace: await workspaceOf(folder) };
  }
  const { git, ...workspace } = await repositoryOf(folder);
  const trusted = credential === undefined ? {} : { credential };
  return { workspace: { ...workspace, git: { ...git, ...trusted } }, output: { git: { pullRequest: {} } } };
}

async function ofFolder(folder: string, goal: string, flags: RunFlags): Promise<NewTask> {
  const { check, review = false, pool, name } = flags;
  if (check.length === 0 && !review)
    throw new CliError(`no check says when the goal is reached; give one that runs in the folder, such as --check 'npm test', or --review`);
  const commands = check.map((line, at) => ({ name: `check-${at + 1}`, command: ['sh', '-c', line] }));
  const checks = [...commands, ...(review ? [{ name: 'review', type: 'Review' }] : [])];
  return {
    apiVersion,
    kind: 'AgentTask',
    metadata: name === undefined ? { generateName: `${stemOf(goal)}-` } : { name },
    spec: { goal, checks, ...(await sourceOf(folder, flags)), ...(pool === undefined ? {} : { poolRef: poolRefOf(pool) }) },
  };
}

async function read(file: string): Promise<string> {
  if (file !== '-') return readNamed(file, 'name the YAML of an AgentTask, or give --from FOLDER, --check and a goal');
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function ofFile(
  file: string,
  { pool, name, check, review = false, pullRequest = false, credential, namespace }: RunFlags,
): Promise<NewTask> {
  if (pullRequest || credential !== undefined)
    throw new CliError('--pull-request and --credential go with --from; a file has spec.output.git and spec.workspace.git.credential');
  if (check.length > 0 || review) throw new CliError('--check and --review go with --from; the checks of a file are its spec.checks');
  const { loadManifests } = await import('@agentfleet/kube/manifests');
  let documents: readonly unknown[];
  try {
    documents = loadManifests(await read(file));
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`${file} is no YAML (${(error instanceof Error ? error.message : String(error)).split('\n')[0] ?? ''}); correct it`);
  }
  const [task, ...more] = documents as readonly Partial<NewTask>[];
  if (task?.kind !== 'AgentTask' || more.length > 0)
    throw new CliError(`${file} is not the YAML of one AgentTask; give other objects to kubectl apply`);
  const own = task.metadata?.namespace;
  if (own !== undefined && namespace !== undefined && own !== namespace)
    throw new CliError(
      `${file} is for namespace ${printable(own)}, and -n names ${namespace}; leave -n out, or correct metadata.namespace`,
    );
  const spec = { ...task.spec, ...(pool === undefined ? {} : { poolRef: poolRefOf(pool) }) };
  return { apiVersion, kind: 'AgentTask', ...task, spec, metadata: { ...task.metadata, ...(name === undefined ? {} : { name }) } };
}

async function created(context: CommandContext, task: NewTask, dryRun: boolean): Promise<AgentTask> {
  const { transport, signal, namespace: current } = context;
  const namespace = task.metadata.namespace ?? current;
  const object = { ...task, metadata: { ...task.metadata, namespace } } as unknown as AgentTask;
  try {
    return await new ResourceClient(transport, agentTasks).create(object, { fieldManager: 'fleet', signal, dryRun });
  } catch (error) {
    if (isAlreadyExists(error))
      throw new CliError(
        `there is an AgentTask ${task.metadata.name ?? ''} in namespace ${namespace}; choose another --name, or delete it`,
      );
    if (isInvalid(error)) throw new CliError(`the API server refuses the task: ${printable((error as Error).message)}; correct that field`);
    throw error;
  }
}

/** Names the target of a folder's pull request, one line: as in the delivery, the default branch where the task works on a commit. Pure. */
function destinationOf({ spec: { workspace } }: AgentTask, { pullRequest }: RunFlags): readonly string[] {
  if (pullRequest !== true || workspace.type !== 'Git') return [];
  const { url, ref } = workspace.git;
  return [`its pull request goes into ${/^[0-9a-f]{40,}$/.test(ref) ? 'the default branch' : printable(ref)} of ${printable(url)}`];
}

/** Creates a task of a file or of a folder, follows it, prints its result and saves the patch. @throws CliError */
export async function runTask(context: CommandContext, words: string, flags: RunFlags): Promise<void> {
  const { from, detach = false, dryRun = false, patch } = flags;
  const wanted = from === undefined ? await ofFile(words, flags) : await ofFolder(from, words, flags);
  const task = await created(context, wanted, dryRun);
  const { name, namespace = context.namespace } = task.metadata;
  if (dryRun) {
    for (const line of await objectLines(wanted, 'yaml')) context.print(line);
    return;
  }
  context.print(`AgentTask ${namespace}/${name} is created`);
  for (const line of destinationOf(task, flags)) context.print(line);
  if (detach) return context.print(`follow it with "fleet watch ${name} -n ${namespace}"`);
  const here = { ...context, namespace };
  const ended = await followed(here, name, flags);
  for (const line of resultLines(ended)) context.print(line);
  assertSucceeded(ended);
  const [saved] = await Promise.allSettled([saveDiff(here, ended, patch ?? `${name}.patch`)]);
  if (saved.status === 'rejected' && ended.status?.run?.output?.reason !== undefined) context.warn(asError(saved.reason).message);
  assertDelivered(ended);
  if (saved.status === 'rejected') throw asError(saved.reason);
}
