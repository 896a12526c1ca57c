// How the engine receives decisions, through a fake API server over real HTTP.
import { expect, it } from 'vitest';
import type { Approval } from '@agentfleet/protocol/api';
import { eventually, running, succeeded, type WorkerBed } from '../testing/bed.ts';

const action = `sha256:${'ab'.repeat(32)}`;
const pendingApproval = { action, summary: 'run: rm -r legacy', evidence: 'it deletes', expires: '2030-01-01T00:15:00Z' };
const approval: Approval = { action, decision: 'Approved', orderRef: { name: 'yes' }, requester: 'ann', at: '2030-01-01T00:01:00Z' };

/** Like the operator. */
function decide(bed: WorkerBed): Promise<unknown> {
  const patch = { status: { approvals: [approval] } };
  return bed.tasks.patch({ name: 'fix', namespace: 'team' }, patch, { subresource: 'status', fieldManager: 'agentfleet-operator' });
}

it('an act that waits is reported, its decision reaches the engine, and then it is out of the report', async () => {
  await using bed = await running();
  const { context } = bed.engine.last!;
  expect(context.approvals()).toEqual([]);
  context.report({ pendingApproval }, { urgent: true });
  await eventually('it is written', () => bed.status('fix').run?.pendingApproval?.action === action);
  context.report({ progress: { done: 1, total: 1 } }, { urgent: true });
  await eventually('other reports leave it', () => bed.status('fix').run?.progress !== undefined);
  expect(bed.status('fix').run?.pendingApproval).toEqual(pendingApproval);
  await decide(bed);
  for (let changed = 0; context.approvals().length === 0 && changed < 10; changed += 1) await context.taskChanged(context.signal);
  expect(context.approvals()).toMatchObject([approval]);
  context.report({ pendingApproval: undefined }, { urgent: true });
  await eventually('it is out', () => bed.status('fix').run?.pendingApproval === undefined);
});

it('an attempt that ends takes it along, and a waiting caller is woken by the end', async () => {
  await using bed = await running();
  const { context } = bed.engine.last!;
  context.report({ pendingApproval }, { urgent: true });
  await eventually('it is written', () => bed.status('fix').run?.pendingApproval !== undefined);
  const ending = new AbortController();
  const woken = context.taskChanged(ending.signal);
  ending.abort();
  await woken;
  bed.engine.last?.finish(succeeded);
  await eventually('the outcome is written', () => bed.status('fix').run?.outcome !== undefined);
  expect(bed.status('fix').run).not.toHaveProperty('pendingApproval');
});
