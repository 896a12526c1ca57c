import { coded } from '@agentfleet/protocol/log';
import {
  keyOf,
  type Clock,
  type NewEvent,
  Consistency,
  Controller,
  done,
  hasFinalizer,
  requeueAfter,
  watches,
  type KubeObject,
  type Outcome,
  type ReconcileContext,
  type Source,
} from '@agentfleet/kube';
import type { AgentTask, Reason } from '@agentfleet/protocol/api';
import { labels, sandboxFinalizer } from '@agentfleet/protocol/pool';
import { noTracing, withinTask } from '@agentfleet/protocol/tracing';
import { namedBy, taskOfOrder } from '../../runtime/caches.ts';
import { ConflictBackoff, conflictMs } from '../../runtime/conflicts.ts';
import { NoteReader } from '../../serving/notes.ts';
import { slowStartMs } from './verdict.ts';
import { Heartbeats } from '../../runtime/heartbeats.ts';
import type { Caches, OperatorContext } from '../../runtime/context.ts';
import { EndedTasks, Requeues } from './requeues.ts';
import { decide } from './decide.ts';
import { taskMetrics, type TaskMetrics, recordSpans } from './telemetry.ts';
import { Executor } from './execute.ts';
import { Ledger } from './queue/queues.ts';
import { byTurn, type Turn, type Order } from './queue/poolQueue.ts';
import { Dependencies, Observer, type Hindrances, type Live } from './observe.ts';
import { SpendingBooks } from './queue/spending.ts';
import { hasEnded, surelyEndedAt } from './sandbox/state.ts';
import type { Decision, Snapshot } from './facts/snapshot.ts';
import { Volumes } from './storage/volumes.ts';
import { Workloads } from './queue/quota.ts';
import { sandboxInput, TemplateHashes } from './sandbox/template.ts';
import { sandboxPod } from './sandbox/pod.ts';

/** Time until a task whose status did not fit is tried again without a change, ms. */
export const invalidRetryMs = 3_600_000;

interface Known {
  readonly uid: string | undefined;
  readonly generation: number | undefined;
  /** Monotonic ms. */
  readonly until: number;
}

/**
 * Tasks that the server took, and whose status it does not take beside their spec, because both together are too large for
 * its storage. Nothing is done about such a task before it is changed, as nothing that was done could be reported.
 */
class InvalidTasks {
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The status of the task did not fit. */
  note(task: AgentTask): void {
    const { uid, generation } = task.metadata;
    this.#known.set(keyOf(task), { uid, generation, until: this.#clock.monotonic() + invalidRetryMs });
  }

  /** Ms for which the task is to be left alone; 0 for one that was changed since, or made again. */
  restMs(task: AgentTask): number {
    const known = this.#known.get(keyOf(task));
    if (known === undefined) return 0;
    const { uid, generation } = task.metadata;
    const rest = known.uid === uid && known.generation === generation ? known.until - this.#clock.monotonic() : 0;
    if (rest <= 0) this.#known.delete(keyOf(task));
    return Math.max(0, rest);
  }

  forget(key: string): void {
    this.#known.delete(key);
  }
}

/** Returns the event for people; `said` is the message of the server. Pure. */
function invalidEvent(said: string): NewEvent {
  const cure = 'create the task again with a smaller spec.workspace.inline, or with a Git repository or a ConfigMap';
  return {
    type: 'Warning',
    reason: 'StatusTooLarge' satisfies Reason,
    action: 'Report',
    note: `the status does not fit beside the spec: ${cure} (${said})`,
  };
}

/** Options that tests set. */
interface AgentTaskControllerOptions {
  readonly maxConcurrent?: number;
  /** Ms between two looks whether the caches show our own writes. */
  readonly pollMs?: number;
  /** Of tasks of one namespace; tests count how often it is asked. */
  readonly order?: Order<Turn>;
}

/**
 * Whatever may change a decision wakes the task. This is for a wake-up that was lost, and spread over as much time again
 * so that thousands of tasks do not look in one moment. At rest nothing else is done: 10,000 tasks look twice a second.
 */
