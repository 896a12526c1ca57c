import type { WarmSandboxes, ExpertPoolStatus } from '@agentfleet/protocol/api';
import { templateAnnotation, isUnclaimed } from '../../pools/resolve.ts';
import type { Pod } from '../../runtime/resources.ts';
import { lossOf, sandboxState, silentReason, type SandboxState } from '../agenttask/sandbox/state.ts';

/** Facts that are known about one namespace in which sandboxes wait, or are to wait. */
export interface WarmPlace {
  readonly namespace: string;
  /** Sandboxes that the pool asks for; undefined when it asks for none, may not any more, or is gone. */
  readonly entry: WarmSandboxes | undefined;
  /** Whether the namespace has what sandboxes and workers need there. */
  readonly prepared: boolean;
  /** Sandboxes that no task has taken. */
  readonly pods: readonly Pod[];
}

/** All that decisions about the waiting sandboxes of a pool are made from. */
interface WarmSnapshot {
  readonly places: readonly WarmPlace[];
  /** Time at which this process made them, by uid, ms by its own clock: clocks differ, and a wrong one must not make all of them old. */
  readonly madeAt: ReadonlyMap<string, number>;
  /** Reports whether the operator made a pod. Fields that any client may write on one prove nothing. */
  readonly isOurs: (pod: Pod) => boolean;
  /** Reports whether a pod is on a cordoned node. */
  readonly isCordoned: (pod: Pod) => boolean;
  /** Hash of the present template. */
  readonly template: string;
}

export type WarmAction =
  { readonly type: 'create'; readonly namespace: string; readonly count: number } | { readonly type: 'delete'; readonly pod: Pod };

interface WarmDecision {
  readonly actions: readonly WarmAction[];
  /** Reasons for which sandboxes do not start, one for each namespace. */
  readonly troubles: ReadonlyMap<string, Pick<SandboxState, 'reason' | 'message'>>;
  /** Ms after which time alone may change the decision. */
  readonly requeueAfterMs: number | undefined;
}

/** Sandboxes of one namespace that are started at once: a template that cannot start must not fill the namespace. */
export const startingAtOnce = 5;

/** Most sandboxes of one namespace above those that are asked for: so many are made ahead of those that they replace. */
const mostAbove = startingAtOnce;

/** Time that one which ended at its start stands for another one, ms: a node that refuses each would have them made without a pause. */
const failedMs = 30_000;

/** Time after which one that does not start is reported, ms: a cluster that grows takes as long for a node. */
const troubledMs = 120_000;

/** Times its age after which one goes although no other one could be made for it. */
const staleFactor = 2;

const isReady = (pod: Pod): boolean => sandboxState(pod, false).ready;

const isEnded = (pod: Pod): boolean => lossOf(pod, pod.metadata.name) !== undefined;

/** One on a node that does not report is of no use to a task, and would keep another one from being made. */
function isLost(pod: Pod): boolean {
  return isEnded(pod) || sandboxState(pod, false).reason === silentReason;
}

interface View extends Pick<WarmSnapshot, 'template' | 'isOurs' | 'isCordoned'> {
  /** Wall ms. */
  readonly bornAt: (pod: Pod) => number;
}

interface Sorted {
  readonly actions: readonly WarmAction[];
  /** As asked for. */
  readonly fresh: readonly Pod[];
  /** Ended as soon as they were made. */
  readonly failed: number;
  /** Past their age or of a cordoned node, and still good for a task until others are ready; first those of such a node, then the oldest. */
  readonly aged: readonly Pod[];
}

function sorted({ pods }: WarmPlace, { template, isOurs, isCordoned, bornAt }: View, entry: WarmSandboxes, now: number): Sorted {
  const actions: WarmAction[] = [];
  const [fresh, aged, cordoned]: [Pod[], Pod[], Pod[]] = [[], [], []];
  let failed = 0;
  for (const pod of [...pods].sort((a, b) => bornAt(a) - bornAt(b))) {
    if (pod.metadata.deletionTimestamp !== undefined) continue;
    const age = now - bornAt(pod);
    const isOutdated = pod.metadata.annotations?.[templateAnnotation] !== template || age >= staleFactor * entry.maxAgeSeconds * 1000;
    if (isOurs(pod) && !isOutdated && isEnded(pod) && age >= 0 && age < failedMs) failed += 1;
    else if (!isOurs(pod) || isLost(pod) || isOutdated) actions.push({ type: 'delete', pod });
    else if (isCordoned(pod)) cordoned.push(pod);
    else if (age >= entry.maxAgeSeconds * 1000) aged.push(pod);
    else fresh.push(pod);
  }
  return { actions, fresh, aged: [...cordoned, ...aged], failed };
}

