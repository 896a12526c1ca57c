import { expect, test } from 'vitest';
import { NoTurnError } from '../../turnstile/index.ts';
import { Swap } from './swap.ts';

const { signal } = new AbortController();

/** An engine and a turnstile that are what the test says. */
function bed() {
  const state = { sleeping: false, load: 'one' as string | null, waitedMs: 0, uses: 0, granted: true };
  const turns = {
    get load() {
      return state.load;
    },
    use: <T>(run: (waitedMs: number) => Promise<T>): Promise<T> => {
      state.uses += 1;
      return state.granted ? run(state.waitedMs) : Promise.reject(new NoTurnError(100, true));
    },
    close: () => Promise.resolve(),
  };
  const swap = new Swap({ control: { isSleeping: () => Promise.resolve(state.sleeping) }, turns });
  return { state, swap };
}

test('a generation has what is left of its time in whole milliseconds, and some in any case', async () => {
  const { state, swap } = bed();
  const budget = (): Promise<number> => swap.awake((budgetMs) => Promise.resolve(budgetMs), signal, 30_000);
  state.waitedMs = 1234.5;
  expect(await budget()).toBe(28_766);
  state.waitedMs = 29_999;
  expect(await budget()).toBe(10_000);
});

test('who gets no turn in time is told when to come again', async () => {
  const { state, swap } = bed();
  state.granted = false;
  const refused = swap.awake(() => Promise.resolve(1), signal, 100);
  await expect(refused).rejects.toMatchObject({ code: 'AF_ENGINE_UNAVAILABLE', status: 503, retryAfterSeconds: 1 });
  await expect(refused).rejects.toThrow('no turn on the GPU within 100 ms: other engines have the GPU');
});

test('each process of an engine is proved once in a turn, and not woken for it while it sleeps', async () => {
  const { state, swap } = bed();
  let proofs = 0;
  const prove = (): Promise<void> => swap.prove(() => Promise.resolve(void (proofs += 1)), 1000);
  state.sleeping = true;
  await prove();
  expect([proofs, state.uses]).toEqual([1, 1]);
  await prove();
  expect([proofs, state.uses]).toEqual([1, 1]);
  // It has started anew since, and was put to sleep before anybody asked.
  state.load = 'two';
  await prove();
  expect([proofs, state.uses]).toEqual([2, 2]);
  state.sleeping = false;
  await prove();
  expect(proofs).toBe(3);
});
