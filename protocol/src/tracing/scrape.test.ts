import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { newSpanId, within } from './scope.ts';
import { observe, scrape, withExemplars } from './scrape.ts';

const openMetrics = 'application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5';

function filled(): Registry {
  const registry = new Registry();
  const registers = [registry];
  new Counter({ name: 'a_total', help: 'a', labelNames: ['b'], registers }).inc({ b: 'c' });
  new Gauge({ name: 'g', help: 'g', registers }).set(2);
  const seconds = withExemplars(
    registry,
    new Histogram({ name: 's', help: 's', labelNames: ['m'], buckets: [1, 2], registers: [], enableExemplars: true }),
  );
  const trace = (sampled: boolean) => ({ traceId: (sampled ? '1' : '2').repeat(32), spanId: newSpanId(), sampled });
  within({}, trace(true), undefined, () => observe(seconds, { m: 'x' }, 0.5));
  // Not sampled, without a trace, and outside of all work.
  within({}, trace(false), undefined, () => observe(seconds, { m: 'x' }, 1.5));
  within({}, undefined, undefined, () => observe(seconds, { m: 'x' }, 1.6));
  observe(seconds, { m: 'x' }, 3);
  return registry;
}

it('a scrape that asks for OpenMetrics gets exemplars of what is sampled, and counters by its names', async () => {
  const registry = filled();
  const { type, text } = await scrape(registry, openMetrics);
  expect(type).toContain('application/openmetrics-text');
  const exemplars = text.split('\n').filter((line) => line.includes(' # {'));
  expect(exemplars).toHaveLength(1);
  expect(exemplars[0]).toMatch(new RegExp(`^s_bucket\\{le="1",m="x"\\} 1 # \\{trace_id="${'1'.repeat(32)}"\\} 0\\.5 \\d+(\\.\\d+)?$`));
  expect(text).toContain('# TYPE a counter\na_total{b="c"} 1\n');
  expect(text).toContain('s_count{m="x"} 4\n');
  expect(text.endsWith('\n# EOF\n')).toBe(true);
});

it.each([undefined, 'text/plain', '*/*'])('any other scrape gets the text of Prometheus, before and after: %s', async (accept) => {
  const registry = filled();
  const before = await scrape(registry, accept);
  await scrape(registry, openMetrics);
  expect(await scrape(registry, accept)).toEqual(before);
  expect(before).toEqual({ type: registry.contentType, text: await registry.metrics() });
  expect(before.text).toContain('# TYPE a_total counter\na_total{b="c"} 1\n');
  expect(before.text).not.toContain(' # {');
});
