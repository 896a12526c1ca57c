import { describe, expect, it } from 'vitest';
import { ApiError, silentLog, type Lease, type ResourceClient } from '@agentfleet/kube';
import { VirtualClock } from '@agentfleet/kube/testing';
import { WorkerLease } from './workerLease.ts';

const pod = { name: 'worker-0', namespace: 'platform', uid: 'u' };
const failure = (code: number, reason: string): ApiError => new ApiError(code, { reason }, 'test');

/** The four calls on one Lease in memory; `fail` makes every write fail. */
class LeaseServer implements Pick<ResourceClient<Lease>, 'find' | 'create' | 'update' | 'delete'> {
  stored: Lease | undefined;
  writes = 0;
  fail: ApiError | undefined;
  #version = 0;

  find(): Promise<Lease | undefined> {
    return this.fail === undefined ? Promise.resolve(this.stored) : Promise.reject(this.fail);
  }

  create(lease: Parameters<ResourceClient<Lease>['create']>[0]): Promise<Lease> {
    if (this.stored !== undefined) return Promise.reject(failure(409, 'AlreadyExists'));
    return this.#put(lease as Lease);
  }

  update(lease: Lease): Promise<Lease> {
    if (this.stored === undefined) return Promise.reject(failure(404, 'NotFound'));
    if (lease.metadata.resourceVersion !== this.stored.metadata.resourceVersion) return Promise.reject(failure(409, 'Conflict'));
    return this.#put(lease);
  }

  delete(): Promise<Lease> {
    const gone = this.stored;
    this.stored = undefined;
    return gone === undefined ? Promise.reject(failure(404, 'NotFound')) : Promise.resolve(gone);
  }

  #put(lease: Lease): Promise<Lease> {
    this.writes += 1;
    if (this.fail !== undefined) return Promise.reject(this.fail);
    this.#version += 1;
    this.stored = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(this.#version) } };
    return Promise.resolve(this.stored);
  }
}

function bench() {
  const clock = new VirtualClock();
  const server = new LeaseServer();
  const lease = new WorkerLease({ client: server, pod, pool: 'coding', clock, log: silentLog });
  const reported: boolean[] = [];
  lease.onChange((fresh) => reported.push(fresh));
  const stop = new AbortController();
  return { clock, server, lease, reported, stop, running: lease.run(stop.signal) };
}

describe('the lease of a worker', () => {
  it('is named like the pod, belongs to it, and is renewed every 5 s', async () => {
    const { clock, server, lease, stop, running } = bench();
    await clock.advance(0);
    expect(server.stored).toMatchObject({
      metadata: {
        name: 'worker-0',
        namespace: 'platform',
        labels: { 'agentfleet.dev/component': 'worker', 'agentfleet.dev/pool': 'coding' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'worker-0', uid: 'u' }],
      },
      spec: { holderIdentity: 'worker-0', leaseDurationSeconds: 20 },
    });
    await clock.advance(15_000);
    expect(server.writes).toBe(4);
    expect(lease.fresh).toBe(true);
    stop.abort();
    await running;
  });

  it('is stale 14 s after the last renewal was sent, before the operator declares the worker lost, and recovers', async () => {
    const { clock, server, lease, reported, stop, running } = bench();
    await clock.advance(0);
    server.fail = failure(503, 'ServiceUnavailable');
    await clock.advance(13_900);
    expect([lease.fresh, reported]).toEqual([true, [true]]);
    await clock.advance(200);
    expect([lease.fresh, reported]).toEqual([false, [true, false]]);
    expect(lease.fence.remainingMs()).toBeLessThanOrEqual(0);
    server.fail = undefined;
    await clock.advance(1100);
    expect([lease.fresh, reported]).toEqual([true, [true, false, true]]);
    stop.abort();
    await running;
  });

  it('is written over a conflict, and created again after a deletion', async () => {
    const { clock, server, lease, stop, running } = bench();
    await clock.advance(0);
    server.stored = { ...server.stored!, metadata: { ...server.stored!.metadata, resourceVersion: '99' } };
    await clock.advance(5000);
    server.stored = undefined;
    await clock.advance(5000);
    expect(server.stored).toBeDefined();
    expect(lease.fresh).toBe(true);
    stop.abort();
    await running;
  });

  it('is removed at the end, and is stale from then on', async () => {
    const { clock, server, lease, reported, stop, running } = bench();
    await clock.advance(0);
    stop.abort();
    await running;
    await lease.release();
    expect(server.stored).toBeUndefined();
    expect([lease.fresh, reported]).toEqual([false, [true, false]]);
    await lease.release(); // nothing there is no error
  });
});
