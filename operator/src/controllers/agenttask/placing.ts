import type { Action, DesiredStatus, Snapshot, WorkerView, Transition, SandboxChoice, Facts } from './facts/snapshot.ts';
import { keyOf, timestamp } from '@agentfleet/kube';
import { passedOn, type ExpertPool, type Reason } from '@agentfleet/protocol/api';
import { refusalOf, restoredRefusal } from './acceptance.ts';
import { type Attempt, type Books } from './facts/attempts.ts';
import { perNamespaceOf, slotsOf } from '../../pools/resolve.ts';
import { sandboxName } from './sandbox/template.ts';
import { amountOf, currentBook, excessMessage, excessOf, hasRoom, remainingOf, type Amount, type Held } from '../../pools/spending.ts';
import { fullReason, spendingReason, unknownReason, unsettledReason } from './queue/spending.ts';
import { spentSandbox, outcomeMessage } from './verdict.ts';
import { refusedBecause } from './sandbox/refusal.ts';
import { claimFor } from './storage/plan.ts';
import { flavorPlacement } from './queue/quota.ts';

/** The worker that had the task comes first: it knows it. Else the one with the fewest tasks, by name where they are equal. */
function leastLoaded(workers: readonly WorkerView[], before: { readonly worker: string } | undefined): WorkerView | undefined {
  const first = workers.find(({ name }) => name === before?.worker);
  return first ?? [...workers].sort((a, b) => a.load - b.load || (a.name < b.name ? -1 : 1))[0];
}

/** The ready worker that takes over what has to be undone; slots do not matter for that. */
export function rescuer({ workers }: Snapshot): WorkerView | undefined {
  return leastLoaded(
    workers.filter(({ ready }) => ready),
    undefined,
  );
}

const waits = (reason: Reason, message: string, more: Partial<Wait> = {}): Wait => ({ kind: 'Wait', reason, message, ...more });

/** Time in which a status follows its restored object, ms: any write of ours before would make it a conflict. */
const statusFollowsMs = 10_000;

/** Returns the refusal of a task that was restored without its status, once none comes any more; undefined for all others. */
export function restored({ snapshot, task: { metadata, status }, now }: Facts): Transition | undefined {
  const refusal = restoredRefusal(snapshot);
  if (refusal === undefined) return undefined;
  const untilMs = Date.parse(metadata.creationTimestamp ?? '') + statusFollowsMs;
  const { reason, message } = refusal;
  return status?.conditions === undefined && now < untilMs ? waits(reason, message, { brief: true, untilMs }) : { kind: 'Refuse', refusal };
}

/** Gives the task a worker and a sandbox, or returns what it waits for. */
export function placing(facts: Facts, books: Books, notBefore: number): Transition {
  const next = placed(facts, books, notBefore);
  // What kept the last sandbox from starting stays in sight, whatever the next one waits for; a refusal of the next one is newer.
  return next.kind !== 'Wait' || next.newer === true ? next : { ...next, ...troubleOf(facts, books.attempts.at(-1), books.why) };
}

function placed(all: Facts, books: Books, notBefore: number): Transition {
  const { attempts } = books;
  // A sandbox that did not come to work is not used again.
  const isSpent = all.sandbox !== undefined && all.sandbox.metadata.name === spentSandbox(all, attempts);
  const facts = isSpent ? { ...all, sandbox: undefined, sandboxIs: undefined } : all;
  const { snapshot } = facts;
  const { pool } = snapshot.resolution;
  const room = pool === undefined ? undefined : roomFor(facts, pool);
  // A task that waits for other tasks, or for Kueue, takes no place in the queue.
  const outside = dependencyOf(facts) ?? gated(facts);
  if (outside !== undefined) {
    const lasting = refusalOf(snapshot, false);
    return lasting === undefined ? outside : { kind: 'Refuse', refusal: lasting };
  }
  const refusal = refusalOf(snapshot, room?.kind !== 'Bind');
  if (refusal !== undefined || room === undefined) {
    return { kind: 'Refuse', refusal: refusal ?? { reason: 'PoolNotFound', message: 'there is no pool', stalled: false } };
  }
  const wait = obstacle(facts, books, notBefore);
  if (wait !== undefined) return wait;
  if (room.kind === 'Wait') return room;
  const held = pool === undefined ? undefined : spendingFor(facts, books, pool);
  if (held !== undefined && 'kind' in held) return held;
  return { ...room, sandbox: sandboxFor(facts), ...(held === undefined ? {} : { held }) };
}

