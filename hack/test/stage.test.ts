import { describe, expect, test } from 'vitest';
import { runStage } from './report.ts';

describe('test stage', () => {
  test('passes and fails with its command', async () => {
    expect((await runStage({ name: 'good', argv: ['true'], budgetMinutes: 1 }, '.')).passed).toBe(true);
    expect((await runStage({ name: 'bad', argv: ['false'], budgetMinutes: 1 }, '.')).passed).toBe(false);
    expect((await runStage({ name: 'absent', argv: ['/nonexistent'], budgetMinutes: 1 }, '.')).passed).toBe(false);
  });

  test('stops a stage that hangs, with its children, and calls it failed', async () => {
    const outcome = await runStage({ name: 'stuck', argv: ['sh', '-c', 'sleep 60 & wait'], budgetMinutes: 1 }, '.', 50);
    expect(outcome).toMatchObject({ passed: false, hung: true });
    expect(outcome.seconds).toBeLessThan(30);
  });
});
