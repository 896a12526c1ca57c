import { artifactName, needsGpu } from '../../operands/index.ts';
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { demandOf, modelDemand } from './owners.ts';
import { gpuModel, gpuPool } from './testing/box.ts';

const gib = 2 ** 30;

/** Qwen2.5-Coder-7B, as its config.json has it. */
const architecture = { layers: 28, kvHeads: 4, headSize: 128, hiddenSize: 3584, feedForwardSize: 18_944, vocabulary: 152_064 };
const vllm = { type: 'VLLM', vLLM: { image: 'vllm:1', maxModelLen: 8192, maxNumSeqs: 16 } };

function pool(memory: object | undefined, artifacts: readonly object[] = [], more: object = {}): ExpertPool {
  const expert = { name: 'gen', role: 'Generalist', engine: vllm, ...(memory === undefined ? {} : { resources: { memory } }), ...more };
  return { ...gpuPool('p', [expert]), status: { artifacts } } as unknown as ExpertPool;
}

const demand = (of: ExpertPool) => demandOf(of, of.spec.experts[0] as Expert);
const read = { name: 'gen', uri: 'pvc://models/gen', phase: 'Ready', weightBytes: 15_231_233_024, architecture };

describe('memory of an engine', () => {
  test('is the budget when there is one, for each of its pods', () => {
    expect(demand(pool({ budget: '9Gi' }))).toEqual({ bytes: 9 * gib });
    expect(demand(pool({ budget: '9Gi' }, [], { replicas: 2 }))).toEqual({ bytes: 18 * gib });
  });

  test('is reckoned from the headers of its weights, with room to spare', () => {
    const reckoned = demand(pool({ budget: 'Auto', kvTokens: 100_000 }, [read]));
    const bytes = 'bytes' in reckoned ? reckoned.bytes : 0;
    // 14.2 GiB of weights, 5.3 of keys and values, activations, graphs and the process; 5 % on top.
    expect(bytes / gib).toBeGreaterThan(21);
    expect(bytes / gib).toBeLessThan(24);
  });

  test('holds what the user gives for keys and values, a draft and adapters', () => {
    const at = (of: ExpertPool): number => {
      const found = demand(of);
      return 'bytes' in found ? found.bytes / 1.05 : 0;
    };
    const plain = at(pool({ budget: 'Auto' }, [read]));
    const fixed = at(pool({ budget: 'Auto' }, [read], { engine: { ...vllm, vLLM: { ...vllm.vLLM, kvCacheBytes: '6Gi' } } }));
    expect((fixed - plain) / gib).toBeCloseTo((6 * gib - 8192 * 2 * 28 * 4 * 128 * 2) / gib, 6);
    const draft = { ...read, name: 'gen/draft', weightBytes: gib };
    const speculative = { draft: { uri: 'pvc://models/d' }, numTokens: 5 };
    expect(at(pool({ budget: 'Auto' }, [read, draft], { speculative }))).toBeGreaterThan(plain + gib);
    const base = pool({ budget: 'Auto' }, [read]);
    const adapter = {
      name: 'lora',
      role: 'Specialist',
      replicas: 1,
      engine: { type: 'Adapter', adapter: { base: 'gen', rank: 64 } },
    } as unknown as Expert;
    const adapted = { ...base, spec: { ...base.spec, experts: [...base.spec.experts, adapter] } };
    // All linear layers of the model at rank 64: 0.3 GiB.
    expect((at(adapted) - plain) / gib).toBeCloseTo(0.3, 1);
    expect(needsGpu(adapter)).toBe(false);
  });

  test('of another revision than the spec asks for is that of its own weights', () => {
    const weights = (name: string) => ({ artifact: { uri: `pvc://models/${name}` } });
    const now = pool({ budget: 'Auto' }, [read], weights('new'));
    const [expert] = now.spec.experts as [Expert];
    const before = { ...expert, ...weights('old') } as Expert;
    expect(demandOf(now, before)).toHaveProperty('lack');
    const name = artifactName(now, before, 'gen');
    expect(name).toMatch(/^gen@[0-9a-f]{16}$/);
    const known = { ...now, status: { artifacts: [read, { ...read, name, weightBytes: 2 * read.weightBytes }] } } as unknown as ExpertPool;
    const bytes = (of: Expert): number => {
      const found = demandOf(known, of);
      return 'bytes' in found ? found.bytes : 0;
    };
    expect((bytes(before) - bytes(expert)) / read.weightBytes / 1.05).toBeCloseTo(1.03, 2);
  });

  test('is not known before the weights, and those of the draft, were read: with the cure', () => {
    expect(demand(pool(undefined))).toEqual({
      lack: 'expert gen: the size of its weights is not known (status.artifacts); wait until they are read, or give the budget in bytes (spec.experts[].resources.memory.budget)',
    });
    const speculative = { draft: { uri: 'pvc://models/d' }, numTokens: 5 };
    expect(demand(pool({ budget: 'Auto' }, [read], { speculative }))).toMatchObject({
      lack: expect.stringContaining('weights of its draft') as string,
    });
    expect(modelDemand(gpuModel('judge', { slot: 'dgx-1/gpu2' }))).toMatchObject({
      lack: expect.stringContaining('spec.resources.memory.budget') as string,
    });
  });
});