const fallbackMs = 3_600_000;

/**
 * The controller of AgentTasks: gives each a worker and a sandbox, follows its attempts, undoes what failed, and ends it.
 * The caches of the context must be run by the caller.
 */
export function createAgentTaskController(context: OperatorContext, options: AgentTaskControllerOptions = {}): Controller {
  const { caches, clock, log } = context;
  const { pollMs = 25, maxConcurrent = 32 } = options;
  const consistency = new Consistency({
    clock,
    pollMs,
    onTimeout: (key, cache) => log.error('a cache does not show our write', coded('AF_CACHE_STALE', { key, cache })),
  });
  const reconciler = new Reconciler(context, consistency, options);
  return new Controller({
    name: 'agenttask',
    sources: [
      watches(caches.tasks),
      watches(caches.pods, { map: taskOfSandbox }),
      watches(caches.persistentVolumeClaims, { map: taskOfSandbox }),
      caches.volumeSnapshots.source(watches(caches.volumeSnapshots.informer, { map: taskOfSandbox })),
      ...(caches.workloads === undefined ? [] : [caches.workloads.source(watches(caches.workloads.informer, { map: taskOfSandbox }))]),
      watches(caches.orders, { map: taskOfOrder }),
      reconciler.requeues.source,
      reconciler.endedTasks.source,
      reconciler.spending.source,
      // Decisions read these too; their events requeue no task through the controller.
      ...readBeside(caches),
    ],
    reconcile: (key, call) => reconciler.reconcile(key, call),
    maxConcurrent,
    gate: consistency,
    ...context,
  });
}

/** Caches that decisions read and whose events requeue no task through the controller. */
function readBeside(caches: Caches): readonly Source[] {
  const { leases, pools, poolGrants, namespaces, nodes, runtimeClasses, networkPolicies, configMaps } = caches;
  const optional = caches.resourceFlavors === undefined ? [] : [caches.resourceFlavors];
  return [leases, pools, poolGrants, namespaces, nodes, runtimeClasses, networkPolicies, configMaps, ...optional].map((cache) => ({
    name: cache.name,
    hasSynced: () => cache.hasSynced(),
    waitForSync: (timeoutMs: number, signal: AbortSignal) => cache.waitForSync(timeoutMs, signal),
    start: () => () => {},
  }));
}

/** The task that a pod, a volume or a snapshot belongs to, by its labels. */
function taskOfSandbox(object: KubeObject): readonly string[] {
  return object.metadata.labels?.[labels.component] === 'sandbox' ? namedBy(object, labels.task) : [];
}

/** Waiting sandboxes that a task tries for before it looks again. */
const mostRounds = 8;

class Reconciler {
  readonly requeues: Requeues;
  readonly endedTasks: EndedTasks;
  readonly spending: SpendingBooks;
  readonly #context: OperatorContext;
  readonly #ledger = new Ledger();
  readonly #observer: Observer;
  readonly #executor: Executor;
  readonly #volumes: Volumes;
  readonly #dependencies: Dependencies;
  readonly #workloads: Workloads;
  readonly #invalidTasks: InvalidTasks;
  readonly #metrics: TaskMetrics;
  readonly #notes: NoteReader;
  /** Monotonic ms of the last decision whose status was written. */
  readonly #written = new Map<string, number>();
  readonly #conflicts = new ConflictBackoff();

