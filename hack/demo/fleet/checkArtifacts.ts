import { createHash } from 'node:crypto';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { Stage } from './stage.ts';

/** Fetches all artifacts of a task and proves that each is the one that the status tells of. By name. */
export async function checkArtifacts({ artifacts, proofs }: Stage, { status }: AgentTask): Promise<ReadonlyMap<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const wrong: string[] = [];
  const told = status?.run?.artifacts ?? [];
  for (const { name, uri, sha256, bytes } of told) {
    const content = await artifacts.get(uri);
    files.set(name, content);
    if (content.length !== bytes || createHash('sha256').update(content).digest('hex') !== sha256) wrong.push(name);
    proofs.fact(`${name.padEnd(14)} ${String(bytes).padStart(8)} bytes  ${uri}`);
  }
  const claim = 'every artifact in the storage has the hash that the status tells';
  proofs.prove(claim, told.length > 0 && wrong.length === 0, wrong.length === 0 ? `${told.length} files` : `not ${wrong.join(', ')}`);
  return files;
}