/** Returns the wait or the refusal for other tasks that keep the task from beginning; a failure of one lasts until it is made again. */
function dependencyOf({ snapshot: { dependencies }, now }: Facts): Transition | undefined {
  if (dependencies === undefined) return undefined;
  const { cycle, failed, pending, missing } = dependencies;
  const refuse = (reason: Reason, message: string): Transition => ({ kind: 'Refuse', refusal: { reason, message, stalled: true } });
  if (cycle !== undefined)
    return refuse('DependencyCycle', `spec.dependsOn leads back to this task: ${cycle.join(' → ')}; create one of them again without it`);
  if (failed.length > 0) {
    const what = failed.map(({ name, phase }) => `${name} (${phase})`).join(', ');
    return refuse('DependencyFailed', `spec.dependsOn: ${what} ended without success; delete and create it again, or cancel this task`);
  }
  const open = [...pending, ...missing.map((name) => `${name} (not there)`)];
  if (open.length === 0) return undefined;
  return waits('DependencyPending', `spec.dependsOn: waits until these have succeeded: ${open.join(', ')}`, { untilMs: now + lookMs });
}

/** Returns the wait for Kueue, which has to admit the task first. */
function gated({ gate, snapshot, now }: Facts): Transition | undefined {
  if (gate === undefined) return undefined;
  const { reason, message } = gate;
  // What it waits for is watched, as a rule.
  if (snapshot.refusal === undefined)
    return waits(reason, message, { gated: true, ...(gate.unwatched === true ? {} : { untilMs: now + lookMs }) });
  return waits(reason, `the API server does not take its Workload: ${snapshot.refusal}`, { untilMs: now + refusedRetryMs });
}

function sandboxFor(facts: Facts): SandboxChoice {
  const { sandbox, snapshot, task, assignment } = facts;
  if (sandbox !== undefined) return { kind: 'Held', name: sandbox.metadata.name };
  // The node of a sandbox that waits was decided without Kueue.
  const [pod] = flavorPlacement(snapshot.quota).nodeSelector === undefined ? snapshot.warm : [];
  if (pod !== undefined) return { kind: 'Claim', name: pod.metadata.name, pod };
  const name = sandboxName(task.metadata.name, (assignment?.epoch ?? 0) + 1);
  const claim = claimFor(facts, name);
  return { kind: 'Create', name, ...(claim === undefined ? {} : { claim }) };
}

/** Returns the obstacle that keeps the task from beginning whatever room there is. */
function obstacle(facts: Facts, { attempts, why }: Books, notBefore: number): Transition | undefined {
  const { snapshot, now, sandbox } = facts;
  if (now < notBefore) {
    const last = attempts.at(-1);
    const failed =
      last === undefined ? '' : `attempt ${last.number} failed with ${last.class ?? ''}: ${why ?? outcomeMessage(facts, last)}; `;
    return waits('Backoff', `${failed}the next one begins after ${timestamp(notBefore)}`, { untilMs: notBefore });
  }
  const fault = sandbox === undefined ? snapshot.storage?.fault : undefined;
  if (fault !== undefined) return waits(fault.reason, fault.message, { untilMs: now + storageRetryMs, queued: true, newer: true });
  if (snapshot.refusal !== undefined) {
    const { reason, cure } = refusedBecause(snapshot.refusal);
    const message = `the API server does not take the sandbox, or what belongs to it: ${snapshot.refusal}; ${cure}`;
    return waits(reason, message, { untilMs: now + refusedRetryMs, queued: true, newer: true });
  }
  if (!snapshot.prepared) return preparing(facts);
  if (sandbox !== undefined || snapshot.pods.length === 0) return undefined;
  const names = snapshot.pods.map(({ metadata }) => metadata.name).join(', ');
  return waits('SandboxEnding', `sandbox ${names} has to end before another one is made`);
}

