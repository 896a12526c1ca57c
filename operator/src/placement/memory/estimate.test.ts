import { describe, expect, test } from 'vitest';
import {
  codeLlama13B,
  configOf,
  deepSeek7B,
  headerOf,
  llama8B,
  qwen14B,
  qwen1B5,
  qwen3_8B,
  qwen7B,
  type Precision,
  type PublicModel,
} from '../testing/models.ts';
import {
  activationBytes,
  estimateEngine,
  gibibyte,
  graphBytes,
  kvBytesPerToken,
  readConfig,
  tensorBytes,
  usableBytes,
  type EngineDemand,
} from './index.ts';

/** Tokens whose keys and values fit when an engine may take `budgetBytes` of each GPU; 0 when not even the rest fits. */
function tokensWithin(budgetBytes: number, demand: EngineDemand): number {
  const rest = estimateEngine({ ...demand, tokens: 0 }).total;
  const perToken =
    kvBytesPerToken(demand.architecture, demand.shards) +
    (demand.draft === undefined ? 0 : kvBytesPerToken(demand.draft.architecture, demand.shards));
  return Math.max(0, Math.floor((budgetBytes - rest) / perToken));
}

const a100 = 40 * gibibyte;

/** An engine as vLLM starts one on an A100 of 40 GiB. */
function demandOf(model: PublicModel, precision: Precision, more: Partial<EngineDemand> = {}): EngineDemand {
  return {
    architecture: readConfig(configOf(model)),
    weightBytes: tensorBytes(headerOf(model, precision)),
    tokens: 0,
    maxSequences: 256,
    shards: 1,
    ...more,
  };
}

describe('memory of usual models alone on an A100 of 40 GiB', () => {
  // Weights in GiB, KiB per token, activation, KV in GiB and in thousands of tokens, at a utilisation of 0.92.
  const table: readonly (readonly [string, PublicModel, Precision, number, number, number, number, number])[] = [
    ['Qwen2.5-Coder-7B bf16', qwen7B, 'bf16', 14.2, 56, 1.5, 20.3, 381],
    ['Qwen2.5-Coder-7B AWQ', qwen7B, 'awq', 5.2, 56, 1.5, 29.4, 550],
    ['DeepSeek-Coder-6.7B bf16', deepSeek7B, 'bf16', 12.6, 512, 0.4, 23.1, 47],
    ['Llama-3.1-8B bf16', llama8B, 'bf16', 15, 128, 1.3, 19.8, 162],
    ['Qwen3-8B bf16', qwen3_8B, 'bf16', 15.3, 144, 1.5, 19.3, 141],
    ['CodeLlama-13B bf16', codeLlama13B, 'bf16', 24.3, 800, 0.5, 11.3, 15],
    ['CodeLlama-13B AWQ', codeLlama13B, 'awq', 6.8, 800, 0.5, 28.8, 38],
    ['Qwen2.5-Coder-14B bf16', qwen14B, 'bf16', 27.5, 192, 1.5, 7, 38],
    ['Qwen2.5-Coder-14B int8', qwen14B, 'int8', 15.1, 192, 1.5, 19.4, 106],
    ['Qwen2.5-Coder-14B AWQ', qwen14B, 'awq', 9.4, 192, 1.5, 25.2, 138],
  ];
  test.each(table)('%s', (_name, model, precision, weights, perToken, activation, kv, thousands) => {
    const demand = demandOf(model, precision);
    const parts = {
      weights: demand.weightBytes / gibibyte,
      perToken: kvBytesPerToken(demand.architecture) / 1024,
      activation: activationBytes(demand.architecture, 256) / gibibyte,
    };
    expect(parts.perToken).toBe(perToken);
    expect(Math.abs(parts.weights - weights)).toBeLessThan(0.15);
    expect(Math.abs(parts.activation - activation)).toBeLessThan(0.1);
    const left = 0.92 * (usableBytes(a100) / gibibyte) - parts.weights - parts.activation - graphBytes / gibibyte;
    expect(Math.abs(left - kv)).toBeLessThan(0.25);
    expect(Math.abs((left * 1024 * 1024) / perToken / 1000 - thousands)).toBeLessThan(0.03 * thousands + 1);
  });
});

