import type { KeeperClient } from '@agentfleet/keeper/client';
import type { AuditRecord, KeeperInfo } from '@agentfleet/protocol/keeper';

/** What the log of a keeper says of its task. */
export interface History {
  /** Whether it knows nothing of a task, has adopted it and not restored anything since, or knows it. */
  readonly state: 'Fresh' | 'Adopted' | 'Knows';
  /** Body of the newest `Adopted` that no `Recovered` follows: who adopted was stopped before it could write it. */
  readonly untold: AuditRecord['body'] | null;
  /** Roots of which an `AuditGap` says that they are lost. */
  readonly gaps: ReadonlySet<unknown>;
  /** Whether a record with the expected hash is in the log; true when none is expected. */
  readonly hasExpected: boolean;
  readonly root: string;
  readonly records: number;
}

/** Records that a keeper writes by itself: one that has no others knows nothing of a task. */
const ofItsOwn = new Set(['KeeperStarted', 'ToolsConnected', 'ToolsLost', 'NetworkProbed', 'EpochRaised']);

/** Reads the whole log. `expected`: the root that was reported last. @throws KeeperRefusal */
export async function historyOf(keeper: Pick<KeeperClient, 'info' | 'events'>, expected: string | undefined): Promise<History> {
  const { snapshots }: KeeperInfo = await keeper.info();
  let state: History['state'] = snapshots.count === 0 ? 'Fresh' : 'Knows';
  let untold: History['untold'] = null;
  let hasExpected = expected === undefined;
  let last = { seq: 0, hash: '' };
  const gaps = new Set<unknown>();
  for await (const record of keeper.events()) {
    const { type, body } = record;
    state = next(state, type, body);
    if (type === 'Adopted') untold = body;
    if (type === 'Noted' && body['kind'] === 'Recovered') untold = null;
    if (type === 'Noted' && body['kind'] === 'AuditGap') gaps.add((body['data'] as { readonly expected?: unknown } | null)?.expected);
    hasExpected ||= record.hash === expected;
    last = record;
  }
  return { state, untold, gaps, hasExpected, root: last.hash, records: last.seq };
}

function next(state: History['state'], type: AuditRecord['type'], body: AuditRecord['body']): History['state'] {
  if (type === 'Adopted') return 'Adopted';
  if (state === 'Adopted') return type === 'SnapshotRestored' && body['phase'] === 'Done' ? 'Knows' : state;
  return ofItsOwn.has(type) ? state : 'Knows';
}