/** Returns the reason for which the last attempt failed before anything was begun; it is reported until another sandbox is there. */
function troubleOf(facts: Facts, last: Attempt | undefined, why: string | undefined): Pick<Wait, 'because'> {
  if (last?.started !== false) return {};
  return {
    because: {
      reason: last.reason === undefined ? 'SandboxNotStarted' : passedOn(last.reason),
      message: why ?? outcomeMessage(facts, last),
    },
  };
}

/** Time that the preparation of a namespace may take before it is reported, ms: as a rule it is over before. */
const preparationMs = 2_000;

function preparing({ task, status, now, snapshot: { unprepared } }: Facts): Transition {
  const namespace = task.metadata.namespace ?? '';
  const message =
    unprepared === undefined
      ? `namespace ${namespace} is being prepared for sandboxes of the pool; look at the conditions of the ExpertPool when this stays`
      : `namespace ${namespace} cannot be prepared for sandboxes: ${unprepared}; ${refusedBecause(unprepared).cure}`;
  const untilMs = Date.parse(task.metadata.creationTimestamp ?? '') + preparationMs;
  const brief = status.conditions === undefined && now < untilMs ? { brief: true, untilMs } : {};
  return waits('NamespaceNotPrepared', message, { queued: true, ...brief });
}

/** No event requeues a task when a StorageClass is made. */
const storageRetryMs = 10_000;

/** A refused sandbox pod is tried again after this, besides when something changes. */
const refusedRetryMs = 30_000;

type Wait = Extract<Transition, { kind: 'Wait' }>;
type Room = Wait | { readonly kind: 'Bind'; readonly worker: WorkerView };

/** The worker that takes the task, or why none does: limits of the pool, then workers, then whose turn it is. */
function roomFor(facts: Facts, pool: ExpertPool): Room {
  const { queue, workers } = facts.snapshot;
  const { maxRunning = Infinity } = pool.spec.limits ?? {};
  const perNamespace = perNamespaceOf(pool);
  const wait = (reason: Reason, message: string): Room => waits(reason, message, { position: queue.ahead, queued: true });
  if (queue.running >= maxRunning)
    return wait('PoolAtLimit', `${queue.running} tasks run in ExpertPool ${keyOf(pool)} and spec.limits.maxRunning is ${maxRunning}`);
  if (queue.runningInNamespace >= perNamespace) {
    const namespace = facts.task.metadata.namespace ?? '';
    const bound = `${pool.spec.limits?.perNamespace === undefined ? 'is not set, which means ' : 'is '}${perNamespace}`;
    const message = `${queue.runningInNamespace} tasks of namespace ${namespace} run in ExpertPool ${keyOf(pool)} and its spec.limits.perNamespace ${bound}; wait until one ends, or raise it there (it is no ResourceQuota)`;
    return wait('QuotaExceeded', message);
  }
  const ready = workers.filter((worker) => worker.ready);
  if (ready.length === 0) {
    const none = `has ${workers.length} workers, none of them ready; look at its conditions and at the pods of its workers`;
    const why = pool.spec.workers.replicas === 0 ? 'has no workers: spec.workers.replicas of the pool is 0; raise it' : none;
    return wait('NoWorkerReady', `ExpertPool ${keyOf(pool)} ${why}`);
  }
  const { concurrency } = pool.spec.workers;
  const slots = `${ready.length} ready workers with ${concurrency} slots each`;
  const worker = leastLoaded(
    ready.filter(({ load }) => load < concurrency),
    facts.assignment,
  );
  if (worker === undefined) return wait('WaitingForSlot', `all slots are taken (${slots})`);
  const free = ready.reduce((sum, { load }) => sum + Math.max(0, concurrency - load), 0);
  const kept = keptFor(facts, pool, free);
  if (kept.room <= 0) return wait('WaitingForSlot', `the free slots (${slots}) are kept for ${kept.message}`);
  const room = Math.min(free, maxRunning - queue.running, kept.room);
  return room > queue.takers
    ? { kind: 'Bind', worker }
    : wait('WaitingForSlot', `tasks whose turn is earlier take the free slots (${slots})`);
}

/**
 * Returns the slots that are left when those that tasks at work will need soon are kept. They have a sandbox and their time runs, so one
 * that has not begun does not take the slots of the worker that replaces theirs, be theirs lost already or about to go in a rollout.
 */
