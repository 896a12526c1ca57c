import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { VllmControl } from './control.ts';
import { FakeEngine } from './testing/engine.ts';

describe('a running engine', () => {
  const { signal } = new AbortController();
  let engine: FakeEngine;
  let control: VllmControl;
  beforeEach(async () => {
    engine = new FakeEngine('coding.core');
    control = new VllmControl({ origin: await engine.start(), timeoutMs: 30_000 });
  });
  afterEach(() => engine.stop());

  test('is warm when it generates, not when it listens', async () => {
    expect(await control.generate('coding.core', signal)).toEqual({ tokens: 2, logprobs: true });
    engine.faults.zeroLogprobs = true;
    expect(await control.generate('coding.core', signal)).toEqual({ tokens: 2, logprobs: false });
    engine.faults.generate = 500;
    await expect(control.generate('coding.core', signal)).rejects.toThrow(/POST \/v1\/completions was answered with 500.*EngineDeadError/);
    await expect(control.generate('nobody', signal)).rejects.toThrow(/500/);
  });

  test('gets its adapters again after it forgot them, and none twice', async () => {
    const adapters = ['py', 'js'].map((name) => ({ name, path: `/adapters/${name}` }));
    expect(await control.registerAdapters(adapters, signal)).toEqual(['py', 'js']);
    expect(await control.registerAdapters(adapters, signal)).toEqual([]);
    engine.restart();
    expect(await control.registerAdapters(adapters, signal)).toEqual(['py', 'js']);
    expect(await control.models(signal)).toEqual(['coding.core', 'py', 'js']);
  });

  test('sleeps and wakes', async () => {
    await control.sleep(signal);
    expect(await control.isSleeping(signal)).toBe(true);
    await control.wake(signal);
    expect(await control.isSleeping(signal)).toBe(false);
  });

  test('that answers without an end is not listened to for ever', async () => {
    engine.faults.flood = true;
    await expect(control.models(signal)).rejects.toThrow(/longer than 4194304 bytes/);
  });

  test('that does not answer is an error that reports it', async () => {
    const stranger = new VllmControl({ origin: await engine.start().catch(() => ''), timeoutMs: 1 });
    await expect(stranger.models(signal)).rejects.toThrow(/GET \/v1\/models got no answer/);
    engine.faults.silent = true;
    await expect(control.models(AbortSignal.timeout(50))).rejects.toThrow(/got no answer/);
  });
});
