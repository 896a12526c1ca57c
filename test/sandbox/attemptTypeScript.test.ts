import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Experts } from '@agentfleet/agent/attempt';
import { ExpertsClient } from '@agentfleet/agent/experts';
import { silentLog, systemClock } from '@agentfleet/kube';
import type { AgentTaskSpec } from '@agentfleet/protocol/api';
import type { Localisation } from '@agentfleet/protocol/inference';
import { AttemptBed } from './attemptBed.ts';
import { useNamespace } from './harness.ts';

/** Projects on node:test in real sandboxes, repaired by the search that needs no model. */
const bench = useNamespace('typescript');
let bed: AttemptBed;
beforeAll(async () => {
  bed = await AttemptBed.open();
});
afterAll(() => bed[Symbol.asyncDispose]());

type Files = Readonly<Record<string, string>>;

const manifest = JSON.stringify({ name: 'shelf', version: '1.0.0', type: 'module', scripts: { test: 'node --test' } });

/** A TypeScript project whose clamp has a bug that one nested test shows. */
const typescript: Files = {
  'package.json': manifest,
  'src/clamp.ts': `export interface Range {
  readonly low: number;
  readonly high: number;
}

export function clamp(x: number, { low, high }: Range): number {
  if (x < low) return low;
  if (x > high) return low;
  return x;
}

export function double(x: number): number {
  return x * 2;
}
`,
  'src/clamp.test.ts': `import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { clamp, double, type Range } from './clamp.ts';

const range: Range = { low: 0, high: 10 };

describe('clamp', () => {
  it('inside', () => assert.equal(clamp(5, range), 5));
  describe('edges', () => {
    it('low', () => assert.equal(clamp(-5, range), 0));
    it('high (> high) # 1', () => assert.equal(clamp(50, range), 10));
  });
});
test('double: "4" ✔ is \\\\ ü (2ms)', () => assert.equal(double(4), 8));
describe('together', { concurrency: true }, () => {
  for (const n of [1, 2, 3]) it(\`\${n} # todo\`, async () => {
    await new Promise((done) => setTimeout(done, 20 - n));
    assert.equal(double(n), n + n);
  });
});
test('later', { todo: true }, () => assert.equal(double(4), 9));
test('elsewhere', { skip: 'no network' }, () => assert.fail());
`,
};

/** A JavaScript project whose bug is in the file that the tested one calls. */
const javascript: Files = {
  'package.json': manifest,
  'cart.js': `import { discounted } from './price.js';

export function total(items, rate) {
  let sum = 0;
  for (const { price, count } of items) sum += discounted(price, rate) * count;
  return sum;
}

export function count(items) {
  return items.reduce((sum, item) => sum + item.count, 0);
}
`,
  'price.js': `export function discounted(price, rate) {
  return price + price * rate;
}

export function label(price) {
  return \`\${price} EUR\`;
}
`,
  'cart.test.js': `import assert from 'node:assert/strict';
import test from 'node:test';
import { count, total } from './cart.js';
import { label } from './price.js';

const items = [{ price: 10, count: 2 }, { price: 5, count: 4 }];

test('a discount is taken off', () => assert.equal(total(items, 0.5), 20));
test('without one', () => assert.equal(total(items, 0), 40));
test('items are counted', () => assert.equal(count(items), 6));
test('a price has its currency', () => assert.equal(label(3), '3 EUR'));
`,
};

function spec(files: Files, command: readonly string[]): Partial<AgentTaskSpec> {
  return {
    goal: 'Make the tests pass.',
    workspace: { type: 'Inline', inline: { files: Object.entries(files).map(([path, content]) => ({ path, content, mode: 0o644 })) } },
    checks: [{ name: 'unit', command, timeoutSeconds: 60 }] as unknown as AgentTaskSpec['checks'],
  };
}

