import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { newPool } from '../controllers/agenttask/testing/objects.ts';
import { bookText, spendingKey, type SpendingBook } from '../pools/spending.ts';
import type { Caches } from '../runtime/context.ts';
import { registerSpendingMetrics } from './spending.ts';

const now = Date.UTC(2030, 0, 2, 15);

test('what is spent, set aside and capped is reported of pools with caps, by namespace', async () => {
  const pool = newPool({ limits: { spending: { windowSeconds: 86_400, tokens: 100, perNamespace: { cost: '2.5' } } } });
  const book: SpendingBook = {
    since: Date.UTC(2030, 0, 2),
    windowSeconds: 86_400,
    spent: { team: { tokens: 7, micros: 1_500_000, estimated: 0 } },
    held: [{ uid: 'u', namespace: 'other', name: 'one', attempt: 1, tokens: 5, micros: 0 }],
  };
  const map = { metadata: { name: 'coding-spending', namespace: 'platform' }, data: { [spendingKey]: bookText(book) } };
  const lister = { values: () => [pool, newPool({}, 'plain')] };
  const caches = {
    pools: { lister },
    configMaps: { lister: { get: (key: string) => (key === 'platform/coding-spending' ? map : undefined) } },
  };
  const reported = async (at: number): Promise<readonly string[]> => {
    const registry = new Registry();
    registerSpendingMetrics(registry, caches as unknown as Caches, { now: () => at });
    return (await registry.metrics()).split('\n').filter((line) => line.startsWith('agentfleet_') && !line.endsWith(' 0'));
  };
  const of = 'pool="platform/coding"';
  expect(await reported(now)).toEqual([
    `agentfleet_spending_spent{${of},task_namespace="team",unit="tokens"} 7`,
    `agentfleet_spending_spent{${of},task_namespace="team",unit="money"} 1.5`,
    `agentfleet_spending_set_aside{${of},task_namespace="other",unit="tokens"} 5`,
    `agentfleet_spending_cap{${of},scope="Pool",unit="tokens"} 100`,
    `agentfleet_spending_cap{${of},scope="Namespace",unit="money"} 2.5`,
  ]);
  // The window is over; what runs may still be spent.
  expect(await reported(now + 86_400_000)).not.toContain(`agentfleet_spending_spent{${of},task_namespace="team",unit="tokens"} 7`);
});
