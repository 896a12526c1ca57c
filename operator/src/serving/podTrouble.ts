import type { ContainerStatus, Pod, Terminated } from '../runtime/resources.ts';

/** Messages of engines whose GPU has no room left: at a request, at the load of weights, and when nothing is left for keys and values. */
const gpuWords = /out of memory|no available memory for the cache blocks|less than desired gpu memory utilization/i;

/**
 * Returns the remedy for a container that ran out of memory; undefined where it ended by something else. The kernel's own verdict
 * comes first: the last words of a container that it killed are of before.
 */
function memoryCure({ reason, message }: Terminated): string | undefined {
  if (reason === 'OOMKilled') return 'it took more memory than its limit: raise resources.container.limits.memory';
  if (!gpuWords.test(message ?? '')) return undefined;
  return 'its GPU has too little memory left: give a larger resources.memory.budget or fewer kvTokens, or another slot, and see what else runs there';
}

/** Reasons for which a container waits in the ordinary course of its start. */
const ordinary = new Set(['ContainerCreating', 'PodInitializing']);

/** Most of the last lines of a container that is reported. */
const mostLastWords = 400;

/** Returns the message of a container at its end, on one line of `most` characters; empty when there is none. */
export function lastWords(message: string | undefined, most: number = mostLastWords): string {
  const words = (message ?? '').replaceAll(/\s+/g, ' ').trim();
  return words === '' ? '' : `: ${words.length <= most ? words : `${words.slice(0, most).toWellFormed()}…`}`;
}

function cureOf(end: Terminated): string {
  const cure = memoryCure(end);
  return cure === undefined ? '' : `; ${cure}`;
}

function containerTrouble({ name, state, lastState, restartCount }: ContainerStatus): string | undefined {
  const { waiting, terminated } = state ?? {};
  const last = lastState?.terminated;
  // The kubelet's own message names a time that grows: each would be another status, and none has the cause.
  if (waiting?.reason === 'CrashLoopBackOff' && last !== undefined) {
    const killed = last.reason === 'OOMKilled' ? ' (OOMKilled)' : '';
    return `container ${name}: CrashLoopBackOff after exit code ${last.exitCode ?? '?'}${killed}${lastWords(last.message)}${cureOf(last)}`;
  }
  if (waiting?.reason !== undefined && !ordinary.has(waiting.reason)) {
    return `container ${name}: ${waiting.reason}${waiting.message === undefined ? '' : `: ${waiting.message}`}`;
  }
  if (terminated !== undefined)
    return `container ${name} ended with ${terminated.exitCode ?? '?'} (${terminated.reason ?? 'no reason'})${lastWords(terminated.message)}${cureOf(terminated)}`;
  return restartCount > 0 ? `container ${name} has restarted ${restartCount} times` : undefined;
}

/** Reports whether the pod answers. */
export function isReady(pod: Pod): boolean {
  return (
    pod.metadata.deletionTimestamp === undefined &&
    pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true
  );
}

/** Returns the reason that a pod is not ready, in the words of scheduler and kubelet; undefined when it is, or when they give none. */
export function podTrouble(pod: Pod): string | undefined {
  if (isReady(pod)) return undefined;
  const { status } = pod;
  const unscheduled = status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False');
  if (unscheduled !== undefined) return `${unscheduled.reason ?? 'Unschedulable'}: ${unscheduled.message ?? 'no node fits'}`;
  for (const container of [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]) {
    const trouble = container.ready ? undefined : containerTrouble(container);
    if (trouble !== undefined) return trouble;
  }
  return status?.phase === 'Failed' ? `${status.reason ?? 'Failed'}: ${status.message ?? 'no message'}` : undefined;
}

/** Reports whether the kubelet prepares the pod and its status does not name the obstacle: a volume, for example. */
export function isPreparing(pod: Pod): boolean {
  const { status } = pod;
  return (
    status?.startTime !== undefined &&
    podTrouble(pod) === undefined &&
    status.containerStatuses?.some(({ state }) => state?.waiting?.reason === 'ContainerCreating') === true
  );
}

/** The first thing that pods say, the newest pod first: the older ones may belong to a template that is gone. */
export function firstTrouble(pods: readonly Pod[], more: ReadonlyMap<string, string> = new Map()): string | undefined {
  const newest = [...pods].sort((a, b) => ((a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? 1 : -1));
  for (const pod of newest) {
    const trouble = more.get(pod.metadata.name) ?? podTrouble(pod);
    if (trouble !== undefined) return trouble;
  }
  return undefined;
}