/** The bed's expert, and where it was asked to look. */
function watched(): { readonly experts: Experts; readonly reported: Localisation[] } {
  const reported: Localisation[] = [];
  const inner = new ExpertsClient({ clock: systemClock, random: Math.random, log: silentLog }).of([bed.expert]);
  const experts: Experts = {
    choose: (domain, weights) => inner.choose(domain, weights),
    generate: (expert, request, signal) => {
      reported.push(request.localisation);
      return inner.generate(expert, request, signal);
    },
  };
  return { experts, reported };
}

test.each([
  ['npm test', ['npm', 'test']],
  ['node --test', ['node', '--test']],
  ['node --test in TAP', ['node', '--test', '--test-reporter=tap']],
])('a TypeScript project is repaired by %s, from the coverage of each test', { timeout: 360_000 }, async (_, command) => {
  const sandbox = await bench.open();
  const { experts, reported } = watched();
  const run = bed.begin(sandbox, { spec: spec(typescript, command), experts });
  expect(await bed.engine.run(run.context)).toMatchObject({
    result: 'Succeeded',
    reason: 'ChecksHold',
    // A failing todo and a skipped test prove nothing.
    checks: [{ name: 'unit', passed: 7, failed: 0, skipped: 2 }],
  });
  expect(run.reported.patch).toMatch(/^-.*x > high.*low;\n\+.*x > high.*high;/m);
  const { spectrum, failingTests } = reported[0] ?? {};
  // Each test by its own lines, without the todo: the whole file as one run would have no passing one.
  expect(spectrum).toMatchObject({ failed: 1 });
  expect(spectrum?.passed).toBeGreaterThanOrEqual(3);
  const lines = new Map(spectrum?.lines.map(({ path, line, passed, failed }) => [`${path}:${line}`, [passed, failed]]));
  expect(lines.get('src/clamp.ts:7')).toEqual([2, 1]);
  expect(lines.get('src/clamp.ts:9')).toEqual([1, 0]);
  expect(lines.get('src/clamp.ts:13')?.[1]).toBe(0);
  expect(failingTests?.map(({ id }) => id)).toEqual(['clamp > edges > high (> high) # 1']);
});

test(
  'a bug in a second file of a JavaScript project is found by the lines that the failing test executes',
  { timeout: 360_000 },
  async () => {
    const sandbox = await bench.open();
    const { experts, reported } = watched();
    const run = bed.begin(sandbox, { spec: spec(javascript, ['npm', 'test']), experts });
    expect(await bed.engine.run(run.context)).toMatchObject({ result: 'Succeeded', reason: 'ChecksHold' });
    expect(run.reported.patch).toContain('+  return price - price * rate;');
    const lines = new Map(reported[0]?.spectrum.lines.map(({ path, line, passed, failed }) => [`${path}:${line}`, [passed, failed]]));
    expect(lines.get('price.js:2')).toEqual([1, 1]);
    expect(lines.get('price.js:6')).toEqual([1, 0]);
  },
);

test.each([
  ['npm test', ['npm', 'test']],
  ['node --test in TAP', ['node', '--test', '--test-reporter=tap']],
])('a test file that does not load is told before anything is tried: %s', { timeout: 360_000 }, async (_, command) => {
  const sandbox = await bench.open();
  const broken = { ...typescript, 'src/other.test.ts': "import test from 'node:test';\n\ntest('cut', () => {\n" };
  const run = bed.begin(sandbox, { spec: spec(broken, command) });
  const outcome = await bed.engine.run(run.context);
  expect(outcome).toMatchObject({ result: 'Failed', class: 'InvalidInput', reason: 'TestDoesNotLoad' });
  expect(outcome.message).toMatch(/src\/other\.test\.ts does not load: SyntaxError.*protected/);
  expect(run.reported.usage?.candidates).toBe(0);
});

test('a source that does not load is the work, not a fault of the task', { timeout: 360_000 }, async () => {
  const sandbox = await bench.open();
  const cut = { ...javascript, 'price.js': (javascript['price.js'] ?? '').replace('price * rate;', 'price * rate);') };
  const run = bed.begin(sandbox, { spec: { ...spec(cut, ['npm', 'test']), budget: { toolCalls: 40 } } });
  expect(await bed.engine.run(run.context)).not.toMatchObject({ class: 'InvalidInput' });
});
