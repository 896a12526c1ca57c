import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { markAudit, type AuditMark } from '../bench/operator/auditLog.ts';
import { currentLayout } from '../cluster/base/layout.ts';
import { repository } from '../images/parts.ts';
import { asksSince } from './asks.ts';
import { accounts } from './subjects.ts';

/** Returns where a stage of tests records the requests of the chart's accounts. */
export const recordOf = (stage: string): string => join(repository, 'test', '.output', 'rbac', `${stage}.json`);

/** Returns the end of the local cluster's audit log; nothing for a foreign cluster. */
export async function beginRecord(): Promise<AuditMark | undefined> {
  return markAudit(currentLayout().logs).catch(() => undefined);
}

/** Writes the requests since then. */
export async function endRecord(stage: string, mark: AuditMark | undefined): Promise<void> {
  if (mark === undefined) return;
  const asks = await asksSince(currentLayout().logs, mark, accounts);
  const path = recordOf(stage);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `${JSON.stringify(asks, undefined, 1)}\n`);
}
