import type { Reason } from '@agentfleet/protocol/api';
import { isReady, firstTrouble } from './podTrouble.ts';
import type { Deployment, Pod } from '../runtime/resources.ts';

/** Reports whether every pod of the Deployment is of its present template and answers. */
export function rolledOut(deployment: Deployment | undefined, replicas: number): boolean {
  const { status, metadata } = deployment ?? {};
  return (
    status?.observedGeneration !== undefined &&
    status.observedGeneration >= (metadata?.generation ?? 0) &&
    (status.updatedReplicas ?? 0) === replicas &&
    (status.replicas ?? 0) === replicas &&
    (status.readyReplicas ?? 0) === replicas
  );
}

/** Reports whether the Deployment controller states that it does not get on. */
export function exceeded(deployment: Deployment | undefined): boolean {
  return deployment?.status?.conditions?.some(({ type, status }) => type === 'Progressing' && status === 'False') === true;
}

/** Returns the message about pods that the API server refuses, by its words, with the cure. Pure. */
export const unmadePods = (words: string): string =>
  `pods cannot be made: ${words}; change what it names, or make room below it, and it is tried again`;

/** Returns the reason for which pods of a Deployment are not made (a quota, admission), in the words of the API server; undefined: they are. */
export function refusedPods(deployment: Deployment | undefined): string | undefined {
  const found = deployment?.status?.conditions?.find(({ type, status }) => type === 'ReplicaFailure' && status === 'True');
  return found === undefined ? undefined : unmadePods(found.message ?? found.reason ?? 'no reason given');
}

/** Value that the API server fills in where a Deployment names no time, seconds. */
export const defaultProgressDeadlineSeconds = 600;

/** Reports whether no pod has answered for the progress deadline of a Deployment: once it was complete, its controller reports no more. */
function isAbsentTooLong({ spec, status }: Deployment, now: number): boolean {
  const { progressDeadlineSeconds = defaultProgressDeadlineSeconds } = spec ?? {};
  const available = status?.conditions?.find(({ type }) => type === 'Available');
  if (available?.status !== 'False' || (status?.readyReplicas ?? 0) > 0) return false;
  return now - Date.parse(available.lastTransitionTime ?? '') >= progressDeadlineSeconds * 1000;
}

/** A Deployment that serves, and the pods that it has to have. */
interface Wanted {
  readonly deployment: Deployment | undefined;
  readonly replicas: number;
}

/**
 * Returns the state of the engines of a revision. `Absent`: of one of them no pod answers. `Loading`: all answer, and not yet
 * with every pod of the present template. `Failed`: one does not come up, or is permanently gone. Pure. `now` is wall time in ms.
 */
export function engineState(servers: readonly Wanted[], now: number): 'Absent' | 'Loading' | 'Ready' | 'Failed' {
  if (servers.some(({ deployment }) => exceeded(deployment) || (deployment !== undefined && isAbsentTooLong(deployment, now))))
    return 'Failed';
  if (servers.some(({ deployment, replicas }) => replicas > 0 && (deployment?.status?.readyReplicas ?? 0) === 0)) return 'Absent';
  return servers.every(({ deployment, replicas }) => rolledOut(deployment, replicas)) ? 'Ready' : 'Loading';
}

/** Pods of this image: those of a template before it that could not start are of no interest any more. */
export const withImage =
  (image: string | undefined) =>
  ({ spec }: Pod): boolean =>
    spec?.containers?.some((container) => container.image === image) === true;

/** The pod that answered last to become ready; undefined when none answers. */
export function newestReady(pods: readonly Pod[]): Pod | undefined {
  const age = ({ metadata }: Pod): string => `${metadata.creationTimestamp ?? ''} ${metadata.name}`;
  return pods.filter(isReady).sort((a, b) => (age(a) < age(b) ? 1 : -1))[0];
}

/** Facts about the pods of one server. */
export interface ServerView {
  /** Pods that are asked for. */
  readonly wanted: number;
  readonly deployment: Deployment | undefined;
  readonly pods: readonly Pod[];
  /** Events of the kubelet about pods that it prepares, by their names. */
  readonly notes: ReadonlyMap<string, string>;
  /** Obstacle that stays until a person changes something. */
  readonly obstacle: { readonly reason: Reason; readonly message: string } | undefined;
}

/** State of the pods of a server. */
export interface Serving {
  readonly phase: 'Starting' | 'Ready' | 'Degraded' | 'Unavailable' | 'Scaled';
  readonly replicas: number;
  readonly ready: number;
  /** Reason that it is not what was asked for; undefined when it is. */
  readonly fault: { readonly reason: Reason; readonly message: string; readonly stalled: boolean } | undefined;
}

/** Returns the state of a server. Pure. */
export function servingOf({ wanted, deployment, pods, notes, obstacle }: ServerView): Serving {
  const { replicas = 0, readyReplicas: ready = 0 } = deployment?.status ?? {};
  // Pods that are not asked for need no Deployment: there may be no image for one.
  const absent = wanted === 0 && deployment === undefined;
  if (obstacle === undefined && (absent || rolledOut(deployment, wanted)))
    return { phase: wanted === 0 ? 'Scaled' : 'Ready', replicas, ready, fault: undefined };
  const trouble = obstacle?.message ?? firstTrouble(pods, notes) ?? refusedPods(deployment);
  const stalled = obstacle !== undefined || exceeded(deployment);
  const reason = obstacle?.reason ?? (stalled ? 'ProgressDeadlineExceeded' : trouble === undefined ? 'Progressing' : 'PodsNotReady');
  const message = trouble ?? `${ready} of ${wanted} pods of the present template answer`;
  const phase = ready === 0 ? (stalled ? 'Unavailable' : 'Starting') : ready < wanted || stalled ? 'Degraded' : 'Starting';
  return { phase, replicas, ready, fault: { reason, message, stalled } };
}
