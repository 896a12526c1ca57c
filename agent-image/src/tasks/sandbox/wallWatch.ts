import { asError, findCondition, sleep, type Clock, type Log } from '@agentfleet/kube';
import type { KeeperClient } from '@agentfleet/keeper/client';
import type { AgentTask, Run } from '@agentfleet/protocol/api';
import { probed } from './isolation.ts';

type Isolation = NonNullable<Run['isolation']>;

/** How often the keeper is asked how its wall is, ms; it probes by itself once a minute. */
const everyMs = 30_000;

/** The wall as it may be told: not as enforced while the operator knows of a policy that opens it. Pure. */
export function toldWall(found: Isolation, task: AgentTask): Isolation {
  const opened = findCondition(task.status?.conditions, 'NetworkOpened')?.status === 'True';
  return opened && found.network === 'Enforced' ? { ...found, network: 'NotEnforced' } : found;
}

export interface WallWatchOptions {
  readonly keeper: Pick<KeeperClient, 'info'>;
  /** As it was when the sandbox was opened. */
  readonly found: Isolation;
  /** The newest known state of the task. */
  readonly task: () => AgentTask;
  readonly report: (isolation: Isolation) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Reports a wall that opens, or closes, while there is work behind it, until the signal; the operator then ends the
 * attempt where the pool demands a wall. Never rejects: a keeper that is away is the business of who works with it.
 */
export async function watchWall({ keeper, found, task, report, clock, log }: WallWatchOptions, signal: AbortSignal): Promise<void> {
  let told = toldWall(found, task());
  while (!signal.aborted) {
    try {
      await sleep(clock, everyMs, signal);
      const now = probed(await keeper.info(signal)) ?? found;
      const next = toldWall(now, task());
      if (next.network === told.network) continue;
      told = next;
      log.warn('the wall of the sandbox is another one', { network: next.network });
      report(next);
    } catch (error) {
      if (!signal.aborted) log.info('the wall could not be asked for', { error: asError(error).message });
    }
  }
}
