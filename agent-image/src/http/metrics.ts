import { coded } from '@agentfleet/protocol/log';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { observe, withExemplars } from '@agentfleet/protocol/tracing/scrape';
import type { Outcome } from '../attempt/ports.ts';
import type { WriteResult } from '../report/index.ts';
import { asError, type Authorize, type Clock, type Log } from '@agentfleet/kube';
import { gateOf, TokenRefused, type AccessConfig, type Gate } from '@agentfleet/protocol/tokens';

/** A worker's metrics. */
export type WorkerMetrics = ReturnType<typeof createMetrics>;

function firstActs(): Histogram {
  return new Histogram({
    name: 'agentfleet_worker_task_first_act_seconds',
    help: 'Time from the creation of a task to the first act of its first attempt, after setup and baseline.',
    buckets: [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400],
    registers: [],
    enableExemplars: true,
  });
}

/** A registry with the worker's metrics and those of its process. */
export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const tasks = new Gauge({ name: 'agentfleet_worker_tasks', help: 'Tasks that are worked on.', registers });
  const fresh = new Gauge({ name: 'agentfleet_worker_lease_fresh', help: 'Whether the Lease of the worker is fresh.', registers });
  const writes = new Counter({
    name: 'agentfleet_worker_status_writes_total',
    help: 'Writes of status.run, by result: Written, Retried, Refused (not ours any more), Invalid.',
    labelNames: ['result'],
    registers,
  });
  const attempts = new Counter({
    name: 'agentfleet_worker_attempts_total',
    help: 'Attempts that ended, by result and class of the failure.',
    labelNames: ['result', 'class'],
    registers,
  });
  const gaps = new Counter({
    name: 'agentfleet_worker_audit_gaps_total',
    help: 'Sandboxes whose event log lacks records that were reported before.',
    registers,
  });
  const firstAct = withExemplars(registry, firstActs());
  return {
    registry,
    tasks: (active: number) => tasks.set(active),
    statusWrite: (result: WriteResult) => writes.inc({ result }),
    attempt: (outcome: Outcome) => attempts.inc({ result: outcome.result, class: outcome.class ?? '' }),
    leaseFresh: (is: boolean) => fresh.set(is ? 1 : 0),
    /** Part of an event log that was reported is lost. */
    auditGap: () => gaps.inc(),
    /** A task acts for the first time, so many seconds after its creation; clocks of two machines may disagree. */
    firstAct: (seconds: number) => Number.isFinite(seconds) && observe(firstAct, {}, Math.max(0, seconds)),
  };
}

/** Makes the check of callers' tokens; a key file that cannot be read is logged. */
export function gateFor(config: AccessConfig | null, { clock, log }: { readonly clock: Clock; readonly log: Log }): Gate {
  const onError = (error: unknown): void =>
    log.error('the key file cannot be read', coded('AF_KEY_UNREADABLE', { error: asError(error).message }));
  return gateOf(config, { clock, onError });
}

/** Admits readers of metrics that have a token for it. */
export function authorizeReaders(config: AccessConfig, clock: Clock, log: Log): Authorize {
  const gate = gateFor(config, { clock, log });
  return async (authorization) => {
    try {
      await gate(authorization, 'Read');
      return undefined;
    } catch (error) {
      if (!(error instanceof TokenRefused)) throw error;
      return { status: error.status, text: `token refused: ${error.message}` };
    }
  };
}
