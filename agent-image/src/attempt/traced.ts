import { sleep } from '@agentfleet/kube';
import { agent, handOn, inSpan, isRecorded, noTracing, withinTask, type Attributes, type Tracing } from '@agentfleet/protocol/tracing';
import type { AttemptContext } from './ports.ts';

/** How often spans are fetched from the keeper of a long attempt, ms. */
const fetchMs = 15_000;

interface Named {
  readonly name: string;
  readonly attributes: Attributes;
}

/** Runs `body` for a task: what it logs has the ids of the attempt, and its spans belong to the task's trace. */
function traced<T>(tracing: Tracing = noTracing, context: AttemptContext, named: Named, body: () => Promise<T>): Promise<T> {
  const { task, assignment } = context;
  const { attempt, epoch } = assignment;
  const attributes = { ...named.attributes, 'agentfleet.attempt': attempt, 'agentfleet.epoch': epoch };
  return withinTask(task, assignment, tracing, ({ root: { traceId } }) =>
    isRecorded() ? withKeeper(context, traceId, () => inSpan(named.name, { attributes }, body)) : body(),
  );
}

/** Fetches the spans of the keeper meanwhile and at the end, as no receiver is reached from a sandbox. */
async function withKeeper<T>({ keeper, clock }: AttemptContext, traceId: string, body: () => Promise<T>): Promise<T> {
  const ended = new AbortController();
  const fetch = async (): Promise<void> => {
    const spans = await keeper.spans(traceId).catch(() => []);
    handOn('agentfleet-keeper', () => spans);
  };
  const fetching = (async () => {
    while (await sleep(clock, fetchMs, ended.signal)) await fetch();
  })();
  try {
    return await body();
  } finally {
    ended.abort();
    await fetching;
    await fetch();
  }
}

/** An attempt as a span of its task. */
export function tracedAttempt<T>(tracing: Tracing | undefined, context: AttemptContext, body: () => Promise<T>): Promise<T> {
  const { pool, task } = context;
  const name = `${pool.pool.namespace}/${pool.pool.name}`;
  return traced(tracing, context, { name: agent.name(name), attributes: agent.request(name, task.metadata.uid ?? '') }, body);
}

/** A rollback as a span of its task. */
export function tracedRollback<T>(tracing: Tracing | undefined, context: AttemptContext, body: () => Promise<T>): Promise<T> {
  return traced(tracing, context, { name: 'rollback', attributes: {} }, body);
}

/** A phase of an attempt as a span of it. */
export function phase<T>(name: string, body: () => Promise<T>): Promise<T> {
  return inSpan(name, {}, body);
}
