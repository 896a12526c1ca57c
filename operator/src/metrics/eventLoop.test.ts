import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { registerProcessMetrics } from './eventLoop.ts';

const valueOf = (page: string, name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(page)?.[1]);

/** Keeps the event loop from turning. */
function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

it('reports how long the event loop stood still since the last read, and the default metrics', async () => {
  const registry = new Registry();
  registerProcessMetrics(registry);
  // The first look is due after 100 ms, and after a pause the loop is looked at as often.
  block(700);
  await new Promise((resolve) => setTimeout(resolve, 350));
  const page = await registry.metrics();
  const [p50, max] = ['p50', 'max'].map((one) => valueOf(page, `nodejs_eventloop_lag_${one}_seconds`));
  // The time between two samples is no lag.
  expect(max).toBeGreaterThan(0.55);
  expect(p50).toBeLessThan(max ?? 0);
  expect(page).toMatch(/^nodejs_heap_size_used_bytes \d+$/m);
  expect(page.match(/^nodejs_eventloop_lag_p99_seconds /gm)).toHaveLength(1);
  expect(valueOf(await registry.metrics(), 'nodejs_eventloop_lag_max_seconds')).toBeLessThan(max ?? 0);
});
