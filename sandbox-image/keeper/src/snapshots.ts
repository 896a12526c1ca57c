import type { Readable } from 'node:stream';
import type { RestoreReport, SnapshotRecord } from '@agentfleet/protocol/keeper';
import type { TreeDiff } from './snapshot/index.ts';

/** What the keeper needs of a snapshot engine. The caller holds the gate. */
export interface Snapshots {
  /** `maxBytes`: what the store may grow by; more is AF_STORE_FULL. */
  take(options?: { readonly label?: string; readonly maxBytes?: number }): Promise<SnapshotRecord>;
  restore(id: string): Promise<RestoreReport>;
  /** Oldest first. */
  list(): readonly SnapshotRecord[];
  diff(from: string, to: string): Promise<TreeDiff>;
  revertBundle(from: string, to: string): Promise<Readable>;
  close(): Promise<void>;
}
