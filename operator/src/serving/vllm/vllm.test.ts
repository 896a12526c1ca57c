import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { VllmControl, vllmArguments, vllmEnvironment, type VllmDemand } from './index.ts';
import { FakeEngine } from './testing/engine.ts';

const demand: VllmDemand = {
  modelPath: '/models/core',
  pool: 'coding',
  expert: 'core',
  digest: 'sha256:ab',
  maxModelLength: 32_768,
  maxSequences: 64,
  kvCacheBytes: 18_253_611_008,
  shards: 1,
  quantization: undefined,
  adapters: undefined,
  draft: undefined,
  sleep: false,
  extraArgs: [],
};

describe('the command line', () => {
  test('says bytes, names and raw logprobs, and nothing that was not asked for', () => {
    expect(vllmArguments(demand).join(' ')).toBe(
      '--model /models/core --served-model-name coding.core coding.core@sha256:ab --host :: --port 8000 --max-model-len 32768 ' +
        '--max-num-seqs 64 --kv-cache-memory-bytes 18253611008 --enable-prefix-caching --max-logprobs 20 --logprobs-mode raw_logprobs ' +
        '--structured-outputs-config.backend xgrammar',
    );
    expect(vllmEnvironment(demand).map(({ name }) => name)).toEqual(['HF_HUB_OFFLINE', 'VLLM_NO_USAGE_STATS', 'DO_NOT_TRACK']);
  });

  test('has what shards, adapters, drafts, sleep and the user ask for', () => {
    const more: VllmDemand = {
      ...demand,
      shards: 2,
      quantization: 'awq_marlin',
      adapters: { count: 4, maxRank: 64 },
      draft: { modelPath: '/models/draft', tokens: 5 },
      sleep: true,
      extraArgs: ['--seed=7'],
    };
    const words = vllmArguments(more);
    expect(words.slice(words.indexOf('--tensor-parallel-size'))).toEqual([
      '--tensor-parallel-size',
      '2',
      '--quantization',
      'awq_marlin',
      '--enable-lora',
      '--max-loras',
      '4',
      '--max-lora-rank',
      '64',
      '--speculative-config',
      '{"model":"/models/draft","num_speculative_tokens":5,"draft_tensor_parallel_size":1}',
      '--enable-sleep-mode',
      '--seed=7',
    ]);
    expect(vllmEnvironment(more).map(({ name }) => name)).toContain('VLLM_SERVER_DEV_MODE');
    expect(vllmEnvironment(more).map(({ name }) => name)).toContain('VLLM_ALLOW_RUNTIME_LORA_UPDATING');
  });

  test.each(['--gpu-memory-utilization=0.9', '--gpu_memory_utilization', '--model', '--tensor-parallel-size=4', '--api-key=x'])(
    'takes no %s from the user, as placement reckons with it',
    (word) => {
      expect(() => vllmArguments({ ...demand, extraArgs: [word] })).toThrow(/extraArgs: .* is set by the operator/);
    },
  );
});

describe('a running engine', () => {
  const { signal } = new AbortController();
  let engine: FakeEngine;
  let control: VllmControl;
  beforeEach(async () => {
    engine = new FakeEngine('coding.core', 'secret');
    control = new VllmControl({ origin: await engine.start(), apiKey: 'secret', timeoutMs: 30_000 });
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
    await control.removeAdapter('py', signal);
    expect(await control.models(signal)).toEqual(['coding.core', 'js']);
    await expect(control.removeAdapter('py', signal)).rejects.toThrow(/404/);
  });

  test('sleeps and wakes', async () => {
    await control.sleep(1, signal);
    expect(await control.isSleeping(signal)).toBe(true);
    await control.wake(signal);
    expect(await control.isSleeping(signal)).toBe(false);
  });

  test('is drained when nothing runs or waits', async () => {
    engine.running = 3;
    expect(await control.inFlight(signal)).toBe(4);
    engine.faults.flood = true;
    await expect(control.inFlight(signal)).rejects.toThrow(/longer than 1048576 bytes/);
  });

  test('that does not answer, or to another key, is an error that says so', async () => {
    const stranger = new VllmControl({ origin: await engine.start().catch(() => ''), apiKey: undefined, timeoutMs: 1 });
    await expect(stranger.models(signal)).rejects.toThrow(/GET \/v1\/models got no answer/);
    engine.faults.silent = true;
    await expect(control.models(AbortSignal.timeout(50))).rejects.toThrow(/got no answer/);
  });
});
