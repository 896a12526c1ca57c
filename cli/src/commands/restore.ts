import { isAlreadyExists, isNotFound, ResourceClient, type Transport } from '@agentfleet/kube';
import { apiVersion, fieldManagers, type AgentTaskStatus } from '@agentfleet/protocol/api';
import { type ConnectionFlags, refuseNamespace } from '../base/connection.ts';
import { CliError, readNamed } from '../base/failure.ts';
import { explain } from '../base/explain.ts';
import { printable } from '@agentfleet/protocol/text';
import { savedKinds, type Saved } from './backup.ts';
import type { CommandContext } from './command.ts';
import { heldUntil, operatorLeases } from './leader.ts';

interface RestoreFlags extends ConnectionFlags {
  /** Pools and models whose rollout was under way begin with what their spec asks for. */
  readonly openRollouts?: boolean;
}

/** Objects of a backup, by kind in the order in which they are made. @throws CliError for a file that is none */
async function readBackup(file: string): Promise<readonly Saved[]> {
  const text = await readNamed(file, 'name a file of "fleet backup"');
  const { loadManifests } = await import('@agentfleet/kube/manifests');
  let documents: readonly unknown[];
  try {
    documents = loadManifests(text);
  } catch (error) {
    throw new CliError(`${file} is no YAML (${error instanceof Error ? error.message : String(error)}); take a file of "fleet backup"`);
  }
  const kinds = savedKinds.map(({ kind }) => kind);
  return documents.map((one, at) => {
    const object = one as Partial<Saved>;
    const known = object.apiVersion === apiVersion && kinds.includes(object.kind ?? '');
    if (known && typeof object.metadata?.name === 'string' && typeof object.metadata.namespace === 'string') return object as Saved;
    throw new CliError(
      `${file}: document ${at + 1} is no object of ${apiVersion} with a name and a namespace; take a file of "fleet backup", rewritten by "fleet migrate" where it is of an older version`,
    );
  });
}

/** Returns the reason why a pool or model is not made again as it is; undefined: it is. Pure. */
function openRollout({ status }: Saved): string | undefined {
  const { phase = 'Idle', canary } = (status?.['rollout'] ?? {}) as { readonly phase?: string; readonly canary?: string };
  if (phase === 'Idle' && canary === undefined) return undefined;
  return `its rollout was ${phase}, and its spec is what was tried; write into the file what shall serve, or give --open-rollouts, by which the spec serves at once`;
}

/** The status with which a task is made again: that of one that has ended, as of the new object. Pure. */
function restoredStatus({ status }: Saved, generation: number): { readonly own: AgentTaskStatus; readonly run: unknown } | undefined {
  const { run, storage: _s, sandbox: _b, queue: _q, messages: _m, ...own } = (status ?? {}) as AgentTaskStatus;
  if (own.finished !== 'true') return undefined;
  const conditions = (own.conditions ?? []).map((condition) => ({ ...condition, observedGeneration: generation }));
  return { own: { ...own, observedGeneration: generation, conditions }, run };
}

/** Refuses while an operator leads: it would begin a task before its status shows that it has ended. */
async function demandNoOperator(context: CommandContext): Promise<void> {
  for (const lease of await operatorLeases(context)) {
    if ((lease.spec?.holderIdentity ?? '') === '' || !(heldUntil(lease) >= context.clock.now())) continue;
    const { namespace = '' } = lease.metadata;
    throw new CliError(
      `an operator runs in namespace ${namespace}, and would start tasks that have ended; stop it until this is done: kubectl -n ${namespace} scale deployment agentfleet-operator --replicas=0`,
    );
  }
}

type Outcome = 'made' | 'there' | 'refused';

