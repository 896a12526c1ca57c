import type { Expert } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { infoOf, type ServerInfo } from '../../serving/index.ts';
import { driftCondition, memoryOf } from './status.ts';
import { driftEvent } from './statusWriter.ts';

const model = { layers: 28, kvHeads: 4, headSize: 128, hiddenSize: 3584, feedForwardSize: 18_944, vocabulary: 152_064 };
const perToken = 2 * 28 * 4 * 128 * 2;
const expert = {
  name: 'core',
  role: 'Generalist',
  engine: { type: 'VLLM', vLLM: { image: 'vllm:1', maxModelLen: 8192 } },
  resources: { memory: { budget: 'Auto', kvTokens: 100_000 } },
} as unknown as Expert;

const reported = (memory: unknown): ServerInfo => infoOf({ modelDigest: `sha256:${'a'.repeat(64)}`, memory });
const state = (memory: ReturnType<typeof memoryOf>) => ({
  name: 'core',
  role: 'Generalist' as const,
  phase: 'Ready' as const,
  replicas: 1,
  ready: 1,
  ...(memory === undefined ? {} : { memory }),
});

describe('what an engine reports of its memory', () => {
  test('is beside what was reckoned for the tokens that it holds', () => {
    const exact = memoryOf(expert, { model, draft: undefined }, reported({ kvTokens: 100_000 }));
    expect(exact).toEqual({ estimated: 100_000 * perToken, measured: 100_000 * perToken });
    // It holds fewer in the same bytes: each takes more than was reckoned.
    const fewer = memoryOf(expert, { model, draft: undefined }, reported({ kvTokens: 80_000 }));
    expect(fewer).toMatchObject({ estimated: 80_000 * perToken, measured: 100_000 * perToken });
    // A draft inside of it has keys and values of its own.
    const draft = { ...model, layers: 7 };
    expect(memoryOf(expert, { model, draft }, reported({ kvTokens: 100_000 }))).toMatchObject({
      measured: 100_000 * perToken * 1.25,
    });
  });

  test('is reported for each GPU where it spans several', () => {
    const two = {
      ...expert,
      engine: { type: 'VLLM', vLLM: { image: 'vllm:1', maxModelLen: 8192, tensorParallel: 2 } },
    } as unknown as Expert;
    const found = memoryOf(two, { model, draft: undefined }, reported({ kvTokens: 100_000 }));
    expect(found).toEqual({ estimated: 50_000 * perToken, measured: 50_000 * perToken });
    // There are 4 heads of keys and values: eight GPUs have one each.
    const eight = {
      ...expert,
      engine: { type: 'VLLM', vLLM: { image: 'vllm:1', maxModelLen: 8192, tensorParallel: 8 } },
    } as unknown as Expert;
    expect(memoryOf(eight, { model, draft: undefined }, reported({ kvTokens: 100_000 }))?.measured).toBe(25_000 * perToken);
  });

  test.each([[undefined], [{}], [{ kvTokens: -1 }], [{ kvTokens: '80000' }], [{ kvTokens: 1.5 }]])(
    'is not there for the answer %j',
    (memory) => {
      expect(memoryOf(expert, { model, draft: undefined }, reported(memory))).toBeUndefined();
    },
  );

  test('is reported when it is far from what was reckoned, once', () => {
    expect(driftCondition([state(undefined)])).toBeUndefined();
    const near = driftCondition([state(memoryOf(expert, { model, draft: undefined }, reported({ kvTokens: 90_000 })))]);
    expect(near).toMatchObject({ status: 'False' });
    const far = driftCondition([state(memoryOf(expert, { model, draft: undefined }, reported({ kvTokens: 80_000 })))]);
    expect(far).toMatchObject({ status: 'True', reason: 'EstimateDrift' });
    expect(far?.message).toMatch(
      /expert core: its engine holds in 5.34 GiB the tokens that were reckoned at 4.27 GiB \(error 0.200\); set/,
    );
    const condition = {
      type: 'EstimateDrift',
      status: 'True' as const,
      reason: 'EstimateDrift',
      message: '',
      lastTransitionTime: '2030-01-01T00:00:00Z',
    };
    expect(driftEvent({}, { conditions: [condition] })).toMatchObject({ type: 'Warning', reason: 'EstimateDrift' });
    expect(driftEvent({ conditions: [condition] }, { conditions: [condition] })).toBeUndefined();
  });
});
