import { VirtualClock } from '@agentfleet/kube/testing';
import { describe, expect, it } from 'vitest';
import { AttemptFailure } from '../attempt/index.ts';
import type { Scope } from '../attempt/scope.ts';
import { UselessAnswer } from '../models/models.ts';
import { whenReachable } from './notes.ts';

const minute = 60_000;
const gone = new AttemptFailure('Infrastructure', 'ModelUnreachable', 'the gateway of expert gen does not answer');

/** What a task sees of a model that is away for so long: its message, the time that is not counted, the end. */
async function outage(ms: number, error: Error = gone) {
  const clock = new VirtualClock();
  const said: string[] = [];
  let paused = 0;
  const stop = new AbortController();
  const scope = {
    context: { clock, signal: stop.signal },
    meter: {
      pause: () => {
        const since = clock.monotonic();
        return () => (paused += clock.monotonic() - since);
      },
    },
    progress: { say: (text: string) => said.push(text) },
  } as unknown as Scope;
  const begin = clock.monotonic();
  let asks = 0;
  const asked = whenReachable(scope, () => {
    asks += 1;
    return clock.monotonic() - begin < ms ? Promise.reject(error) : Promise.resolve('an answer');
  });
  const settled = asked.then(
    (value) => ({ value }),
    (reason: unknown) => ({ reason }),
  );
  return { clock, said, stop, settled, paused: () => paused, asks: () => asks };
}

describe('a model that is away', () => {
  it('is waited for; the time is not of the budget, and the task reports what it waits for', async () => {
    const { clock, said, settled, paused } = await outage(5 * minute);
    await clock.advance(6 * minute);
    expect(await settled).toEqual({ value: 'an answer' });
    expect(paused()).toBe(5 * minute);
    expect(new Set(said)).toEqual(new Set(['waiting for the model: the gateway of expert gen does not answer']));
  });

  it('for an hour ends the attempt after ten minutes as Infrastructure, which is not charged', async () => {
    const { clock, settled, paused } = await outage(60 * minute);
    await clock.advance(60 * minute);
    expect(await settled).toEqual({ reason: gone });
    expect(paused()).toBeGreaterThanOrEqual(10 * minute);
    expect(paused()).toBeLessThan(11 * minute);
  });

  it('keeps no one from stopping', async () => {
    const { clock, settled, stop } = await outage(60 * minute);
    await clock.advance(minute);
    stop.abort(new Error('stopped'));
    await clock.advance(minute);
    expect(await settled).toMatchObject({ reason: { message: 'stopped' } });
  });

  it.each([
    ['refuses', new AttemptFailure('InvalidInput', 'CredentialRefused', 'no')],
    ['answers what is of no use, which its server bills', new UselessAnswer('ModelFailed', 'the gateway failed on it')],
  ])('is not one that %s', async (_how, failure) => {
    const { clock, settled, said, asks } = await outage(60 * minute, failure);
    await clock.advance(60 * minute);
    expect(await settled).toEqual({ reason: failure });
    expect([asks(), said]).toEqual([1, []]);
  });
});
