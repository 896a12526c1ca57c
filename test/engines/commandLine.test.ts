import { describe, expect, test } from 'vitest';
import { readCommandLine } from '../../inference-image/src/engines/vllm/testing/commandLine.ts';
import { vllmArguments, type VllmDemand } from '../../operator/src/serving/vllm/index.ts';

const demand: VllmDemand = {
  modelPath: '/weights/core',
  pool: 'pool',
  expert: 'core',
  digest: 'sha256:ab',
  maxModelLength: 8192,
  maxSequences: 64,
  kvCacheBytes: 2 ** 30,
  shards: 1,
  adapters: undefined,
  draft: undefined,
  sleep: false,
  extraArgs: [],
};

describe('the operator starts an engine with arguments of vLLM', () => {
  test.each<[string, Partial<VllmDemand>]>([
    ['alone', {}],
    ['with adapters', { adapters: { count: 3, maxRank: 24 } }],
    ['with a draft', { draft: { modelPath: '/weights/draft', tokens: 5 } }],
    ['on two GPUs', { shards: 2 }],
    ['that sleeps', { sleep: true }],
    ['with words of the user', { extraArgs: ['--seed=7', '--block-size', '32'] }],
  ])('%s', (_, change) => {
    const { model, flags } = readCommandLine(vllmArguments({ ...demand, ...change }));
    expect(model).toBe('/weights/core');
    expect(flags.get('--served-model-name')).toEqual(['pool.core', 'pool.core@sha256:ab']);
    expect(flags.get('--kv-cache-memory-bytes')).toEqual([String(2 ** 30)]);
  });
});
