import { describe, expect, it } from 'vitest';
import { InferenceError } from '../base/failure.ts';
import { Readiness } from './server.ts';

function readiness() {
  const state = {
    fails: true,
    full: false,
    proofs: 0,
    now: 0,
    answered: -Infinity,
    behind: Promise.resolve(),
    late: new Promise<void>(() => undefined),
  };
  const prove = async (): Promise<void> => {
    state.proofs += 1;
    await state.behind;
    if (state.full) throw new InferenceError('AF_QUEUE_FULL', 'full');
    if (state.fails) throw new Error('no weights');
  };
  return {
    state,
    readiness: new Readiness(
      { prove, answeredAt: () => state.answered },
      () => state.now,
      () => state.late,
    ),
  };
}

describe('readiness', () => {
  it('reports why the engine does not answer, and retries', async () => {
    const { state, readiness: gate } = readiness();
    expect(await gate.check()).toContain('no weights');
    expect(gate.ready).toBe(false);
    state.fails = false;
    expect(await gate.check()).toBeNull();
    expect(gate.ready).toBe(true);
  });

  it('believes a proof for a minute, no longer', async () => {
    const { state, readiness: gate } = readiness();
    state.fails = false;
    await gate.check();
    state.fails = true;
    state.now = 59_000;
    expect(await gate.check()).toBeNull();
    state.now = 61_000;
    expect(await gate.check()).toContain('no weights');
    expect(gate.ready).toBe(false);
  });

  it('believes a proof longer while the next one waits behind requests, and not for ever', async () => {
    const { state, readiness: gate } = readiness();
    state.fails = false;
    await gate.check();
    let free = (): void => undefined;
    state.behind = new Promise((resolve) => (free = resolve));
    state.late = Promise.resolve();
    state.now = 61_000;
    expect(await gate.check()).toBeNull();
    state.now = 179_000;
    expect(await gate.check()).toBeNull();
    expect(state.proofs).toBe(2);
    state.now = 180_000;
    const hung = gate.check();
    state.fails = true;
    free();
    expect(gate.ready).toBe(false);
    expect(await hung).toContain('no weights');
  });

  it('believes a proof as long as requests are answered before the next one', async () => {
    const { state, readiness: gate } = readiness();
    state.fails = false;
    await gate.check();
    state.behind = new Promise(() => undefined);
    state.late = Promise.resolve();
    for (const now of [61_000, 181_000, 301_000]) {
      state.now = now;
      expect([await gate.check(), gate.ready]).toEqual([null, true]);
      state.answered = now;
    }
    state.now = 301_000 + 180_000;
    expect(gate.ready).toBe(false);
  });

  it('does not take a full queue for an engine that fails, unless nothing was proved for long', async () => {
    const { state, readiness: gate } = readiness();
    state.full = true;
    expect(await gate.check()).toContain('full');
    [state.full, state.fails] = [false, false];
    await gate.check();
    [state.full, state.now] = [true, 61_000];
    expect(await gate.check()).toBeNull();
    state.now = 181_000;
    expect(await gate.check()).toContain('full');
  });

  it('proves once for callers that ask together', async () => {
    const { state, readiness: gate } = readiness();
    await Promise.all([gate.check(), gate.check()]);
    expect(state.proofs).toBe(1);
  });
});
