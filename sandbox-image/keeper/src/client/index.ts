/** Client of the keeper's API, for the worker, the command line and tests. Imports protocol only. */
import { ulid } from 'ulid';

export { KeeperClient } from './client.ts';
export { KeeperRefusal } from './errors.ts';
export type { KeeperClientOptions } from './transport.ts';
export { collect, type ExecResult } from './result.ts';

/** A new execId: a ULID, so that ids sort by time. */
export function newExecId(): string {
  return ulid();
}
