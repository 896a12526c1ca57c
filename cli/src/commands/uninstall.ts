import {
  defineResource,
  hasFinalizer,
  isConflict,
  isNotFound,
  removeFinalizer,
  ResourceClient,
  sleep,
  type KubeObject,
} from '@agentfleet/kube';
import { apiVersion, group, kinds } from '@agentfleet/protocol/api';
import { labels, sandboxFinalizer } from '@agentfleet/protocol/pool';
import { type ConnectionFlags, refuseNamespace } from '../base/connection.ts';
import { CliError } from '../base/failure.ts';
import { plural } from '../text/format.ts';
import type { CommandContext } from './command.ts';

interface UninstallFlags extends ConnectionFlags {
  /** Deletes; otherwise it only lists what there is. */
  readonly yes?: boolean;
  /** Seconds. */
  readonly timeout: number;
}

const pods = defineResource('v1', 'Pod', 'pods');

const pollMs = 2_000;
/** Requests at a time. */
const atOnce = 16;
/** Time for the operator to end sandboxes, ms: their own time of grace, and what the operator adds to it. */
const operatorMs = 90_000;

type Client = ResourceClient;

/** All objects of a kind; none where its definition is gone. */
async function listed(client: Client, signal: AbortSignal): Promise<readonly KubeObject[]> {
  try {
    return await client.list({ signal });
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

async function gone(write: Promise<unknown>): Promise<void> {
  await write.catch((error: unknown) => {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  });
}

async function each(objects: readonly KubeObject[], act: (object: KubeObject) => Promise<void>): Promise<void> {
  for (let at = 0; at < objects.length; at += atOnce) await Promise.all(objects.slice(at, at + atOnce).map(act));
}

/**
 * Deletes all objects of the fleet in the cluster, and waits until their sandboxes are gone. Where no operator ends them any more,
 * takes its finalizer off those that are being deleted. Definitions and volumes stay. Kinds go in the order of their list: tasks while
 * there are workers, pools while there is an operator. @throws CliError when something stays
 */
export async function uninstall(
  context: CommandContext,
  { yes = false, timeout: timeoutSeconds, namespace }: UninstallFlags,
): Promise<void> {
  refuseNamespace('uninstall', namespace);
  const { transport, signal, clock, print } = context;
  const clients = kinds.map(({ kind, plural }) => new ResourceClient(transport, defineResource(apiVersion, kind, plural)));
  const sandboxes = new ResourceClient(transport, pods);
  const begun = clock.monotonic();
  // Orders go with their tasks: all are counted before the first is deleted.
  const counts = await Promise.all(clients.map(async (client) => (await listed(client, signal)).length));
  const verb = (count: number): string => (yes ? ` ${count === 1 ? 'is' : 'are'} deleted` : '');
  for (const [at, count] of counts.entries()) print(`${plural(count, kinds[at]?.kind ?? '')}${verb(count)}`);
  if (!yes) return print('nothing was changed; "fleet uninstall --yes" deletes all of this, in all namespaces');
  for (const [at, client] of clients.entries()) {
    const open = (await listed(client, signal)).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    await each(open, ({ metadata }) => gone(client.delete(metadata, { propagationPolicy: 'Background', signal })));
    for (;;) {
      const left = await listed(client, signal);
      if (left.length === 0) break;
      await passed(context, begun, timeoutSeconds, `${left.length} ${kinds[at]?.plural ?? ''} are still there`);
    }
  }
  await emptied(context, sandboxes, begun, timeoutSeconds);
  print('volumes with artifacts and weights stay. What is left to do:');
  print('  helm uninstall agentfleet --namespace agentfleet-system');
  print(`  kubectl delete crd ${kinds.map(({ plural }) => `${plural}.${group}`).join(' ')}`);
}

/** Waits until no sandbox is held by our finalizer. */
async function emptied(context: CommandContext, sandboxes: Client, begun: number, timeoutSeconds: number): Promise<void> {
  const { signal, clock } = context;
  const labelSelector = `${labels.component}=sandbox`;
  const since = clock.monotonic();
  for (;;) {
    const held = (await sandboxes.list({ labelSelector, signal })).filter((pod) => hasFinalizer(pod, sandboxFinalizer));
    if (held.length === 0) return;
    const going = held.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    if (clock.monotonic() - since > operatorMs) {
      context.print(`no operator lets ${plural(going.length, 'sandbox pod')} go: the finalizer is taken off`);
      await each(going, (pod) => gone(removeFinalizer(sandboxes, pod, sandboxFinalizer, signal)));
    }
    await passed(context, begun, timeoutSeconds, `${plural(held.length, 'sandbox pod')} ${held.length === 1 ? 'is' : 'are'} left`);
  }
}

async function passed({ clock, signal }: CommandContext, begun: number, timeoutSeconds: number, what: string): Promise<void> {
  if (clock.monotonic() - begun > timeoutSeconds * 1000)
    throw new CliError(`after ${timeoutSeconds} s ${what}; call it again, or look at what holds them`);
  if (!(await sleep(clock, pollMs, signal))) throw new CliError('interrupted; call it again to go on');
}
