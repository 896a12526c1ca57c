import { readTrace as readLog } from '@agentfleet/cli/evidence';
import type { AgentTask } from '@agentfleet/protocol/api';
import { checkArtifacts } from './checkArtifacts.ts';
import type { Stage } from './stage.ts';
import { traceFacts, type TraceFacts } from './trace.ts';

const traceName = 'trace.ndjson';

/** Fetches what a task left behind, proves that it is whole, and reads its event log. */
export async function readTrace(stage: Stage, task: AgentTask): Promise<TraceFacts> {
  const { proofs } = stage;
  const files = await checkArtifacts(stage, task);
  const trace = files.get(traceName);
  proofs.prove('the event log outlived the sandbox', trace !== undefined, traceName);
  if (trace === undefined) return traceFacts([]);
  const { ok, faults, read } = await readLog(trace);
  const [fault] = faults;
  const what = fault === undefined ? `${read.length} records` : `record ${fault.seq}: ${fault.why}`;
  proofs.prove('its hash chain holds from the first record to the last', ok, what);
  const root = task.status?.run?.auditRoot;
  proofs.prove(
    'it holds the record that the status names as its head',
    read.some(({ hash }) => hash === root),
    root?.slice(0, 12),
  );
  return traceFacts(read);
}
