// protocol, log: error codes that operator and workers log, with cures. May import tracing and environment alone.
import type { LogFields } from './log.ts';

const operator = 'operator';
const worker = 'worker';

/** Failures of operator and workers that a person has to look at: one line of the log each, with its code and this cure. */
export const processErrors = {
  AF_OPERATOR_FAILED: {
    process: operator,
    when: 'the operator ends with status 1: it lost its lease, or could not begin',
    cure: 'read the error; a lost lease needs nothing, the kubelet starts a new process',
  },
  AF_RECONCILE_FAILED: {
    process: operator,
    when: 'a reconcile failed; it is tried again with backoff',
    cure: 'nothing while it passes by itself; where it stays, read the error: mostly a right that the operator lacks',
  },
  AF_CACHE_STALE: {
    process: operator,
    when: 'a watch does not show what the operator wrote',
    cure: 'look at the load of the API server; the object is reconciled once the watch shows it',
  },
  AF_CACHE_HANDLER: {
    process: operator,
    when: 'code that follows a watch threw',
    cure: 'report it with this line: it is a defect; the object is seen again at its next change',
  },
  AF_CACHE_TRANSFORM: {
    process: operator,
    when: 'an object in a cache could not be cut to the fields in use',
    cure: 'report it with this line: it is a defect; objects are kept whole, which costs memory',
  },
  AF_TASKS_NOT_LISTED: {
    process: operator,
    when: 'the tasks that have ended cannot be listed',
    cure: 'check that the operator may list agenttasks; limits and retention wait for it',
  },
  AF_BRIEF_INVALID: {
    process: worker,
    when: 'the description of the pool cannot be read; the worker begins nothing, or goes on with the former one',
    cure: 'run operator and workers of the same version; read the problem that the line names',
  },
  AF_WORKER_STOP: {
    process: worker,
    when: 'the worker did not stop cleanly',
    cure: 'nothing: its tasks go on with another worker; report it where it repeats',
  },
  AF_ATTEMPT_BROKEN: {
    process: worker,
    when: 'an attempt ended by an error and not by an outcome',
    cure: 'read status.run.outcome of the task; class Infrastructure is tried again by itself',
  },
  AF_TASK_DEFECT: {
    process: worker,
    when: 'the worker itself failed at a task',
    cure: 'report it with this line: it is a defect; the operator assigns the task again',
  },
  AF_TASK_NOT_ENDED: {
    process: worker,
    when: 'what a task held in the worker was not let go cleanly',
    cure: 'nothing: the epoch keeps it from acting; report it where it repeats',
  },
  AF_ROLLBACK_FAILED: {
    process: worker,
    when: 'a rollback failed; it is tried again, then the task ends RollbackFailed',
    cure: 'read the error; free space on the node where the store is full, then order a Restore',
  },
  AF_AUDIT_GAP: {
    process: worker,
    when: 'the event log lacks records that were reported of it',
    cure: 'treat the log as cut: compare it with its copy in the storage of the pool; the task carries the condition',
  },
  AF_REPORT_FIELDS: {
    process: worker,
    when: 'the API server would refuse fields of a report; they were left out',
    cure: 'install the CRDs of the same version as the worker',
  },
  AF_KEY_UNREADABLE: {
    process: worker,
    when: 'the keys that tokens are checked with cannot be read; the last ones stay in use',
    cure: 'check the mounted Secret or ConfigMap that the error names',
  },
  AF_PROGRAM_REQUEST: {
    process: worker,
    when: 'a request of an agent program to its model endpoint failed by the worker itself; the program was answered 500',
    cure: 'report it with this line: it is a defect; the program may try again',
  },
  AF_GOLDEN_FAILED: {
    process: worker,
    when: 'a golden set was not run to its end',
    cure: 'read the error; the rollout waits and runs the set again',
  },
} as const satisfies Readonly<Record<string, { process: string; when: string; cure: string }>>;

export type ProcessErrorCode = keyof typeof processErrors;

/** Fields of a line for a failure of the catalogue: its code and cure beside what is known of it. */
export function coded(code: ProcessErrorCode, fields: LogFields = {}): LogFields {
  return { ...fields, code, cure: processErrors[code].cure };
}
