import { findCondition, asError, keyOf, ResourceClient, type Log, type Transport } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { Sample } from './ledger.ts';
import type { Caches } from '../runtime/context.ts';
import { resources } from '../runtime/resources.ts';
import { shadowReportOf } from './shadow.ts';

/** Ends that say nothing about who did the work: the cluster, or what the user wrote. */
const notTheArms: ReadonlySet<string> = new Set([
  'Infrastructure',
  'InvalidInput',
  'Cancelled',
  'IsolationBelowFloor',
  'NetworkNotEnforced',
  'NetworkOpened',
  'QueueTimeout',
]);

/** Reports whether the task passed; undefined when its end is not its arm's. */
function passedOf({ status }: AgentTask): boolean | undefined {
  const succeeded = findCondition(status?.conditions, 'Succeeded');
  if (succeeded?.status === 'True') return true;
  const { reason: last, started } = status?.attempts?.at(-1) ?? {};
  // A sandbox or worker that did not come to work is no evidence about the revision.
  if (started === false) return undefined;
  if (succeeded?.status !== 'False' || notTheArms.has(succeeded.reason)) return undefined;
  return last !== undefined && notTheArms.has(last) ? undefined : false;
}

function rolledBackOf({ status }: AgentTask): boolean | undefined {
  const undone = findCondition(status?.conditions, 'RolledBack');
  if (undone?.reason === 'Restored') return true;
  return undone?.reason === 'NotVerified' ? false : undefined;
}

/** Reports whether a person had the work of a task undone. */
function isRevoked(task: AgentTask): boolean {
  return findCondition(task.status?.conditions, 'Succeeded')?.reason === 'Cancelled' && rolledBackOf(task) !== undefined;
}

/** The sample that a task that has ended gives a revision; undefined for one that does not count for a rollout. Pure. */
export function sampleOf(task: AgentTask, revision: string): Sample {
  const { status, metadata } = task;
  const { vetoes = 0, candidates = 0 } = status?.totals?.usage ?? {};
  const { energy, pSuccess } = status?.run?.signals ?? {};
  return {
    uid: metadata.uid ?? '',
    revision,
    passed: passedOf(task),
    acts: { vetoed: vetoes, total: Math.max(vetoes, candidates) },
    rolledBack: rolledBackOf(task),
    ...(isRevoked(task) ? { revoked: true } : {}),
    energy: energy === undefined ? undefined : Number(energy),
    ...(pSuccess === undefined ? {} : { pSuccess: Number(pSuccess) }),
  };
}

/**
 * The sample of a task that has not ended: failed, when the time in which it was to end is over. One that a person holds up
 * gives none. Pure. `now` is wall time in ms.
 */
export function lateSampleOf(
  { status, metadata, spec }: AgentTask,
  revision: string,
  windowSeconds: number,
  now: number,
): Sample | undefined {
  const clock = status?.clock;
  if (clock === undefined || clock.pausedAt !== undefined || spec.suspend) return undefined;
  if (now - Date.parse(clock.startedAt) < (windowSeconds + clock.pausedSeconds) * 1000) return undefined;
  return {
    uid: metadata.uid ?? '',
    revision,
    passed: false,
    acts: { vetoed: 0, total: 0 },
    rolledBack: undefined,
    energy: undefined,
  };
}

interface OutcomesOptions {
  readonly caches: Pick<Caches, 'tasks' | 'census'>;
  readonly transport: Transport;
  readonly log: Log;
}

/** Tasks that are read at once. */
const readAtOnce = 8;

interface Place {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Record of how the tasks of rollouts ended. One that leaves the cache of unfinished tasks is read once more; those that ended
 * while no operator looked are seen when all of them are looked at. Nothing is lost by a crash: the tasks themselves remember.
 */
export class Outcomes {
  readonly #client: ResourceClient<AgentTask>;
  readonly #log: Log;
  /** By rollout and uid: those that left and were not read yet. */
  readonly #left = new Map<string, Map<string, Place>>();
  readonly #ended = new Map<string, Map<string, Sample>>();

  constructor({ caches, transport, log }: OutcomesOptions) {
    this.#client = new ResourceClient(transport, resources.agentTasks);
    this.#log = log;
    caches.tasks.addHandler({ onDelete: (task) => this.#leaves(task) });
    caches.census.onSeen((task) => this.#take(task));
  }

  /** Samples of a rollout that were not called counted. A task that is gone gives none any more. */
  async read(rollout: string, signal: AbortSignal): Promise<readonly Sample[]> {
    const left = [...(this.#left.get(rollout) ?? [])];
    for (let at = 0; at < left.length; at += readAtOnce) {
      const some = left.slice(at, at + readAtOnce);
      await Promise.all(some.map(([uid, place]) => this.#read(rollout, uid, place, signal)));
    }
    return [...(this.#ended.get(rollout)?.values() ?? [])];
  }

  /** They stand in the book of the rollout. */
  counted(rollout: string, samples: readonly Sample[]): void {
    const ended = this.#ended.get(rollout);
    for (const { uid } of samples) ended?.delete(uid);
  }

  /** Forgets all rollouts but these. */
  prune(open: ReadonlySet<string>): void {
    for (const known of [this.#left, this.#ended]) for (const rollout of known.keys()) if (!open.has(rollout)) known.delete(rollout);
  }

  #leaves(task: AgentTask): void {
    const rollout = rolloutOf(task);
    const { uid = '', name, namespace = '' } = task.metadata;
    if (rollout !== undefined) entry(this.#left, rollout).set(uid, { name, namespace });
  }

  async #read(rollout: string, uid: string, place: Place, signal: AbortSignal): Promise<void> {
    try {
      const task = await this.#client.find(place, { signal });
      if (task?.metadata.uid === uid) this.#take(task);
    } catch (error) {
      signal.throwIfAborted();
      this.#log.warn('the end of a task cannot be read', { task: keyOf({ metadata: place }), error: asError(error).message });
      return;
    }
    this.#left.get(rollout)?.delete(uid);
  }

  #take(task: AgentTask): void {
    const { assignment, finished } = task.status ?? {};
    const rollout = rolloutOf(task);
    if (assignment === undefined || rollout === undefined || finished !== 'true') return;
    const { revision = '', verifierRevision: verifier, shadow } = assignment;
    const copies = shadow === undefined ? {} : { shadow: shadowReportOf(task) };
    const sample = { ...sampleOf(task, revision), ...(verifier === undefined ? {} : { verifier }), ...copies };
    entry(this.#ended, rollout).set(sample.uid, sample);
  }
}

/** The rollout that the end of a task is reported to: as that of an arm, or for its copies. */
function rolloutOf({ status }: AgentTask): string | undefined {
  return status?.assignment?.rollout ?? status?.assignment?.shadow;
}

function entry<T>(map: Map<string, Map<string, T>>, key: string): Map<string, T> {
  const found = map.get(key) ?? new Map<string, T>();
  map.set(key, found);
  return found;
}
