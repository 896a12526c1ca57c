import { describe, expect, test } from 'vitest';
import { vllmArguments, vllmEnvironment, type VllmDemand } from './index.ts';

const demand: VllmDemand = {
  modelPath: '/models/core',
  pool: 'coding',
  expert: 'core',
  digest: 'sha256:ab',
  maxModelLength: 32_768,
  maxSequences: 64,
  kvCacheBytes: 18_253_611_008,
  shards: 1,
  adapters: undefined,
  draft: undefined,
  sleep: false,
  extraArgs: [],
};

describe('the command line', () => {
  test('sets bytes, names and raw logprobs, and nothing that was not asked for', () => {
    expect(vllmArguments(demand).join(' ')).toBe(
      '/models/core --served-model-name coding.core coding.core@sha256:ab --host :: --port 8000 --max-model-len 32768 ' +
        '--max-num-seqs 64 --kv-cache-memory-bytes 18253611008 --max-num-batched-tokens 2048 --enable-prefix-caching --max-logprobs 20 --logprobs-mode raw_logprobs ' +
        '--structured-outputs-config.backend xgrammar',
    );
    expect(vllmEnvironment(demand).map(({ name }) => name)).toEqual(['HF_HUB_OFFLINE', 'VLLM_NO_USAGE_STATS', 'DO_NOT_TRACK']);
  });

  test('calls tools where it has a parser for them', () => {
    expect(vllmArguments({ ...demand, toolCallParser: 'hermes' }).join(' ')).toContain(
      '--enable-auto-tool-choice --tool-call-parser hermes',
    );
    const extraArgs = ['--reasoning-parser=qwen3', '--chat-template=a.jinja'];
    expect(vllmArguments({ ...demand, toolCallParser: 'hermes', extraArgs }).join(' ')).toMatch(
      /hermes .*--reasoning-parser=qwen3 --chat-template=a.jinja$/,
    );
    expect(vllmArguments(demand).join(' ')).not.toContain('tool');
    expect(() => vllmArguments({ ...demand, extraArgs: ['--tool-call-parser=x'] })).toThrow('--tool-call-parser');
  });

  test('has what shards, adapters, drafts, sleep and the user ask for', () => {
    const more: VllmDemand = {
      ...demand,
      shards: 2,
      adapters: { count: 4, maxRank: 48 },
      draft: { modelPath: '/models/draft', tokens: 5 },
      sleep: true,
      extraArgs: ['--seed=7'],
    };
    const words = vllmArguments(more);
    expect(words.slice(words.indexOf('--tensor-parallel-size'))).toEqual([
      '--tensor-parallel-size',
      '2',
      '--enable-lora',
      '--max-loras',
      '4',
      '--max-lora-rank',
      '64',
      '--speculative-config',
      '{"model":"/models/draft","num_speculative_tokens":5,"draft_tensor_parallel_size":2}',
      '--enable-sleep-mode',
      '--seed=7',
    ]);
    expect(vllmEnvironment(more).map(({ name }) => name)).toContain('VLLM_SERVER_DEV_MODE');
    expect(vllmEnvironment(more).map(({ name }) => name)).toContain('VLLM_ALLOW_RUNTIME_LORA_UPDATING');
  });

  test('starts with the weights, without a flag', () => {
    expect(vllmArguments(demand)[0]).toBe('/models/core');
    expect(vllmArguments(demand)).not.toContain('--model');
  });

  test.each([
    [1, '8'],
    [8, '8'],
    [33, '64'],
    [257, '320'],
    [512, '512'],
  ])('reserves room for an adapter of rank %i as engines can', (maxRank, words) => {
    const command = vllmArguments({ ...demand, adapters: { count: 1, maxRank } });
    expect(command[command.indexOf('--max-lora-rank') + 1]).toBe(words);
  });

  test.each([
    '--gpu-memory-utilization=0.9',
    '--gpu_memory_utilization',
    '--model',
    '--tensor-parallel-size=4',
    '--api-key=x',
    '-tp',
    '-pp=2',
    '-t',
    '-sc.method',
    '--spec-method=ngram',
    '--data-parallel-size',
    '--config=file',
    '--speculative-config.method',
    '--speculative_config.method+',
    '--no-enable-lora',
    '--tensor-par',
  ])('takes no %s from the user, as placement reckons with it', (word) => {
    expect(() => vllmArguments({ ...demand, extraArgs: [word] })).toThrow(/extraArgs: .* is set by the operator/);
  });

  test.each(['--model-impl=vllm', '--enable-lora-bias', '--config-format=hf', '--port-x', '4', '-O3', '--seed=7'])('takes %s', (word) => {
    expect(vllmArguments({ ...demand, extraArgs: [word] }).at(-1)).toBe(word);
  });
});
