import { mismatch } from '@agentfleet/cli/evidence';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { Stage } from './stage.ts';

/** Fetches all artifacts of a task and proves that each is the one that the status reports. By name. */
export async function checkArtifacts({ artifacts, proofs }: Stage, { status }: AgentTask): Promise<ReadonlyMap<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const wrong: string[] = [];
  const listed = status?.run?.artifacts ?? [];
  for (const artifact of listed) {
    const { name, uri, bytes } = artifact;
    const content = await artifacts.get(uri);
    files.set(name, content);
    if (mismatch(artifact, content) !== null) wrong.push(name);
    proofs.fact(`${name.padEnd(14)} ${String(bytes).padStart(8)} bytes  ${uri}`);
  }
  const claim = 'every artifact in the storage has the hash that the status reports';
  proofs.prove(claim, listed.length > 0 && wrong.length === 0, wrong.length === 0 ? `${listed.length} files` : `not ${wrong.join(', ')}`);
  return files;
}