  constructor(context: OperatorContext, consistency: Consistency, options: AgentTaskControllerOptions) {
    const { order = byTurn } = options;
    this.#context = context;
    const { caches, clock } = context;
    // Objects that are in the cache already are reported before there is anything to wake.
    let requeues: Requeues | undefined;
    const leases = new Heartbeats(caches.leases, clock);
    leases.onChange((key) => (leases.freshMs(key) > 0 ? requeues?.workerIsFresh(key) : requeues?.workerIsLost(key)));
    const { config, tokens } = context;
    const hashes = new TemplateHashes();
    this.spending = new SpendingBooks(context, (task) => this.#observer.resolve(task).pool);
    this.#observer = new Observer({
      caches,
      config,
      templates: (pool, floor) => hashes.of({ pool, config, issuer: tokens.issuer(), capabilities: this.#observer.capabilities() }, floor),
      ledger: this.#ledger,
      leases,
      spending: (task, pool) => this.spending.view(task, pool),
      quota: (task, pool) => this.#workloads.view(task, pool),
      unprepared: (namespace) => context.unprepared?.get(namespace),
      order,
    });
    this.#invalidTasks = new InvalidTasks(clock);
    this.#metrics = taskMetrics(context.registry);
    this.#notes = new NoteReader({ ...context, waitMs: slowStartMs.ordinary });
    this.#volumes = new Volumes({ transport: context.transport, caches, consistency });
    this.#dependencies = new Dependencies(context.transport, caches);
    this.#workloads = new Workloads({
      transport: context.transport,
      caches,
      consistency,
      sandbox: (task, pool) =>
        sandboxPod(sandboxInput('', { task, pool, config, issuer: tokens.issuer(), capabilities: this.#observer.capabilities() })),
    });
    this.#executor = new Executor({ context, consistency, volumes: this.#volumes, spending: this.spending, workloads: this.#workloads });
    this.endedTasks = new EndedTasks(context);
    requeues = new Requeues({ caches, observer: this.#observer, ledger: this.#ledger });
    this.requeues = requeues;
  }

  async reconcile(key: string, { signal }: ReconcileContext): Promise<Outcome> {
    const cached = this.#context.caches.tasks.lister.get(key);
    // One that is left alone stays out of the queue.
    if (cached === undefined || this.#invalidTasks.restMs(cached) === 0) this.#ledger.forget(key);
    const later = cached === undefined ? this.#restMs(key) : 0;
    if (later > 0) return this.#gone(key, signal, later);
    const task = cached ?? (await this.endedTasks.read(key, signal));
    await this.spending.settleGone(key, task?.metadata.deletionTimestamp === undefined ? task?.metadata.uid : undefined, signal);
    if (task === undefined) this.endedTasks.note(key, undefined);
    if (task === undefined || task.metadata.deletionTimestamp !== undefined) return this.#gone(key, signal);
    const invalidRetryMs = this.#invalidTasks.restMs(task);
    if (invalidRetryMs > 0) {
      await this.#executor.discard(task, this.#observer.sandboxes(key), signal);
      return this.#gone(key, signal, invalidRetryMs);
    }
    const { assignment = {} } = task.status ?? {};
    return this.#conflicts.tried(key, () => withinTask(task, assignment, noTracing, () => this.#follow(key, task, signal)));
  }

  #restMs(key: string): number {
    const live = this.#observer.sandboxes(key).some(({ metadata }) => metadata.deletionTimestamp === undefined);
    return this.spending.holds(key) || this.#workloads.holds(key) ? 0 : this.endedTasks.restMs(key, live);
  }

  async #follow(key: string, task: AgentTask, signal: AbortSignal): Promise<Outcome | 'Again'> {
    const taken = new Set<string>();
    const [storage, dependencies, note] = await Promise.all([
      task.spec.sandbox?.storage === undefined ? undefined : this.#volumes.view(task, signal),
      task.spec.dependsOn === undefined ? undefined : this.#dependencies.view(task, signal),
      this.#note(key, task, signal),
    ]);
    let refusal: string | undefined;
    // A task that loses every race for a waiting sandbox gets one of its own; one that is refused waits.
    for (let round = 0; round < mostRounds; round += 1) {
      // From here to the assumption nothing waits: no other task is decided about in between.
      const { snapshot, decision } = this.#decide(task, { refusal, taken }, { storage, dependencies, note });
      this.#assume(task, decision);
      this.#foresee(key, task, decision);
      const hindrance = await this.#executor.run(snapshot, decision, signal);
      if (hindrance === undefined) return this.#reported(key, task, decision);
      this.#ledger.forget(key);
      if (hindrance.kind === 'Again') break;
      if (hindrance.kind === 'Invalid') return this.#markInvalid(task, hindrance.message);
      if (hindrance.kind === 'Taken') taken.add(hindrance.uid);
      else refusal = hindrance.message;
    }
    return 'Again';
  }

  /** Events are read while a sandbox does not answer, and takes its time. */
  async #note(key: string, { status }: AgentTask, signal: AbortSignal): Promise<string | undefined> {
    const { sandbox, sandboxReadyAt } = status?.assignment ?? {};
    if (sandbox === undefined || sandboxReadyAt !== undefined) return undefined;
    const pods = this.#observer.sandboxes(key).filter(({ metadata }) => metadata.name === sandbox);
    return (await this.#notes.read(pods, signal)).get(sandbox);
  }

  /** One that has begun goes on as it is, and is tried again: what its worker reports may become shorter. */
  #markInvalid(task: AgentTask, said: string): Outcome {
    this.#context.events.record(task, invalidEvent(said));
    this.#ledger.assume(task, { kind: 'invalid' });
    if (task.status?.assignment !== undefined) return requeueAfter(conflictMs.gone);
    this.#invalidTasks.note(task);
    return requeueAfter(conflictMs.first);
  }

  #decide(task: AgentTask, hindrances: Hindrances, live: Live): { readonly snapshot: Snapshot; readonly decision: Decision } {
    const { clock } = this.#context;
    const since = clock.monotonic() - (this.#written.get(keyOf(task)) ?? -Infinity);
    const snapshot = this.#observer.snapshot(task, since, hindrances, live);
    return { snapshot, decision: decide(snapshot, clock.now()) };
  }

  #assume(task: AgentTask, { takes, status }: Decision): void {
    if (takes !== undefined) this.#ledger.assume(task, { kind: 'slot', ...takes });
    else if (status.phase === 'Queued') this.#ledger.assume(task, { kind: 'queued' });
  }

  /** Notes a task that the written status takes out of the cache: until all is done about it, it has to be looked at. */
  #foresee(key: string, task: AgentTask, { status }: Decision): void {
    if (status.finished !== 'true') return;
    this.endedTasks.note(key, 0);
    if (task.status?.finished !== 'true') this.#context.caches.census.ends(task, status.phase ?? '');
  }

