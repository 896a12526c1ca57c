import type { Static } from 'typebox';
import { choice, integer, struct } from '../schema/index.ts';

/** `spec.snapshots`. */
export const Snapshots = struct(
  'Times at which the tree is captured.',
  {
    policy: choice(
      'RiskGated: before steps that are judged risky. EveryStep: before each step. InitialOnly: snapshot 0 alone.',
      ['RiskGated', 'EveryStep', 'InitialOnly'],
      'RiskGated',
    ),
    checkpointSeconds: integer('Seconds between two durable copies while the task runs and something changed.', 5, 86_400, 120),
  },
  { filled: true },
);
export type Snapshots = Static<typeof Snapshots>;

/** `spec.rollback`. */
export const Rollback = struct(
  'Rollback of the tree.',
  {
    whenFailed: choice(
      'RestoreInitial: as at snapshot 0. RestoreLastGreen: as when the checks last passed. Keep: as the agent left it.',
      ['RestoreInitial', 'RestoreLastGreen', 'Keep'],
      'RestoreInitial',
    ),
  },
  { filled: true },
);
export type Rollback = Static<typeof Rollback>;

const year = 31_536_000;

/** `spec.retention`. */
export const Retention = struct(
  'Time for which a finished task keeps what it holds.',
  {
    sandboxSeconds: integer(
      'Seconds after the end that the sandbox pod stays; with 0 it goes at once, or after 900 s where the tree is kept (cancel: Stop, whenFailed: Keep).',
      0,
      year,
      0,
    ),
    snapshotsSeconds: integer(
      'Seconds after the end that the durable copies and the VolumeSnapshot of spec.sandbox.storage stay.',
      0,
      year,
      604_800,
    ),
  },
  { filled: true },
);
export type Retention = Static<typeof Retention>;
