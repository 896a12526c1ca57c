import { expect, test } from 'vitest';
import { examples } from './testing/fuzz/examples.ts';
import { MAIN, run } from './testing/fuzz/part.ts';
import { buildRunner } from './testing/runner.ts';

test('histories that were not undone once are undone, by engine and script', { timeout: 120_000 }, async (context) => {
  const runner = buildRunner() ?? context.skip();
  try {
    const { status, stdout, stderr } = await run([MAIN, runner.binary, '1', String(examples.length)], runner.scratch);
    expect(stderr).toBe('');
    expect({ status, undone: stdout.trim() }).toEqual({ status: 0, undone: String(examples.length) });
  } finally {
    runner.remove();
  }
});
