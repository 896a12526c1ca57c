import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verifyLog } from '@agentfleet/keeper/log';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
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
  const { ok, why, records } = await readChain(trace);
  proofs.prove('its hash chain holds from the first record to the last', ok, why ?? `${records.length} records`);
  const root = task.status?.run?.auditRoot;
  proofs.prove(
    'it holds the record that the status names as its head',
    records.some(({ hash }) => hash === root),
    root?.slice(0, 12),
  );
  return traceFacts(records);
}

/** The records of a log, checked link by link. */
export async function readChain(log: Uint8Array): Promise<{ ok: boolean; why: string | undefined; records: readonly AuditRecord[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'agentfleet-trace-'));
  try {
    const file = join(folder, traceName);
    await writeFile(file, log);
    const records: AuditRecord[] = [];
    const { ok, broken } = await verifyLog(file, { onRecord: (record) => records.push(record) });
    const why = broken === null ? undefined : `record ${broken.seq}: ${broken.why}`;
    return { ok: ok && records.length > 0, why, records };
  } finally {
    await rm(folder, { recursive: true });
  }
}
