// Our loop at tasks of packs: the local pool of `fleet eval run --endpoint`, with everything that a worker has.
import type { PackTask } from '@agentfleet/eval/format';
import { LocalPool } from '@agentfleet/eval/local';
import { variantsOf } from '@agentfleet/eval';
import type { Endpoint } from './endpoint.ts';
import { Trace } from './trace.ts';
import { recordOf, requestsBetween, type PeerRecord } from './record.ts';

export interface FleetRun {
  readonly checkout: string;
  readonly endpoint: Endpoint;
  readonly model: string;
  readonly version: string;
  /** Commands and edits, and seconds, after which an attempt is ended. */
  readonly limits: { readonly steps: number; readonly seconds: number };
}

/** Runs the loop on tasks, one after the other; `each.before` is called before each task. */
export async function runAgentFleet(
  tasks: readonly PackTask[],
  { checkout, endpoint, model, version, limits }: FleetRun,
  each: { readonly before: (task: PackTask) => void; readonly after: (record: PeerRecord) => Promise<void> },
): Promise<void> {
  const [full] = variantsOf([]);
  if (full === undefined) throw new TypeError('there is a variant called full');
  const chat = {
    endpoint: endpoint.url,
    model,
    contextTokens: 64_000,
    maxOutputTokens: 4096,
    toolCalls: 'Native',
    timeoutSeconds: 600,
  } as const;
  const budget = { toolCalls: limits.steps, wallSeconds: limits.seconds };
  using trace = new Trace();
  await using pool = await LocalPool.open({ checkout, budget, model: chat });
  await pool.digest(full);
  for (const task of tasks) {
    each.before(task);
    trace.ended.length = 0;
    const { hidden, reason, message, wallSeconds } = await pool.attempt(task, full, {
      seed: 1,
      round: 1,
      signal: AbortSignal.timeout(3_600_000),
    });
    const ended = hidden === 'Passed' ? reason : `${reason}: ${message}`;
    const { exchanges } = endpoint;
    const requests = requestsBetween(exchanges, trace.ended);
    const facts = { agent: 'agentfleet', version, task: task.id, model, solved: hidden === 'Passed', ended, wallSeconds };
    await each.after({ ...recordOf({ ...facts, exchanges }), requests });
  }
}
