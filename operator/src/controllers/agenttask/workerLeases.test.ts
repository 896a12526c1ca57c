import type { Handler, Lease } from '@agentfleet/kube';
import { VirtualClock } from '@agentfleet/kube/testing';
import { expect, test } from 'vitest';
import { WorkerLeases } from './workerLeases.ts';

const lease = (renewedAt: number, holderIdentity = 'w'): Lease => ({
  metadata: { name: 'w', namespace: 'p' },
  spec: { holderIdentity, renewTime: new Date(renewedAt).toISOString() },
});

function follow(): {
  readonly clock: VirtualClock;
  readonly leases: WorkerLeases;
  readonly handler: Handler<Lease>;
  readonly woken: string[];
} {
  const clock = new VirtualClock();
  const woken: string[] = [];
  let handler: Handler<Lease> = {};
  const addHandler = (added: Handler<Lease>): (() => void) => {
    handler = added;
    return () => {};
  };
  return { clock, leases: new WorkerLeases({ leases: { addHandler }, clock, onFresh: (key) => woken.push(key) }), handler, woken };
}

test('a worker lives for the duration of its Lease since we saw it change, whatever its clock says', async () => {
  const { clock, leases, handler, woken } = follow();
  handler.onAdd?.(lease(clock.now() - 30_000), false);
  expect([leases.freshMs('p/w'), leases.freshMs('p/other')]).toEqual([20_000, 0]);
  await clock.advance(19_999);
  expect(leases.freshMs('p/w')).toBe(1);
  handler.onUpdate?.(lease(0), lease(clock.now() + 3_600_000));
  expect(leases.freshMs('p/w')).toBe(20_000);
  handler.onUpdate?.(lease(0), lease(clock.now() + 3_600_000));
  await clock.advance(20_000);
  expect(leases.freshMs('p/w')).toBe(0);
  handler.onUpdate?.(lease(0), lease(clock.now()));
  expect(woken).toEqual(['p/w', 'p/w']);
});

test('what was long dead before we came stays dead, and what is given back or deleted is lost at once', () => {
  const { clock, leases, handler, woken } = follow();
  handler.onAdd?.(lease(clock.now() - 90_000), true);
  expect([leases.freshMs('p/w'), woken]).toEqual([0, []]);
  handler.onUpdate?.(lease(0), lease(clock.now()));
  expect(leases.freshMs('p/w')).toBe(20_000);
  handler.onUpdate?.(lease(0), lease(clock.now(), ''));
  expect(leases.freshMs('p/w')).toBe(0);
  handler.onAdd?.(lease(clock.now()), false);
  handler.onDelete?.(lease(0), false);
  expect(leases.freshMs('p/w')).toBe(0);
});
