import {
  canonical,
  Consistency,
  Controller,
  done,
  keyOf,
  requeueAfter,
  ResourceClient,
  watches,
  type Informer,
  type Outcome,
  type ReconcileContext,
  type Source,
} from '@agentfleet/kube';
import {
  fieldManagers,
  type AgentTask,
  type AgentTaskOrder,
  type EnergyModel,
  type ExpertPool,
  type RolloutStatus,
} from '@agentfleet/protocol/api';
import { rolloutMoved, isOpen } from '../../revisions/index.ts';
import { rejectedFailures } from '../../rollout/index.ts';
import { rolloutOrderIndex, rolloutOrderKey, type RolloutTarget } from '../../runtime/caches.ts';
import type { OperatorContext } from '../../runtime/context.ts';
import { ConflictBackoff } from '../../runtime/conflicts.ts';
import { resources } from '../../runtime/resources.ts';
import { decideOrder, type OrderDecision, missingMs, orphaned, ownerOf, statusOf, type Verdict } from './decide.ts';

/** Decides about an order whose target is a rollout; what it asks for is done by the controller of the target. Pure. */
export function decideRolloutOrder(order: AgentTaskOrder, target: ExpertPool | EnergyModel | undefined, now: number): OrderDecision {
  const age = now - Date.parse(order.metadata.creationTimestamp ?? '');
  const open = order.status?.state === undefined || order.status.state === 'Accepted';
  const verdict = open ? verdictOf(order, target) : undefined;
  // Caches of two kinds are not of one moment: the requester of the order may have seen a later status, of another try.
  const serves = verdict?.state === 'Done' && order.spec.type === 'Approve';
  if (verdict !== undefined && verdict.state !== 'Accepted' && !serves && order.status?.state === undefined && age < missingMs)
    return { status: undefined, owner: undefined, requeueAfterMs: Math.max(1, missingMs - age) };
  const status = verdict === undefined ? order.status : statusOf(order, verdict, now);
  if (target === undefined) return { status, owner: undefined, ...orphaned(status ?? {}, now) };
  return { status, owner: ownerOf(target), requeueAfterMs: undefined };
}

function verdictOf({ spec, status }: AgentTaskOrder, target: ExpertPool | EnergyModel | undefined): Verdict {
  const { type, revision = '', rolloutRef } = spec;
  const { kind = '', name = '' } = rolloutRef ?? {};
  if (target === undefined) return { state: 'Refused', message: `there is no ${kind} ${name}; correct spec.rolloutRef in another order` };
  const { rollout } = target.status ?? {};
  if (rollout?.stable === revision)
    return type === 'Approve'
      ? { state: 'Done', message: `revision ${revision} serves` }
      : { state: 'Refused', message: `revision ${revision} serves already; ask for another revision in the spec` };
  if (isOpen(rollout) && rollout?.canary === revision && rollout.phase !== 'RollingBack')
    return type === 'Approve'
      ? { state: 'Accepted', message: 'it is promoted as soon as every gate passes' }
      : { state: 'Accepted', message: 'it goes back, and is not tried again' };
  const failures = rollout?.failures?.[revision] ?? 0;
  // Of an order that was never accepted the failures are those of tries before it.
  const ended = status?.state === 'Accepted' ? failures > 0 : isFrozen(rollout, revision) || failures >= rejectedFailures;
  if (type === 'Reject' && ended) return { state: 'Done', message: `revision ${revision} went back` };
  return { state: 'Refused', message: `revision ${revision} is not being tried; ${triedNow(rollout)}` };
}

/** Reports whether a revision is not tried again. */
function isFrozen(rollout: RolloutStatus | undefined, revision: string): boolean {
  return rollout?.phase === 'Frozen' && rollout.canary === revision;
}

function triedNow(rollout: RolloutStatus | undefined): string {
  return isOpen(rollout) ? `status.rollout.canary is ${rollout?.canary ?? ''}` : 'no rollout is open, see status.rollout';
}

/**
 * The controller of AgentTaskOrders: reports what becomes of an order, and ties it to its task. The caches of the context
 * must be run by the caller.
 */
export function createAgentTaskOrderController(context: OperatorContext): Controller {
  const { caches } = context;
  const orders = new OrderReconciler(context);
  return new Controller({
    name: 'agenttaskorder',
    sources: [
      watches(caches.orders),
      watches(caches.tasks, {
        map: (task) => ordersOf(context, task),
        // Events that an order waits for: the end of its task, an act, the decision about it, or that the model has a message.
        predicate: (change) => change.type !== 'update' || answerOf(change.old) !== answerOf(change.object),
      }),
      ofRollouts<ExpertPool>(context, caches.pools, 'ExpertPool'),
      ofRollouts<EnergyModel>(context, caches.energyModels, 'EnergyModel'),
    ],
    reconcile: (key, call) => orders.reconcile(key, call),
    gate: orders.consistency,
    ...context,
  });
}

