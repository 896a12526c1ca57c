// test, contract/api: status of a task of ordinary size. May import any package.
import { condition, fullRun, fullTaskStatus, time } from './examples.ts';
import type { Node } from './fields.ts';

/**
 * The status of a task in its second attempt: 16 plan nodes, 3 checks, 6 conditions, a patch of 1 KiB; no approvals, no
 * rollout of its pool.
 */
export const typicalStatus: Node = {
  ...fullTaskStatus,
  assignment: {
    ...(fullTaskStatus['assignment'] as Node),
    budget: undefined,
    revision: undefined,
    verifierRevision: undefined,
    rollout: undefined,
    shadow: undefined,
  },
  // The operator writes `started` only of an attempt that never began.
  attempts: (fullTaskStatus['attempts'] as readonly Node[]).map((attempt) => ({ ...attempt, started: undefined })),
  queue: undefined,
  clock: { startedAt: time, pausedSeconds: 0 },
  rollback: undefined,
  approvals: undefined,
  messages: undefined,
  storage: undefined,
  conditions: ['Ready', 'Accepted', 'Scheduled', 'SandboxReady', 'Succeeded', 'Finished'].map((type) => ({
    ...condition,
    type,
    message: 'works on step 3 of 12',
  })),
  run: {
    ...fullRun,
    pendingApproval: undefined,
    answer: undefined,
    output: undefined,
    messagesTaken: undefined,
    rollback: undefined,
    quiescedAt: undefined,
    shadow: undefined,
    signals: { ...(fullRun['signals'] as Node), degraded: undefined },
    plan: Array.from({ length: 16 }, (_, index) => ({
      id: `1.${index}`,
      kind: 'Step',
      intent: `correct the comparison in function number ${index}`,
      state: 'Done',
    })),
    patch: '-  a\n+  b\n'.repeat(96),
    outcome: {
      result: 'Succeeded',
      reason: 'ChecksPassed',
      checks: ['unit', 'lint', 'types'].map((name) => ({ name, passed: 20, failed: 0, skipped: 0, seconds: 3 })),
    },
  },
};
