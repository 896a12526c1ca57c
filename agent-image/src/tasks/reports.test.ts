// What happens around the tasks: status writes that fail, the lease, the brief, metrics.
import { describe, expect, it } from 'vitest';
import { leases, systemClock, type Clock } from '@agentfleet/kube';
import { brief, eventually, outcomes, running, succeeded, WorkerBed } from '../testing/bed.ts';

describe('status writes', () => {
  it.for([
    ['a conflict', { kind: 'error', code: 409, reason: 'Conflict' }],
    ['a server error after the write', { kind: 'error', code: 500, reason: 'InternalError', executed: true }],
    ['a lost answer', { kind: 'lost-response' }],
    ['a broken connection', { kind: 'before' }],
  ] as const)('are repeated after %s', async ([, fault]) => {
    await using bed = await running();
    let faults = 2;
    bed.server.onRequest = ({ verb, subresource }) => {
      if (verb !== 'apply' || subresource !== 'status' || faults === 0) return undefined;
      faults -= 1;
      return fault;
    };
    bed.engine.last?.finish(succeeded);
    await eventually('the outcome is written', () => faults === 0 && bed.status('fix').run?.outcome !== undefined);
    expect(bed.status('fix').run?.outcome).toEqual(succeeded);
  });

  it('carry the outcome alone when the server does not take the whole', async () => {
    await using bed = await running();
    bed.engine.last?.context.report({ patch: '--- a' }, { urgent: true });
    await eventually('the patch is written', () => bed.status('fix').run?.patch !== undefined);
    bed.server.onRequest = ({ body, subresource }) => {
      const run = subresource === 'status' ? (body as { status?: { run?: object } }).status?.run : undefined;
      return run !== undefined && 'patch' in run ? { kind: 'error', code: 422, reason: 'Invalid' } : undefined;
    };
    bed.engine.last?.finish(succeeded);
    await eventually('the outcome is written', () => bed.status('fix').run?.outcome !== undefined);
  });
});

describe('the brief', () => {
  it('opens the watches of a namespace that is added; one that cannot be read changes nothing', async () => {
    await using bed = await WorkerBed.open();
    await bed.writeBrief(JSON.stringify({ ...brief, namespaces: [] }));
    await bed.start();
    await bed.sandbox('fix-1');
    await bed.task('fix');
    await eventually('the lease is there', () => bed.server.objects(leases).length === 1);
    await bed.writeBrief('{');
    await bed.writeBrief(JSON.stringify(brief));
    await eventually('the engine runs', () => bed.engine.calls.length === 1);
    expect(bed.engine.last?.context.pool).toEqual(brief);
  });

  it('fails /readyz while there is none', async () => {
    await using bed = await WorkerBed.open();
    await bed.writeBrief('{');
    await bed.start();
    const answer = await fetch(`http://127.0.0.1:${bed.worker!.port}/readyz`);
    expect(answer.status).toBe(500);
    expect(await answer.text()).toContain('[-]brief failed: reason withheld');
    expect((await fetch(`http://127.0.0.1:${bed.worker!.port}/healthz`)).status).toBe(200);
  });
});

describe('metrics', () => {
  it('count tasks, writes and attempts', async () => {
    await using bed = await running();
    const metrics = async (): Promise<string> => (await fetch(`http://127.0.0.1:${bed.worker!.port}/metrics`)).text();
    expect(await metrics()).toContain('agentfleet_worker_tasks 1');
    bed.engine.last?.finish(succeeded);
    await eventually('the outcome is written', () => bed.status('fix').run?.outcome !== undefined);
    const text = await metrics();
    expect(text).toContain('agentfleet_worker_attempts_total{result="Succeeded",class=""} 1');
    expect(text).toContain('agentfleet_worker_audit_gaps_total 0');
    expect(text).toMatch(/agentfleet_worker_status_writes_total\{result="Written"\} \d/);
  });
});

/** A clock that runs `factor` times as fast. */
function fast(factor: number): Clock {
  return {
    now: () => systemClock.now(),
    monotonic: () => systemClock.monotonic() * factor,
    after: (ms, run) => systemClock.after(ms / factor, run),
  };
}

describe('a lease that cannot be renewed', () => {
  it('stops all tasks without a word, fails readiness, and lets them go on when renewing works', async () => {
    await using bed = await running('fix', fast(20));
    const [first] = bed.engine.calls;
    bed.server.onRequest = ({ resource, verb }) =>
      resource.startsWith('leases') && verb !== 'delete' ? { kind: 'error', code: 503, reason: 'ServiceUnavailable' } : undefined;
    await eventually('the run is aborted', () => first?.aborted() === 'Lost');
    const writes = bed.reports('fix').length;
    first?.context.report({ progress: { done: 9, total: 9 } }, { urgent: true });
    const ready = await fetch(`http://127.0.0.1:${bed.worker!.port}/readyz`);
    expect(ready.status).toBe(500);
    expect(await ready.text()).toContain('[-]lease failed: reason withheld');
    expect(bed.reports('fix')).toHaveLength(writes);
    expect(bed.engine.calls).toHaveLength(1);
    bed.server.onRequest = undefined;
    await eventually('the engine runs again', () => bed.engine.calls.length === 2);
    expect(bed.engine.overlaps).toEqual([]);
    expect(outcomes(bed)).toEqual([]);
  });
});