  #reported(key: string, task: AgentTask, { events, written, requeueAfterMs, status }: Decision): Outcome {
    this.#metrics.written(task, task.status, status);
    recordSpans(this.#context.tracing ?? noTracing, task, task.status, status);
    if (status.finished === 'true') {
      this.#written.delete(key);
      // The result of its pods decides about its volume.
      this.endedTasks.note(key, status.storage === undefined ? requeueAfterMs : 0);
    } else if (written) this.#written.set(key, this.#context.clock.monotonic());
    for (const event of events) this.#context.events.record(task, event);
    const again = Math.min(requeueAfterMs ?? Infinity, status.finished === 'true' ? Infinity : this.#fallbackMs());
    return Number.isFinite(again) ? requeueAfter(again) : done;
  }

  #fallbackMs(): number {
    return fallbackMs * (1 + this.#context.random());
  }

  /**
   * The garbage collector deletes the sandbox of a task that is gone; we let it go when its containers have ended. Also for
   * a task that has ended, when there is nothing else to do for `later` ms.
   */
  async #gone(key: string, signal: AbortSignal, later = Infinity): Promise<Outcome> {
    const now = this.#context.clock.now();
    const pods = this.#observer.sandboxes(key).filter((pod) => hasFinalizer(pod, sandboxFinalizer));
    await this.#executor.release(
      key,
      pods.filter((pod) => hasEnded(pod, now)),
      signal,
    );
    if (this.#context.caches.tasks.lister.get(key) === undefined) {
      this.#written.delete(key);
      this.#conflicts.forget(key);
      this.#invalidTasks.forget(key);
      this.#executor.forget(key);
    }
    const waits = pods
      .filter((pod) => pod.metadata.deletionTimestamp !== undefined && !hasEnded(pod, now))
      .map((pod) => surelyEndedAt(pod) - now);
    const next = Math.min(later, ...waits);
    return Number.isFinite(next) ? requeueAfter(Math.max(1, next)) : done;
  }
}