describe('the box of four A100', () => {
  const shared = 0.92 * usableBytes(a100);

  test('a core and its draft on one GPU hold keys and values of two hundred thousand tokens', () => {
    const draft = { weightBytes: 2.9 * gibibyte, architecture: readConfig(configOf(qwen1B5)) };
    expect(kvBytesPerToken(draft.architecture) + kvBytesPerToken(readConfig(configOf(qwen7B)))).toBe(84 * 1024);
    const tokens = tokensWithin(shared, demandOf(qwen7B, 'bf16', { draft }));
    expect(tokens).toBeGreaterThan(195_000);
    expect(tokens).toBeLessThan(220_000);
  });

  test('four bf16 specialists do not fit on one GPU, not even without a single token', () => {
    const one = estimateEngine(demandOf(qwen7B, 'bf16')).total;
    expect(4 * one).toBeGreaterThan(usableBytes(a100) + 20 * gibibyte);
  });

  test('four specialists in 4 bit fit, each with tens of thousands of tokens', () => {
    const demand = demandOf(qwen7B, 'awq', { maxSequences: 64 });
    expect(tokensWithin(shared / 4, demand)).toBeGreaterThan(30_000);
  });

  test('four adapters on one base fit and leave most of the GPU to tokens', () => {
    // All linear layers of Qwen2.5-7B: inputs plus outputs of its seven projections.
    const projectionWidth = 3584 + 3584 + 2 * (3584 + 512) + 3584 + 3584 + 3 * (3584 + 18_944);
    const adapters = { count: 1, rank: 64, projectionWidth };
    const demand = demandOf(qwen7B, 'bf16', { adapters });
    expect(estimateEngine(demand).adapters / gibibyte).toBeCloseTo(0.3, 1);
    expect(tokensWithin(shared, demandOf(qwen7B, 'bf16', { adapters: { ...adapters, count: 4 } }))).toBeGreaterThan(330_000);
  });
});

describe('an estimate', () => {
  test('is the sum of its parts, and grows by the bytes of a token', () => {
    const { total, ...parts } = estimateEngine(demandOf(llama8B, 'bf16', { tokens: 1000 }));
    expect(Object.values(parts).reduce((sum, part) => sum + part, 0)).toBe(total);
    expect(estimateEngine(demandOf(llama8B, 'bf16', { tokens: 2000 })).total - total).toBe(1000 * 131_072);
  });

  test('tokens within a budget are those whose estimate is within it, and one more is not', () => {
    const demand = demandOf(qwen7B, 'bf16');
    const budget = 30 * gibibyte;
    const tokens = tokensWithin(budget, demand);
    expect(estimateEngine({ ...demand, tokens }).total).toBeLessThanOrEqual(budget);
    expect(estimateEngine({ ...demand, tokens: tokens + 2 }).total).toBeGreaterThan(budget);
    expect(tokensWithin(gibibyte, demand)).toBe(0);
  });

  test('two GPUs share weights and tokens, and each has its own process, graphs and activations', () => {
    const one = estimateEngine(demandOf(qwen14B, 'bf16', { tokens: 10_000 }));
    const two = estimateEngine(demandOf(qwen14B, 'bf16', { tokens: 10_000, shards: 2 }));
    expect(two.weights).toBe(Math.ceil(one.weights / 2));
    expect(two.kv).toBe(one.kv / 2);
    expect([two.process, two.graphs, two.activation]).toEqual([one.process, one.graphs, one.activation]);
    // What libraries keep on each GPU to talk to the others: 0.6 GiB beside the 0.15 of one alone.
    expect([one.links, two.links]).toEqual([0, Math.ceil(0.45 * gibibyte)]);
  });

  test('of more GPUs than heads of keys and values has one of these on each', () => {
    const at = (shards: number): number => estimateEngine(demandOf(qwen7B, 'bf16', { tokens: 10_000, shards })).kv;
    expect([2, 4, 7].map((shards) => at(1) / at(shards))).toEqual([2, 4, 4]);
    expect(kvBytesPerToken(readConfig(configOf(qwen7B)), 7)).toBe(14 * 1024);
  });

  test('of two GPUs has half of a draft on each, and all of adapters', () => {
    const draft = { weightBytes: 2.9 * gibibyte, architecture: readConfig(configOf(qwen1B5)) };
    const adapters = { count: 4, rank: 64, projectionWidth: 100_000 };
    const at = (shards: number) => estimateEngine(demandOf(qwen7B, 'bf16', { tokens: 10_000, shards, draft, adapters }));
    expect([Math.ceil(at(2).draft), at(2).adapters]).toEqual([Math.ceil(at(1).draft / 2), at(1).adapters]);
  });

  test('of a 13B in 16 bit: more than an A100 holds with two sequences of 16 k, and two of them hold three', () => {
    const room = 0.92 * usableBytes(a100);
    const demand = (shards: number, tokens: number) => demandOf(codeLlama13B, 'bf16', { maxSequences: 16, tokens, shards });
    expect(estimateEngine(demand(1, 2 * 16_384)).total).toBeGreaterThan(room);
    expect(estimateEngine(demand(2, 3 * 16_384)).total).toBeLessThan(room);
    expect(tokensWithin(room, demand(2, 0)) / tokensWithin(room, demand(1, 0))).toBeGreaterThan(3.5);
  });
});
