import { describe, expect, it } from 'vitest';
import { Readiness } from './server.ts';

function readiness() {
  const state = { fails: true, proofs: 0, now: 0 };
  const prove = (): Promise<void> => {
    state.proofs += 1;
    return state.fails ? Promise.reject(new Error('no weights')) : Promise.resolve();
  };
  return { state, readiness: new Readiness({ prove }, () => state.now) };
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

  it('proves once for callers that ask together', async () => {
    const { state, readiness: gate } = readiness();
    await Promise.all([gate.check(), gate.check()]);
    expect(state.proofs).toBe(1);
  });
});
