import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { markAudit, type AuditMark } from '../bench/operator/auditLog.ts';
import { currentLayout } from '../cluster/base/layout.ts';
import { repository } from '../images/parts.ts';
import { asksSince } from './asks.ts';
import { accounts } from './subjects.ts';

/** Where a stage of tests leaves what the accounts of the chart asked for during it. */
export const recordOf = (stage: string): string => join(repository, 'test', '.output', 'rbac', `${stage}.json`);

/** Remembers where the audit log of our own cluster ends; nothing where somebody else runs the cluster. */
export async function beginRecord(): Promise<AuditMark | undefined> {
  return markAudit(currentLayout().logs).catch(() => undefined);
}

/** Writes what was asked for since then. */
export async function endRecord(stage: string, mark: AuditMark | undefined): Promise<void> {
  if (mark === undefined) return;
  const asks = await asksSince(currentLayout().logs, mark, accounts);
  const path = recordOf(stage);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `${JSON.stringify(asks, undefined, 1)}\n`);
}
