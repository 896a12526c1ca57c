import type { AgentTask } from '@agentfleet/protocol/api';
import type { TaskRow } from '../base/wire.ts';

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

/** What waits for a person and has not been decided. */
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

/** When it began, waited and ended. */
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

/** What the worker reports of the attempt. */
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

/** What the fleet's list shows of a task. Pure. */
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