/** Rollouts that moved. */
function ofRollouts<T extends ExpertPool | EnergyModel>({ caches }: OperatorContext, cache: Informer<T>, kind: RolloutTarget): Source {
  return watches<T>(cache, {
    map: (target) =>
      caches.orders.lister.byIndex(rolloutOrderIndex, rolloutOrderKey(target.metadata.namespace, kind, target.metadata.name)).map(keyOf),
    predicate: (change) => change.type !== 'update' || rolloutMoved(change.old.status, change.object.status ?? {}),
  });
}

function answerOf({ status }: AgentTask): string {
  return `${status?.finished ?? ''} ${status?.run?.pendingApproval?.action ?? ''} ${status?.approvals?.at(-1)?.at ?? ''} ${status?.approvals?.length ?? 0} ${status?.run?.messagesTaken?.join() ?? ''}`;
}

function ordersOf({ caches }: OperatorContext, { metadata: { namespace = '', name } }: AgentTask): readonly string[] {
  return caches.orders.lister.byIndex('task', `${namespace}/${name}`).map((order) => keyOf(order));
}

/** Observes, decides and writes one order. It remembers only what is on its way: there is no bound on how many orders come. */
export class OrderReconciler {
  readonly consistency: Consistency;
  readonly #context: OperatorContext;
  readonly #tasks: ResourceClient<AgentTask>;
  readonly #orders: ResourceClient<AgentTaskOrder>;
  readonly #conflicts = new ConflictBackoff();

  constructor(context: OperatorContext) {
    const { transport, clock } = context;
    this.#context = context;
    this.consistency = new Consistency({ clock, pollMs: 25 });
    this.#tasks = new ResourceClient(transport, resources.agentTasks);
    this.#orders = new ResourceClient(transport, resources.agentTaskOrders);
  }

  /** Orders that something is remembered of. */
  get size(): number {
    return this.#conflicts.size + this.consistency.size;
  }

  async reconcile(key: string, { signal }: ReconcileContext): Promise<Outcome> {
    const { caches, clock } = this.#context;
    const order = caches.orders.lister.get(key);
    if (order === undefined || order.metadata.deletionTimestamp !== undefined) {
      this.consistency.forget(key);
      this.#conflicts.forget(key);
      return done;
    }
    const decision =
      order.spec.rolloutRef === undefined
        ? decideOrder(order, await this.#taskOf(order, signal), clock.now())
        : decideRolloutOrder(order, this.#targetOf(order), clock.now());
    return this.#conflicts.tried(key, async () => {
      await (decision.remove === true ? this.#remove(order, signal) : this.#write(order, decision, signal));
      return decision.requeueAfterMs === undefined ? done : requeueAfter(decision.requeueAfterMs);
    });
  }

  /** One that has ended is in no cache. */
  async #taskOf({ metadata: { namespace = '' }, spec }: AgentTaskOrder, signal: AbortSignal): Promise<AgentTask | undefined> {
    const { name = '' } = spec.taskRef ?? {};
    return this.#context.caches.tasks.lister.get(`${namespace}/${name}`) ?? (await this.#tasks.find({ namespace, name }, { signal }));
  }

  /** The pool or the model whose rollout an order is about. */
  #targetOf({ metadata: { namespace = '' }, spec: { rolloutRef } }: AgentTaskOrder): ExpertPool | EnergyModel | undefined {
    const { pools, energyModels } = this.#context.caches;
    const key = `${namespace}/${rolloutRef?.name ?? ''}`;
    return rolloutRef?.kind === 'EnergyModel' ? energyModels.lister.get(key) : pools.lister.get(key);
  }

  async #remove(order: AgentTaskOrder, signal: AbortSignal): Promise<void> {
    const { uid = '', resourceVersion = '' } = order.metadata;
    await this.#orders.delete(order.metadata, { signal, uid, resourceVersion });
    this.consistency.deleted(keyOf(order), this.#context.caches.orders, order);
  }

  async #write(order: AgentTaskOrder, { owner, status }: OrderDecision, signal: AbortSignal): Promise<void> {
    const { name, namespace = '', resourceVersion, ownerReferences = [] } = order.metadata;
    const options = { fieldManager: fieldManagers.operator, signal };
    const seen = (object: AgentTaskOrder): void => this.consistency.wrote(keyOf(order), this.#context.caches.orders, object);
    let metadata = { name, namespace, resourceVersion };
    if (owner !== undefined && !ownerReferences.some(({ uid }) => uid === owner.uid)) {
      const tied = await this.#orders.apply({ metadata: { ...metadata, ownerReferences: [owner] } }, options);
      seen(tied);
      metadata = { ...metadata, resourceVersion: tied.metadata.resourceVersion };
    }
    if (status === undefined || canonical(order.status ?? {}) === canonical(status)) return;
    seen(await this.#orders.applyStatus({ metadata, status }, options));
  }
}