function keptFor({ assignment, snapshot: { queue, workers } }: Facts, pool: ExpertPool, free: number): { room: number; message?: string } {
  if (assignment !== undefined) return { room: Infinity };
  const [unlost, all] = [free - queue.stranded, slotsOf(pool)];
  if (unlost <= 0) return { room: unlost, message: `${queue.stranded} tasks whose workers are lost` };
  // Tasks that began in another pool, which was the default one then, are at its workers.
  const held = workers.reduce((sum, { lost, load }) => sum + (lost === undefined ? load : 0), queue.stranded);
  const message = `tasks of workers that are replaced: spec.workers of ExpertPool ${keyOf(pool)} has slots for ${all} tasks, and ${held} have one`;
  return { room: Math.min(unlost, all - held), message };
}

/** A look at a book, or at other tasks, besides those that their changes cause, ms. */
const lookMs = 300_000;

/** Returns the amount to set aside before the next attempt begins; or the wait for it; undefined: nothing. Pure. */
function spendingFor(facts: Facts, books: Books, pool: ExpertPool): Held | Wait | undefined {
  const { spending: view } = facts.snapshot;
  const attempt = nextAttempt(facts, books);
  const wait = (reason: Reason, message: string, untilMs: number): Wait => waits(reason, message, { untilMs, queued: true });
  if (view?.held !== undefined && view.held.attempt !== attempt)
    return wait(unsettledReason, `attempt ${view.held.attempt} is being charged to ExpertPool ${view.held.pool}`, facts.now + 1000);
  const { spending } = pool.spec.limits ?? {};
  if (spending === undefined) return undefined;
  if (view?.book === null || view?.book === undefined) {
    const message = `what the tasks of ExpertPool ${keyOf(pool)} have spent cannot be read: its ConfigMap with the label agentfleet.dev/pool and the key spending.json is damaged; correct it, or delete it, by which the window begins anew`;
    return wait(unknownReason, message, facts.now + lookMs);
  }
  const { name, namespace = '', uid = '' } = facts.task.metadata;
  const held = { uid, namespace, name, attempt, ...remainingOf(facts.task, pool, books.totals?.usage) };
  const excess = excessOf(view.book, spending, held, facts.now);
  if (excess === undefined) {
    const book = currentBook(view.book, spending.windowSeconds, facts.now);
    if (hasRoom(book, held)) return held;
    const message = `the ConfigMap in which ExpertPool ${keyOf(pool)} notes what its tasks spend has no room beside ${book.held.length} open attempts; it begins when some of them have ended; lower spec.limits.maxRunning of the pool, or spread its tasks over several pools`;
    return wait(fullReason, message, facts.now + lookMs);
  }
  const { budget } = facts.task.spec;
  return wait(spendingReason, excessMessage(keyOf(pool), excess, budget), Math.min(excess.until, facts.now + lookMs));
}

/** The attempt that a Bind begins or goes on with. */
export function nextAttempt({ assignment }: Facts, { attempts }: Books): number {
  if (assignment === undefined) return 1;
  return attempts.at(-1)?.number === assignment.attempt ? assignment.attempt + 1 : assignment.attempt;
}

/**
 * Returns the actions that charge what is set aside: all that an ended attempt used; nothing when it does not come to begin; all that was
 * set aside where no book holds what was used: there the attempt is older than those that the status shows. Pure.
 */
export function settlementOf({ snapshot, assignment }: Facts, transition: Transition, status: DesiredStatus): readonly Action[] {
  const { held } = snapshot.spending ?? {};
  if (held === undefined || transition.kind === 'Bind') return [];
  const charge = (amount: Amount | null): readonly Action[] => [{ type: 'settleSpending', held, amount }];
  const closed = status.attempts?.find(({ number }) => number === held.attempt);
  if (closed !== undefined) return charge(amountOf(closed.usage));
  const { attempt = 0 } = status.assignment ?? assignment ?? {};
  if (attempt < held.attempt) return charge({ tokens: 0, micros: 0 });
  return attempt === held.attempt && status.finished !== 'true' ? [] : charge(null);
}
