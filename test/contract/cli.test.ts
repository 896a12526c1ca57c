// The command line tool against a real API server: its user, its orders, and their results.
import { systemClock } from '@agentfleet/kube';
import { run } from '@agentfleet/cli';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubeconfigPath } from '../../hack/cluster/index.ts';
import { enabled, until, whoAmI } from './api/server.ts';
import { TaskBed } from './taskBed.ts';

const act = (digit: string): string => `sha256:${digit.repeat(64)}`;
const usage = { tokensIn: 0, tokensOut: 0, toolCalls: 3, cpuMillis: 40, wallSeconds: 5, candidates: 6, vetoes: 0, backtracks: 1 };

describe.runIf(enabled)('fleet', () => {
  let bed: TaskBed;

  beforeAll(async () => {
    bed = await TaskBed.start();
    await bed.create('asks');
    await bed.startSandbox('asks');
  });
  afterAll(() => bed.close());

  const fleet = async (...args: readonly string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> => {
    const said = { out: '', err: '' };
    const world = {
      env: { KUBECONFIG: await kubeconfigPath() },
      clock: systemClock,
      random: Math.random,
      terminal: false,
      signal: new AbortController().signal,
      out: (text: string) => void (said.out += text),
      err: (text: string) => void (said.err += text),
    };
    return { code: await run([...args, '-n', bed.namespace], world), ...said };
  };
  const asks = async (action: string): Promise<void> => {
    const expires = `${new Date(Date.now() + 600_000).toISOString().slice(0, 19)}Z`;
    await bed.report('asks', { usage, pendingApproval: { action, summary: 'git push to main', expires } });
    await until('it waits', async () => (await bed.reported('asks', 'AwaitingApproval')) === 'True/AwaitingApproval');
  };

  it('approves and rejects the pending act in the own name, and nothing else', async () => {
    await asks(act('a'));
    expect((await fleet('tasks')).out).toMatch(/asks +AwaitingApproval +1 +git push to main/);
    const approved = await fleet('approve', 'asks', '--reason', 'seen');
    expect([approved.code, approved.err]).toEqual([0, '']);
    expect(approved.out).toContain('approved for AgentTask asks: git push to main');
    expect((await fleet('approve', 'asks')).err).toContain('was approved already, by');
    await asks(act('b'));
    expect((await fleet('reject', 'asks', '--action', act('c'))).code).toBe(1);
    expect((await fleet('reject', 'asks')).code).toBe(0);
    const requester = await whoAmI(bed.server);
    expect((await bed.task('asks')).status?.approvals).toMatchObject([
      { action: act('a'), decision: 'Approved', requester },
      { action: act('b'), decision: 'Rejected', requester },
    ]);
    expect((await fleet('show', 'asks')).out).toContain('Rejected');
  });

  it('cancels, and reports missing objects', async () => {
    expect((await fleet('show', 'nothing')).err).toContain(`there is no AgentTask nothing in namespace ${bed.namespace}`);
    const { code, out } = await fleet('cancel', 'asks');
    expect(code).toBe(0);
    expect(out).toContain('snapshot 0 restored');
    await until('it is rolled back', async () => (await bed.task('asks')).status?.assignment?.directive === 'Rollback');
    await bed.report('asks', { usage, rollback: { snapshot: 's0001', verified: true } });
    await until('it is cancelled', async () => (await bed.task('asks')).status?.finished === 'true');
    expect((await fleet('cancel', 'asks')).err).toContain('has ended already (Cancelled)');
  });
});
