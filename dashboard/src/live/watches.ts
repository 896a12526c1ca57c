import { type Clock, Informer, type KubeObject, type Log, type Random, type Transport } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { bounds } from '../base/config.ts';
import { resources } from '../base/resources.ts';
import type { Followed, FollowedShapes, TaskRow } from '../base/wire.ts';

const longestGoal = 160;
const longestMessage = 300;

type Condition = NonNullable<NonNullable<AgentTask['status']>['conditions']>[number];

const time = (text: string | undefined): number | undefined => (text === undefined ? undefined : Date.parse(text));
const number = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));

/** Fields that are there, so that rows stay small. */
function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

/** Returns the act, question or review that waits for a person and has not been decided. */
function waitingFor(status: AgentTask['status']): TaskRow['waits'] {
  const pending = status?.finished === 'true' ? undefined : status?.run?.pendingApproval;
  if (pending === undefined || status?.approvals?.some(({ action }) => action === pending.action) === true) return undefined;
  const { kind = 'Act', summary, question, expires } = pending;
  return { kind, summary: (question ?? summary).slice(0, longestMessage), expires: Date.parse(expires) };
}

function stuckBy(conditions: readonly Condition[]): TaskRow['stuck'] {
  const found = conditions.find(
    ({ type, status }) => (type === 'Stalled' && status === 'True') || (type === 'Accepted' && status === 'False'),
  );
  return found === undefined ? undefined : { reason: found.reason, message: found.message.slice(0, longestMessage) };
}

const poolOf = ({ metadata, spec: { poolRef } }: AgentTask): string | undefined =>
  poolRef === undefined ? undefined : `${poolRef.namespace ?? metadata.namespace ?? ''}/${poolRef.name}`;

/** Returns the times at which the task began, waited and ended. */
function timesOf({ status }: AgentTask) {
  const { conditions = [], queue, clock, assignment } = status ?? {};
  const finished = status?.finished === 'true';
  const end = finished ? conditions.find(({ type }) => type === 'Finished') : undefined;
  return {
    started: time(clock?.startedAt),
    ended: time(end?.lastTransitionTime),
    queuedSince: finished || assignment !== undefined ? undefined : time(queue?.since),
    queuePosition: queue?.position,
    stuck: finished ? undefined : stuckBy(conditions),
    rollout: assignment?.rollout,
    revision: assignment?.revision,
  };
}

/** Returns the facts that the worker reports of the attempt. */
function runOf({ status }: AgentTask) {
  const { run, attempts = [] } = status ?? {};
  return {
    failure: status?.phase === 'Succeeded' ? undefined : attempts.findLast((attempt) => attempt.class !== undefined)?.class,
    reason: run?.outcome?.reason,
    message: run?.progress?.message,
    done: run?.progress?.done,
    total: run?.progress?.total,
    pSuccess: number(run?.signals?.pSuccess),
    energy: number(run?.signals?.energy),
    stableBins: run?.shadow?.stableBins,
    shadowBins: run?.shadow?.shadowBins,
  };
}

/** Returns the row that the fleet's list shows of a task. Pure. */
export function rowOf(task: AgentTask): TaskRow {
  const { metadata, spec, status } = task;
  const { namespace = '', name, resourceVersion = '' } = metadata;
  const usage = status?.totals?.usage ?? status?.run?.usage;
  return {
    key: `${namespace}/${name}`,
    version: resourceVersion,
    namespace,
    name,
    goal: (spec.goal.trim().split('\n')[0] ?? '').slice(0, longestGoal),
    phase: status?.phase ?? 'Pending',
    created: Date.parse(metadata.creationTimestamp ?? ''),
    tokens: (usage?.tokensIn ?? 0) + (usage?.tokensOut ?? 0),
    candidates: usage?.candidates ?? 0,
    vetoes: usage?.vetoes ?? 0,
    ...given({
      ...timesOf(task),
      ...runOf(task),
      pool: poolOf(task),
      cost: usage?.cost,
      budgetTokens: spec.budget.tokens,
      budgetCost: spec.budget.cost,
      waits: waitingFor(status),
    }),
  };
}

export interface FeedTools {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export type Shape = FollowedShapes[Followed];

const shapeOf = (kind: Followed, object: KubeObject): Shape => (kind === 'AgentTask' ? rowOf(object as AgentTask) : (object as Shape));

/** Caches keep what the page gets: a tenth of a task. */
export interface Shrunk extends KubeObject {
  readonly shape?: Shape;
}

function shrink(kind: Followed) {
  return (object: KubeObject): Shrunk => {
    const { name, namespace, uid, resourceVersion, annotations } = object.metadata;
    const metadata = {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      // A bookmark that ends a streamed list is known by its annotation.
      ...(annotations === undefined ? {} : { annotations }),
    };
    const isWhole = 'spec' in object && object.spec !== undefined;
    return { metadata, ...(isWhole ? { shape: shapeOf(kind, object) } : {}) };
  };
}

interface Open {
  readonly informer: Informer<Shrunk>;
  readonly abort: AbortController;
  users: number;
}

/** A watch that is shared; `release` gives it back. */
export interface Watch {
  readonly informer: Informer<Shrunk>;
  release(): void;
}

/** The watches of one user: one for each kind and namespace, whatever lists of namespaces their pages show. */
export class Watches {
  readonly #transport: Transport;
  readonly #tools: FeedTools;
  readonly #open = new Map<string, Open>();

  constructor(transport: Transport, tools: FeedTools) {
    this.#transport = transport;
    this.#tools = tools;
  }

  get size(): number {
    return this.#open.size;
  }

  /** The watch of a kind in a namespace, or in all; it runs until the last one has released it. */
  take(kind: Followed, namespace: string | undefined): Watch {
    const key = `${kind} ${namespace ?? ''}`;
    const open = this.#open.get(key) ?? this.#begin(key, kind, namespace);
    open.users += 1;
    let held = true;
    const release = (): void => {
      if (!held) return;
      held = false;
      open.users -= 1;
      if (open.users > 0) return;
      this.#open.delete(key);
      open.abort.abort();
    };
    return { informer: open.informer, release };
  }

  #begin(key: string, kind: Followed, namespace: string | undefined): Open {
    const informer = new Informer<Shrunk>({
      ...this.#tools,
      transport: this.#transport,
      resource: resources[kind],
      ...(namespace === undefined ? {} : { namespace }),
      watchSeconds: bounds.watchSeconds,
      transform: shrink(kind),
    });
    const open = { informer, abort: new AbortController(), users: 0 };
    this.#open.set(key, open);
    void informer.run(open.abort.signal);
    return open;
  }
}
