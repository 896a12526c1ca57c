import { silentLog, systemClock, type Clock } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { Registry } from 'prom-client';
import { describe, expect, test, vi } from 'vitest';
import { createCaches } from '../../../runtime/caches.ts';
import type { OperatorContext } from '../../../runtime/context.ts';
import { createAgentTaskController } from '../controller.ts';
import { config } from '../testing/stage.ts';
import { byTurn, type Turn } from './poolQueue.ts';
import { ManyTasks } from './testing/manyTasks.ts';

interface Runs {
  run(signal: AbortSignal): Promise<unknown>;
}

const full = process.env['AGENTFLEET_FULL'] === '1';
const count = full ? 1_000_000 : 5_000;
const namespaces = Array.from({ length: 10 }, (_, at) => `n${at}`);

/** Nothing that waits for seconds happens, and no Lease grows old: what is counted here is what events cause. */
const still: Clock = {
  now: () => Date.UTC(2030, 0, 1, 0, 1),
  monotonic: () => performance.now() / 1000,
  after: (ms, run) => (ms > 1500 ? { cancel: () => {} } : systemClock.after(ms, run)),
};

async function sum(registry: Registry, name: string): Promise<number> {
  const metric = await registry.getSingleMetric(name)?.get();
  return metric?.values.reduce((sum, { value }) => sum + value, 0) ?? 0;
}

describe('a queue of very many tasks', () => {
  test(
    'costs each of them a few comparisons and one write, and who ends wakes the next one and not the others',
    async () => {
      // Nine of ten tasks are of one namespace.
      const server = new ManyTasks({
        count,
        namespaces,
        namespaceOf: (at) => (at % 10 < 9 ? 'n0' : `n${1 + (Math.floor(at / 10) % 9)}`),
        pool: { workers: { concurrency: 4 } },
      });
      let comparisons = 0;
      const order = (a: Turn, b: Turn): number => ((comparisons += 1), byTurn(a, b));
      const registry = new Registry();
      const caches = createCaches({ transport: server, clock: systemClock, random: Math.random, log: silentLog });
      const context: OperatorContext = {
        config,
        transport: server,
        clock: still,
        random: Math.random,
        log: silentLog,
        registry,
        events: { record: () => {} },
        caches,
        tokens: { issuer: () => 'https://kubernetes.default.svc', jwks: () => '{}', onChange: () => () => {} },
      };
      const controller = createAgentTaskController(context, { pollMs: 5, order });
      const abort = new AbortController();
      const running = [...(Object.values(caches) as readonly Runs[]), controller].map((part) => part.run(abort.signal));
      const stage = { registry, server, caches };
      const bound = { timeout: full ? 1_800_000 : 120_000, interval: 50 };
      const pods = (): number => server.writes.get('POST pods') ?? 0;
      await vi.waitFor(() => expect(server.writes.get('PATCH agenttasks/status')).toBeGreaterThanOrEqual(count), bound);
      expect(pods()).toBe(4);
      expect(caches.tasks.lister.size).toBe(count);
      // A place found, left, and asked for in each of ten namespaces, by halving: 146 for 20,000 tasks, 249 for a million.
      const halvings = 16 * Math.log2(count);
      expect(comparisons / count).toBeLessThan(halvings);

      // Four namespaces have a slot each; it is another one's turn whenever one ends.
      for (let round = 0; round < 4; round += 1) {
        await idle(stage, bound);
        const [before, cost, made] = [await sum(registry, 'controller_runtime_reconcile_total'), comparisons, pods()];
        // A cache of very many tasks may still be on its way to who was assigned.
        const bearer = await vi.waitFor(() => assigned(caches), bound);
        server.remove(bearer);
        await vi.waitFor(() => expect(pods()).toBe(made + 1), bound);
        await idle(stage, bound);
        // The one that ended and the one whose turn it is, once for each of their events: 6 of 20,000, and 11 were seen of a million.
        const looks = (await sum(registry, 'controller_runtime_reconcile_total')) - before;
        expect(looks).toBeLessThanOrEqual(16);
        expect(comparisons - cost).toBeLessThan(looks * halvings);
      }
      const held = [...caches.tasks.lister.values()].filter(({ status }) => status?.assignment !== undefined);
      expect(new Set(held.map(({ metadata }) => metadata.namespace)).size).toBe(4);
      abort.abort();
      controller.kill();
      await server.close();
      await Promise.allSettled(running);
    },
    full ? 3_600_000 : 240_000,
  );
});

/** A task with a place. @throws Error while the cache shows none */
function assigned({ tasks }: ReturnType<typeof createCaches>): AgentTask {
  for (const task of tasks.lister.values()) if (task.status?.assignment !== undefined) return task;
  throw new Error('no task is assigned yet');
}

interface Stage {
  readonly registry: Registry;
  readonly server: ManyTasks;
  readonly caches: ReturnType<typeof createCaches>;
}

/**
 * Waits until the caches show all that was written, and nothing is in the queue or in work, three looks in a row: what is
 * put off for its cache comes in between. A cache of a million tasks is seconds behind a million writes, and what it has
 * yet to show would count as caused by the next task that ends.
 */
async function idle({ registry, server, caches }: Stage, bound: { readonly timeout: number }): Promise<void> {
  const shown = (cache: { hasSeen(version: string): boolean }, plural: string): boolean =>
    cache.hasSeen(server.reported.get(plural) ?? '1');
  let quiet = 0;
  await vi.waitFor(
    async () => {
      const seen = shown(caches.tasks, 'agenttasks') && shown(caches.pods, 'pods');
      const busy = (await sum(registry, 'workqueue_depth')) + (await sum(registry, 'controller_runtime_active_workers'));
      quiet = seen && busy === 0 ? quiet + 1 : 0;
      expect(quiet).toBeGreaterThanOrEqual(3);
    },
    { ...bound, interval: 100 },
  );
}