/** One that is not ready goes before one that is, an old one before a young one. */
function surplus(fresh: readonly Pod[], wanted: number, bornAt: View['bornAt']): readonly WarmAction[] {
  const going = [...fresh].sort((a, b) => Number(isReady(a)) - Number(isReady(b)) || bornAt(a) - bornAt(b));
  return going.slice(0, Math.max(0, fresh.length - wanted)).map((pod) => ({ type: 'delete', pod }));
}

function decidePlace(place: WarmPlace, view: View, now: number): readonly WarmAction[] {
  const { entry, namespace, pods, prepared } = place;
  if (entry === undefined) {
    const present = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return present.map((pod) => ({ type: 'delete', pod }));
  }
  const { actions, fresh, aged, failed } = sorted(place, view, entry, now);
  const ready = fresh.filter(isReady).length;
  const present = fresh.length + failed;
  const room = Math.min(startingAtOnce - (present - ready), entry.replicas + mostAbove - present - aged.length);
  const count = prepared ? Math.max(0, Math.min(entry.replicas - present, room)) : 0;
  const relieved = aged.slice(0, Math.max(0, aged.length - Math.max(0, entry.replicas - ready)));
  return [
    ...actions,
    ...surplus(fresh, entry.replicas, view.bornAt),
    ...relieved.map((pod): WarmAction => ({ type: 'delete', pod })),
    ...(count === 0 ? [] : [{ type: 'create', namespace, count } as const]),
  ];
}

/** Returns the times until sandboxes come of age, ms. */
function nextAge({ entry, pods }: WarmPlace, { bornAt }: View, now: number): readonly number[] {
  if (entry === undefined) return [];
  return pods
    .flatMap((pod) => [
      ...[1, staleFactor].map((times) => bornAt(pod) + times * entry.maxAgeSeconds * 1000 - now),
      ...(isEnded(pod) ? [bornAt(pod) + failedMs - now] : []),
      ...(isReady(pod) ? [] : [bornAt(pod) + troubledMs - now]),
    ])
    .filter((ms) => ms > 0);
}

/** The trouble of the first sandbox of a namespace that does not come to work; undefined: none is late. */
function troubleOf({ entry, pods }: WarmPlace, { bornAt }: View, now: number): SandboxState | undefined {
  if (entry === undefined) return undefined;
  const late = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined && now - bornAt(pod) >= troubledMs);
  return late.map((pod) => sandboxState(pod, false)).find(({ ready, reason }) => !ready && reason !== 'Starting');
}

/** Decides which sandboxes are made and deleted so that as many wait as the pool asks for. `now` is wall time in ms. Pure. */
export function decideWarm({ places, madeAt, isOurs, isCordoned, template }: WarmSnapshot, now: number): WarmDecision {
  const bornAt = ({ metadata }: Pod): number => madeAt.get(metadata.uid ?? '') ?? (Date.parse(metadata.creationTimestamp ?? '') || 0);
  const view: View = { template, isOurs, isCordoned, bornAt };
  const ages = places.flatMap((place) => nextAge(place, view, now));
  const troubles = places.flatMap((place) => {
    const trouble = troubleOf(place, view, now);
    return trouble === undefined ? [] : [[place.namespace, trouble] as const];
  });
  return {
    actions: places.flatMap((place) => decidePlace(place, view, now)),
    troubles: new Map(troubles),
    requeueAfterMs: ages.length === 0 ? undefined : Math.max(1, Math.min(...ages)),
  };
}

/** Counts the sandboxes that were made ahead for one pool (index `warm` of the cache of pods); those that go count no more. Pure. */
export function warmCounts(pods: readonly Pod[]): NonNullable<ExpertPoolStatus['sandboxes']> {
  const waiting = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined && isUnclaimed(pod));
  const warm = waiting.filter((pod) => sandboxState(pod, false).ready).length;
  return { warm, starting: waiting.length - warm };
}
