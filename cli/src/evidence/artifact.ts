import { createHash } from 'node:crypto';
import type { AgentTask, Run } from '@agentfleet/protocol/api';

/** A file that outlived its sandbox, as the status tells of it. */
export type Artifact = NonNullable<Run['artifacts']>[number];

/** The artifact of that name; undefined when the task has none. */
export function artifactOf({ status }: AgentTask, name: string): Artifact | undefined {
  return status?.run?.artifacts?.find((artifact) => artifact.name === name);
}

/** How a content is not the one that the status tells of; null when it is. */
export function mismatch({ bytes, sha256 }: Pick<Artifact, 'bytes' | 'sha256'>, content: Uint8Array): string | null {
  if (content.length !== bytes) return `it has ${content.length} bytes, the status tells of ${bytes}`;
  const found = createHash('sha256').update(content).digest('hex');
  return found === sha256 ? null : `its sha256 is ${found}, the status tells of ${sha256}`;
}

/** The key of an address below the address of a bucket or prefix. */
export function keyIn(place: string, uri: string): string {
  const prefix = `${place.replace(/\/$/, '')}/`;
  if (!uri.startsWith(prefix)) throw new Error(`${uri} does not lie in ${place}: the pool stores elsewhere`);
  return uri.slice(prefix.length);
}
