import { ulid } from 'ulid';

/** A new execId: a ULID, so that ids sort by time. By itself, for who must not load the client with it. */
export function newExecId(): string {
  return ulid();
}
