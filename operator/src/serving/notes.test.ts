import { type KubeEvent, type Transport, silentLog } from '@agentfleet/kube';
import { VirtualClock } from '@agentfleet/kube/testing';
import { describe, expect, it } from 'vitest';
import type { Job, Pod } from '../runtime/resources.ts';
import { newestWarning, NoteReader, notePollMs } from './notes.ts';

const event = (type: 'Normal' | 'Warning', note: string, eventTime: string): KubeEvent =>
  ({ metadata: { name: note }, type, reason: 'FailedMount', note, eventTime }) as KubeEvent;

const preparing = (clock: VirtualClock, agoMs: number): Pod => ({
  metadata: { name: 'w-1', namespace: 'platform', uid: 'u1' },
  status: {
    phase: 'Pending',
    startTime: new Date(clock.now() - agoMs).toISOString(),
    containerStatuses: [{ name: 'worker', ready: false, restartCount: 0, state: { waiting: { reason: 'ContainerCreating' } } }],
  },
});

function transportOf(answer: () => unknown): { readonly transport: Transport; readonly asked: unknown[] } {
  const asked: unknown[] = [];
  const request = <T>(call: { readonly query?: unknown }): Promise<T> => {
    asked.push(call.query);
    return new Promise((resolve) => resolve(answer() as T));
  };
  return { transport: { host: 'h', request, stream: () => Promise.reject(new Error('none')), close: () => Promise.resolve() }, asked };
}

const { signal } = new AbortController();

describe('notes of the kubelet', () => {
  it('are the newest warning', () => {
    const found = [
      event('Warning', 'old', '2030-01-01T00:00:00Z'),
      event('Warning', 'new', '2030-01-01T00:00:09Z'),
      event('Normal', 'x', '2030-01-02T00:00:00Z'),
    ];
    expect(newestWarning(found)).toBe('FailedMount: new');
    expect(newestWarning([])).toBeUndefined();
  });

  it('are asked for once in a while, and only about pods that are being prepared for long', async () => {
    const clock = new VirtualClock();
    const { transport, asked } = transportOf(() => ({ metadata: {}, items: [event('Warning', 'no secret', '2030-01-01T00:00:00Z')] }));
    const reader = new NoteReader({ transport, clock, log: silentLog });
    expect((await reader.read([preparing(clock, 1_000)], signal)).size).toBe(0);
    expect(asked).toEqual([]);
    const pod = preparing(clock, 6_000);
    expect(await reader.read([pod], signal)).toEqual(new Map([['w-1', 'FailedMount: no secret']]));
    await reader.read([pod], signal);
    expect(asked).toMatchObject([{ fieldSelector: 'regarding.uid=u1' }]);
    await clock.advance(notePollMs);
    await reader.read([pod], signal);
    expect(asked).toHaveLength(2);
  });

  it('are asked for about Jobs that have no pod for long', async () => {
    const clock = new VirtualClock();
    const refused = 'Error creating: pods "j-1" is forbidden: exceeded quota: compute';
    const { transport, asked } = transportOf(() => ({ metadata: {}, items: [event('Warning', refused, '2030-01-01T00:00:00Z')] }));
    const reader = new NoteReader({ transport, clock, log: silentLog });
    const job = (name: string, agoMs: number, status: Job['status']): Job => ({
      metadata: { name, namespace: 'platform', uid: name, creationTimestamp: new Date(clock.now() - agoMs).toISOString() },
      ...(status === undefined ? {} : { status }),
    });
    const jobs = [
      job('late', 6_000, { active: 0 }),
      job('unseen', 6_000, undefined),
      job('new', 1_000, undefined),
      job('works', 6_000, { active: 1 }),
      job('ended', 6_000, { conditions: [{ type: 'Complete', status: 'True' }] }),
    ];
    expect([...(await reader.read([], signal, jobs)).keys()]).toEqual(['late', 'unseen']);
    expect(asked).toMatchObject([{ fieldSelector: 'regarding.uid=late' }, { fieldSelector: 'regarding.uid=unseen' }]);
  });

  it('are missing, and no more, when they cannot be read', async () => {
    const clock = new VirtualClock();
    const { transport } = transportOf(() => {
      throw new Error('no');
    });
    const reader = new NoteReader({ transport, clock, log: silentLog });
    expect((await reader.read([preparing(clock, 6_000)], signal)).size).toBe(0);
  });
});
