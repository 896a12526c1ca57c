import { isControlledBy } from '@agentfleet/kube';
import { passedOn, type AgentTask, type Reason } from '@agentfleet/protocol/api';
import type { ContainerStatus, Pod } from '../../runtime/resources.ts';

/** Seconds after the end of its grace period in which a pod may still run although nobody hears of its node. */
export const graceSlackSeconds = 60;

/** How a sandbox pod is: `reason` for programs, `message` for people. */
export interface SandboxState {
  readonly ready: boolean;
  /** The user's own words for the image cannot be right: waiting does not help. */
  readonly invalid: boolean;
  readonly reason: Reason;
  readonly message: string;
}

/** When the last container can still run at most, in ms since the epoch. */
export function surelyEndedAt(pod: Pod): number {
  return Date.parse(pod.metadata.deletionTimestamp ?? '') + graceSlackSeconds * 1000;
}

function containersOf(pod: Pod): readonly ContainerStatus[] {
  return [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
}

/**
 * Whether nothing of a pod that is being deleted runs any more: all containers have terminated, it never got a node, or
 * its grace period is over for so long that a node which still ran it would have been fenced by the epoch.
 */
export function hasEnded(pod: Pod, now: number): boolean {
  if (pod.metadata.deletionTimestamp === undefined) return false;
  if (pod.spec?.nodeName === undefined) return true;
  if (pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded') return true;
  const containers = containersOf(pod);
  if (containers.length > 0 && containers.every(({ state }) => state?.terminated !== undefined)) return true;
  return now >= surelyEndedAt(pod);
}

/** Why the pod cannot be worked in any more, in words; undefined while it can. */
export function lossOf(pod: Pod | undefined, name: string): string | undefined {
  if (pod === undefined) return `the sandbox pod ${name} is gone`;
  if (pod.metadata.deletionTimestamp !== undefined) return `the sandbox pod ${name} is being deleted`;
  const { phase, reason, message } = pod.status ?? {};
  if (phase !== 'Failed' && phase !== 'Succeeded') return undefined;
  return `the sandbox pod ${name} has ended: ${[reason ?? phase, message].filter(Boolean).join(': ')}`;
}

/** The pods of this very task that can be worked in, oldest name first. */
export function usablePods(task: AgentTask, pods: readonly Pod[]): readonly Pod[] {
  return pods
    .filter((pod) => isControlledBy(pod, task) && lossOf(pod, pod.metadata.name) === undefined)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** Reasons of waiting containers that tell of trouble rather than of a start under way. */
const troubles: ReadonlySet<string> = new Set<Reason | 'ErrImagePull'>([
  'CrashLoopBackOff',
  'CreateContainerConfigError',
  'CreateContainerError',
  'ErrImageNeverPull',
  'ErrImagePull',
  'ImageInspectError',
  'ImagePullBackOff',
  'InvalidImageName',
  'RunContainerError',
]);

/**
 * How the pod is, from its status. Once `wasReady`, only the keeper counts: the container of the tools is restarted for
 * a clean verification, and a sandbox whose tools are not ready is not a dead one.
 */
export function sandboxState(pod: Pod, wasReady: boolean): SandboxState {
  const { name } = pod.metadata;
  const statuses = pod.status?.containerStatuses ?? [];
  const keeper = statuses.find((status) => status.name === 'keeper')?.ready === true;
  if (keeper && (wasReady || statuses.every((status) => status.ready))) {
    return { ready: true, invalid: false, reason: 'Ready', message: `pod ${name} answers` };
  }
  const trouble = containerTrouble(pod, wasReady) ?? placeTrouble(pod);
  if (trouble !== undefined) return trouble;
  return wasReady
    ? { ready: false, invalid: false, reason: 'KeeperNotReady', message: `the keeper of pod ${name} does not answer; it is restarted` }
    : { ready: false, invalid: false, reason: 'Starting', message: `pod ${name} starts` };
}

function containerTrouble(pod: Pod, wasReady: boolean): SandboxState | undefined {
  const bad = containersOf(pod).find(({ name, state }) => troubles.has(state?.waiting?.reason ?? '') && (!wasReady || name === 'keeper'));
  const reported = bad?.state?.waiting?.reason;
  if (bad === undefined || reported === undefined) return undefined;
  const reason = reported === 'ErrImagePull' ? 'ImagePullBackOff' : reported;
  // The image of the tools is the user's; every other one is the administrator's, who can mend it.
  const invalid = reason === 'InvalidImageName' && bad.name === 'tools';
  return {
    ready: false,
    invalid,
    reason: passedOn(reason),
    message: `container ${bad.name} of pod ${pod.metadata.name}: ${bad.state?.waiting?.message || reason}`,
  };
}

function placeTrouble({ metadata, status }: Pod): SandboxState | undefined {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status !== 'False') return undefined;
  const message = `pod ${metadata.name} has no node: ${scheduled.message ?? 'no reason given'}`;
  return { ready: false, invalid: false, reason: passedOn(scheduled.reason ?? 'Unschedulable'), message };
}
