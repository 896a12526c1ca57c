import { createTransport, silentLog, systemClock, type Outcome } from '@agentfleet/kube';
import { startFakeServer, VirtualClock } from '@agentfleet/kube/testing';
import { Registry } from 'prom-client';
import { expect, test, vi } from 'vitest';
import { createCaches } from '../../runtime/caches.ts';
import { resources } from '../../runtime/resources.ts';
import { config, kinds, Stage } from '../agenttask/testing/stage.ts';
import { OrderReconciler } from './controller.ts';
import { orphanMs } from './decide.ts';

const many = 200;

test('of orders that come and go nothing is remembered, and those for no task go by themselves', async () => {
  const clock = new VirtualClock();
  const time = { ...systemClock, now: (): number => clock.now() };
  const server = await startFakeServer({ kinds, bookmarkMs: 20, clock: time });
  server.createNamespace('team');
  const transport = createTransport(server.config, { userAgent: 'operator/1' });
  const caches = createCaches({ transport, clock: systemClock, random: Math.random, log: silentLog });
  const abort = new AbortController();
  const running = (['orders', 'tasks'] as const).map((name) => caches[name].run(abort.signal));
  const events = { record: (): void => {} };
  const tokens = { issuer: () => '', jwks: () => '{}', onChange: () => () => {} };
  const context = { config, transport, clock, random: Math.random, log: silentLog, registry: new Registry(), events, caches, tokens };
  const orders = new OrderReconciler(context);
  const stage = new Stage(server, clock, transport);
  const keys = Array.from({ length: many }, (_, at) => `team/o${at}`);
  const all = (): Promise<Outcome[]> => Promise.all(keys.map((key) => orders.reconcile(key, { signal: abort.signal })));
  const shows = (count: number, state?: string) =>
    vi.waitFor(() => {
      const found = [...caches.orders.lister.values()];
      expect([found.length, found.filter(({ status }) => status?.state === state).length]).toEqual([count, count]);
    }, 20_000);

  for (const key of keys) {
    const [namespace = '', name = ''] = key.split('/');
    await stage.order({ metadata: { name, namespace }, spec: { taskRef: { name: 'none' }, type: 'Cancel', requester: 'ann' } });
  }
  await shows(many);
  await clock.advance(10_000);
  await all();
  await shows(many, 'Refused');
  await clock.advance(orphanMs - 1000);
  await all();
  expect(server.objects(resources.agentTaskOrders)).toHaveLength(many);
  await clock.advance(2000);
  await all();
  await shows(0);
  await all();
  expect(orders.size).toBe(0);
  abort.abort();
  await Promise.allSettled(running);
  await transport.close();
  await server.close();
});
