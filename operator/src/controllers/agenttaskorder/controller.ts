import {
  Applier,
  canonical,
  Consistency,
  Controller,
  done,
  isConflict,
  isNotFound,
  keyOf,
  requeueAfter,
  ResourceClient,
  watches,
  type Outcome,
} from '@agentfleet/kube';
import type { AgentTask, AgentTaskOrder } from '@agentfleet/protocol/api';
import type { OperatorContext } from '../../runtime/context.ts';
import { resources } from '../../runtime/resources.ts';
import { decideOrder, type OrderDecision } from './decide.ts';

const fieldManager = 'agentfleet-operator';

/** Ms to wait after a write to what is newer than the cache shows; a cache that lags behind is tried again less and less often. */
const conflictMs = { first: 50, longest: 2_000 } as const;

/**
 * The controller of AgentTaskOrders: says what becomes of an order, and ties it to its task. The caches of the context
 * must be run by the caller.
 */
export function createAgentTaskOrderController(context: OperatorContext): Controller {
  const { caches, clock, log, registry } = context;
  const consistency = new Consistency({ clock, pollMs: 25 });
  const write = writer(context, consistency);
  /** Conflicts one after the other by key. */
  const conflicts = new Map<string, number>();
  const tasks = new ResourceClient<AgentTask>(context.transport, resources.agentTasks);
  // One that has ended is in no cache.
  const taskOf = async ({ metadata: { namespace = '' }, spec }: AgentTaskOrder, signal: AbortSignal): Promise<AgentTask | undefined> =>
    caches.tasks.lister.get(`${namespace}/${spec.taskRef.name}`) ?? (await tasks.find({ namespace, name: spec.taskRef.name }, { signal }));
  return new Controller({
    name: 'agenttaskorder',
    sources: [
      watches(caches.orders),
      watches(caches.tasks, {
        map: (task) => ordersOf(context, task),
        // What an order waits for: the end of its task, an act, or the decision about it.
        predicate: (change) => change.type !== 'update' || answerOf(change.old) !== answerOf(change.object),
      }),
    ],
    reconcile: async (key, { signal }): Promise<Outcome> => {
      const before = conflicts.get(key) ?? 0;
      conflicts.delete(key);
      const order = caches.orders.lister.get(key);
      if (order === undefined || order.metadata.deletionTimestamp !== undefined) return done;
      const task = await taskOf(order, signal);
      const decision = decideOrder(order, task, clock.now());
      try {
        await write(order, decision, signal);
      } catch (error) {
        if (!isConflict(error) && !isNotFound(error)) throw error;
        conflicts.set(key, before + 1);
        return requeueAfter(Math.min(conflictMs.longest, conflictMs.first * 2 ** Math.min(before, 20)));
      }
      return decision.requeueAfterMs === undefined ? done : requeueAfter(decision.requeueAfterMs);
    },
    gate: consistency,
    clock,
    log,
    registry,
  });
}

function answerOf({ status }: AgentTask): string {
  return `${status?.finished ?? ''} ${status?.run?.pendingApproval?.action ?? ''} ${status?.approvals?.at(-1)?.at ?? ''} ${status?.approvals?.length ?? 0}`;
}

function ordersOf({ caches }: OperatorContext, { metadata: { namespace = '', name } }: AgentTask): readonly string[] {
  return caches.orders.lister.byIndex('task', `${namespace}/${name}`).map((order) => keyOf(order));
}

type Write = (order: AgentTaskOrder, decision: OrderDecision, signal: AbortSignal) => Promise<void>;

function writer({ transport, caches }: OperatorContext, consistency: Consistency): Write {
  const client = new ResourceClient(transport, resources.agentTaskOrders);
  const owners = new Applier({ client, view: caches.orders, fieldManager });
  const statuses = new Applier({ client, view: caches.orders, fieldManager, subresource: 'status' });
  return async (order, { owner, status }, signal) => {
    const { name, namespace, resourceVersion, ownerReferences = [] } = order.metadata;
    const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
    const seen = (object: AgentTaskOrder): void => consistency.wrote(keyOf(order), caches.orders, object);
    let version = resourceVersion;
    if (owner !== undefined && !ownerReferences.some(({ uid }) => uid === owner.uid)) {
      const { object } = await owners.apply({ metadata: { ...metadata, ownerReferences: [owner] } }, signal, seen, version);
      version = object?.metadata.resourceVersion;
    }
    if (status === undefined || canonical(order.status ?? {}) === canonical(status)) return;
    await statuses.apply({ metadata, status }, signal, seen, version);
  };
}
