import { createHash } from 'node:crypto';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { canonicalJson } from '@agentfleet/protocol/text';
import type { Story } from './story.ts';

/** Chapter 5: the keeper's log is checked by the keeper, and again here from the records alone. */
export async function auditTrail(story: Story): Promise<void> {
  story.chapter('5  The audit trail');
  const records: AuditRecord[] = [];
  for await (const record of story.client.events()) records.push(record);
  const report = await story.client.audit();
  story.prove('the keeper read its log back and the chain holds', report.ok, `${report.records} records, root ${report.root.slice(0, 12)}`);
  story.prove('the same chain, computed again outside', chainHolds(records));
  const altered = records.map((record) =>
    record.type === 'ExecEnded' ? { ...record, body: { ...record.body, exitCode: 0, forged: true } } : record,
  );
  story.prove('an altered record breaks it', !chainHolds(altered));
}

function chainHolds(records: readonly AuditRecord[]): boolean {
  let prev = '0'.repeat(64);
  for (const [index, { hash, prev: before, ...rest }] of records.entries()) {
    const computed = createHash('sha256')
      .update(`${prev}\n${canonicalJson(rest)}`)
      .digest('hex');
    if (rest.seq !== index + 1 || before !== prev || computed !== hash) return false;
    prev = hash;
  }
  return records.length > 0;
}
