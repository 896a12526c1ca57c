import { Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { boundOf, bucketsBy, countOf, merged } from './figures.ts';

/** What a server says that saw these values. */
async function scraped(seen: Readonly<Record<string, readonly number[]>>): Promise<string> {
  const registry = new Registry();
  const options = { help: 'h', labelNames: ['capability'], buckets: [0.001, 0.01, 0.1], registers: [registry] };
  const histogram = new Histogram({ name: 'request_seconds', ...options });
  const other = new Histogram({ name: 'other_request_seconds', ...options });
  for (const [capability, values] of Object.entries(seen)) {
    for (const value of values) {
      histogram.observe({ capability }, value);
      other.observe({ capability }, 100);
    }
  }
  return registry.metrics();
}
const times = (count: number, value: number): readonly number[] => Array.from({ length: count }, () => value);

test('the bound is the first bucket that holds the share', async () => {
  const found = bucketsBy(
    await scraped({ Score: [...times(95, 0.005), ...times(5, 0.05)], Control: [...times(94, 0.005), ...times(6, 0.05)] }),
    'request_seconds',
    'capability',
  );
  expect([...found.keys()]).toEqual(['Score', 'Control']);
  expect(boundOf(found.get('Score') ?? [], 0.95)).toBe(0.01);
  expect(boundOf(found.get('Control') ?? [], 0.95)).toBe(0.1);
  expect(countOf(found.get('Score') ?? [])).toBe(100);
});

test('what is slower than all bounds has none, and nothing seen is no figure', async () => {
  const found = bucketsBy(await scraped({ Score: [7] }), 'request_seconds', 'capability');
  expect(boundOf(found.get('Score') ?? [], 0.95)).toBe(Infinity);
  expect(boundOf([], 0.95)).toBeUndefined();
  expect(bucketsBy('', 'request_seconds', 'capability').size).toBe(0);
});

test('servers are counted together', async () => {
  const one = async (values: readonly number[]) =>
    bucketsBy(await scraped({ Score: values }), 'request_seconds', 'capability').get('Score') ?? [];
  const all = merged([await one(times(10, 0.0005)), await one([...times(9, 0.0005), 0.05])]);
  expect([countOf(all), boundOf(all, 0.95), boundOf(all, 0.96)]).toEqual([20, 0.001, 0.1]);
});