/** Makes the objects of a backup again, in a cluster whose operator does not run. What is there already stays as it is. */
export async function restore(context: CommandContext, file: string, { openRollouts = false, namespace }: RestoreFlags): Promise<void> {
  refuseNamespace('restore', namespace);
  const { print } = context;
  const objects = await readBackup(file);
  await demandNoOperator(context);
  const counts: Record<Outcome, number> = { made: 0, there: 0, refused: 0 };
  for (const resource of savedKinds) {
    const own = objects.filter(({ kind }) => kind === resource.kind);
    if (resource.kind === 'AgentTaskOrder') {
      if (own.length > 0)
        print(`${own.length} AgentTaskOrders are not made again: they were given by others, and tasks keep what was decided`);
      continue;
    }
    for (const object of own) {
      const name = `${resource.kind} ${object.metadata.namespace ?? ''}/${object.metadata.name}`;
      const why = openRollouts ? undefined : openRollout(object);
      const [outcome, words] = why === undefined ? await make(context, resource, object) : (['refused', why] as const);
      counts[outcome] += 1;
      if (words !== undefined) print(printable(`${name}: ${words}`));
    }
  }
  print(`${counts.made} made, ${counts.there} there already, ${counts.refused} refused`);
  if (counts.refused > 0) throw new CliError(`${counts.refused} objects are not restored; mend what is said above, and call it again`);
}

async function make(
  { transport, signal }: { readonly transport: Transport; readonly signal: AbortSignal },
  resource: (typeof savedKinds)[number],
  object: Saved,
): Promise<readonly [Outcome, string | undefined]> {
  const client = new ResourceClient<Saved>(transport, resource);
  const ran = resource.kind === 'AgentTask' && hasRun(object);
  let isMade = false;
  try {
    const { status: _, ...bare } = object;
    // Suspended at first, also where it has ended: without its status it would be begun anew.
    const made = await client.create(ran ? { ...bare, spec: { ...bare.spec, suspend: true } } : bare, { signal });
    isMade = true;
    if (!ran) return ['made', undefined];
    if (!hasEnded(object)) return ['made', 'had begun and not ended; it is suspended, and begins anew with "fleet resume"'];
    await end(client, object, made, signal);
    return ['made', undefined];
  } catch (error) {
    if (isAlreadyExists(error)) return there(client, resource.kind, object, signal);
    if (isNotFound(error) && (error as Error).message.includes(`namespaces "`))
      return ['refused', `there is no namespace ${object.metadata.namespace ?? ''}; make it`];
    const { message } = explain(error);
    return ['refused', isMade ? `it is there and suspended, without the status that says that it has ended: ${message}` : message];
  }
}

/** One of an earlier call that was interrupted between object and status gets its status now; all others stay as they are. */
async function there(client: ResourceClient<Saved>, kind: string, object: Saved, signal: AbortSignal): Promise<readonly [Outcome, string]> {
  const { name, namespace } = object.metadata;
  try {
    const found = await client.get({ name, ...(namespace === undefined ? {} : { namespace }) }, { signal });
    if (kind === 'AgentTask' && hasEnded(object) && found.status === undefined) await end(client, object, found, signal);
    return ['there', 'is there already, and stays as it is'];
  } catch (error) {
    return ['refused', `it is there, and its status is not restored: ${explain(error).message}`];
  }
}

function hasEnded({ status }: Saved): boolean {
  return (status as AgentTaskStatus | undefined)?.finished === 'true';
}

/** Reports whether a task has had a worker or has ended: its effects outside are not undone by a restore. */
function hasRun(task: Saved): boolean {
  return hasEnded(task) || (task.status as AgentTaskStatus | undefined)?.assignment !== undefined;
}

/** Ends a task that is suspended, or was left so by an earlier call: its status first, and then its spec as it was. */
async function end(client: ResourceClient<Saved>, saved: Saved, made: Saved, signal: AbortSignal): Promise<void> {
  const { name, namespace, generation = 1 } = made.metadata;
  const isLifted = saved.spec?.['suspend'] !== true && made.spec?.['suspend'] === true;
  await writeStatus(client, saved, isLifted ? generation + 1 : generation, signal);
  if (!isLifted) return;
  const suspend = saved.spec?.['suspend'] ?? null;
  await client.patch({ name, ...(namespace === undefined ? {} : { namespace }) }, { spec: { suspend } }, { fieldManager: 'fleet', signal });
}

/** In the names of operator and worker, so that both go on to own what they wrote. */
async function writeStatus(client: ResourceClient<Saved>, saved: Saved, generation: number, signal: AbortSignal): Promise<void> {
  const status = restoredStatus(saved, generation);
  if (status === undefined) return;
  const { name, namespace } = saved.metadata;
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
  await client.applyStatus({ metadata, status: status.own }, { fieldManager: fieldManagers.operator, signal });
  if (status.run === undefined) return;
  await client.applyStatus({ metadata, status: { run: status.run } }, { fieldManager: fieldManagers.worker, signal });
}
