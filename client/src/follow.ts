import { isApiError, isNotFound, ResourceClient, sleep, systemClock, watch, type Resource, type Transport } from '@agentfleet/kube';
import { asFleetError, FleetError } from './errors.ts';
import type { Pending, TaskUpdate } from './public.ts';
import type { AgentTask } from './types.ts';

export interface Following {
  readonly transport: Transport;
  readonly resource: Resource<AgentTask>;
  readonly namespace: string;
  readonly name: string;
  readonly since?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

const watchSeconds = 290;
const stallMs = 150_000;
const longestPauseMs = 15_000;

/**
 * Yields the states of a task, from now on or after `since`, to its end. A broken watch continues where it was; where
 * the server no longer has that version, the current state comes next. No state is repeated.
 *
 * @throws FleetError AF_CLIENT_GONE when the task is deleted; AF_CLIENT_NOT_FOUND; the server's refusals
 */
export async function* followTask(following: Following): AsyncGenerator<TaskUpdate, void, undefined> {
  const stop = new AbortController();
  const signal = following.signal === undefined ? stop.signal : AbortSignal.any([following.signal, stop.signal]);
  const place: Place = { since: following.since, uid: undefined, failures: 0 };
  try {
    if (place.since !== undefined && (await hasEndedAt(place.since, following, place, signal))) return;
    while (!signal.aborted) {
      for await (const update of place.since === undefined ? now(following, place, signal) : watched(following, place, signal)) {
        yield update;
        if (update.finished) return;
      }
    }
  } catch (error) {
    if (signal.aborted) return;
    throw place.uid !== undefined && isNotFound(error) ? gone(following.name) : asFleetError(error);
  } finally {
    stop.abort();
  }
}

/** Position of following. */
interface Place {
  /** Newest version that was seen; undefined: the server does not know it any more, or none was. */
  since: string | undefined;
  uid: string | undefined;
  /** Consecutive watches that broke before an event. */
  failures: number;
}

/** Reports whether no version follows `since`, because the task ended with it. */
async function hasEndedAt(since: string, { transport, resource, namespace, name }: Following, place: Place, signal: AbortSignal) {
  const task = await new ResourceClient<AgentTask>(transport, resource).get({ namespace, name }, { signal });
  place.uid = task.metadata.uid;
  return task.status?.finished === 'true' && task.metadata.resourceVersion === since;
}

async function* now({ transport, resource, namespace, name }: Following, place: Place, signal: AbortSignal): AsyncGenerator<TaskUpdate> {
  const task = await new ResourceClient<AgentTask>(transport, resource).get({ namespace, name }, { signal });
  if (place.uid !== undefined && task.metadata.uid !== place.uid) throw gone(name);
  place.uid = task.metadata.uid;
  const update = updateOf(task);
  place.since = update.version;
  yield update;
}

/** One watch, until it ends. */
async function* watched(
  { transport, resource, namespace, name }: Following,
  place: Place,
  signal: AbortSignal,
): AsyncGenerator<TaskUpdate> {
  const queue: (TaskUpdate | 'deleted')[] = [];
  const state: { error?: unknown; over: boolean; wake: () => void } = { over: false, wake: () => undefined };
  const own = { transport, resource, namespace, fieldSelector: `metadata.name=${name}`, timeoutSeconds: watchSeconds, stallMs };
  const resumed = place.since === undefined ? {} : { resourceVersion: place.since };
  const watching = watch<AgentTask>({ ...own, ...resumed, clock: systemClock, signal }, ({ type, object }) => {
    place.since = object.metadata.resourceVersion ?? place.since;
    place.failures = 0;
    if (type !== 'BOOKMARK') queue.push(type === 'DELETED' ? 'deleted' : updateOf(object));
    state.wake();
  });
  void watching
    .catch((error: unknown) => (state.error = error))
    .finally(() => {
      state.over = true;
      state.wake();
    });
  while (!state.over || queue.length > 0) {
    const update = queue.shift();
    if (update === undefined) await new Promise<void>((resolve) => (state.wake = resolve));
    else if (update === 'deleted') throw gone(name);
    else {
      place.uid ??= update.task.metadata.uid;
      yield update;
    }
  }
  await recover(state.error, place, signal);
}

/** Decides how to continue after a broken watch: here, from the current state, or not at all. */
async function recover(error: unknown, place: Place, signal: AbortSignal): Promise<void> {
  if (error === undefined || signal.aborted) return;
  if (isApiError(error) && error.code === 410) {
    place.since = undefined;
    return;
  }
  if (isApiError(error) && error.code < 500 && error.code !== 429) throw error;
  place.failures += 1;
  await sleep(systemClock, Math.min(longestPauseMs, 125 * 2 ** place.failures), signal);
}

function gone(name: string): FleetError {
  return new FleetError('AF_CLIENT_GONE', `AgentTask ${name} is gone`);
}

/** Returns the pending act, question or result that no decision has been taken on; else undefined. Pure. */
export function pendingOf({ status }: AgentTask): Pending | undefined {
  const pending = status?.run?.pendingApproval;
  const isDecided = status?.approvals?.some(({ action }) => action === pending?.action) === true;
  return status?.finished === 'true' || isDecided ? undefined : pending;
}

function updateOf(task: AgentTask): TaskUpdate {
  const { phase, finished } = task.status ?? {};
  return { task, phase, finished: finished === 'true', pending: pendingOf(task), version: task.metadata.resourceVersion ?? '' };
}
