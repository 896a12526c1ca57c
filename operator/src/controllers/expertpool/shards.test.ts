// What becomes of an expert that spans several GPUs, from its spec and the plan in force.
import type { ExpertPool, PlanStatus } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { newPool } from '../agenttask/testing/objects.ts';
import { thirteen } from '../placement/testing/wide.ts';
import { decidePool } from './decide.ts';
import { newSnapshot } from './testing/snapshots.ts';
import { weightsViews } from './manifests/weights.ts';

const gib = 2 ** 30;

const plan = (...slots: readonly number[]): PlanStatus => ({
  mode: 'DRA',
  assignments: slots.map((slot) => ({
    item: 'core',
    slot: `dgx-1/gpu${slot}`,
    uuid: `GPU-${slot}`,
    bytes: 17 * gib,
    claim: `slot-dgx-1-gpu${slot}-0123456789`,
    admitted: true,
  })),
});

const core = {
  name: 'core',
  role: 'Generalist',
  engine: { type: 'VLLM', vLLM: { image: 'vllm:1', maxNumSeqs: 16, tensorParallel: 2 } },
  artifact: { uri: 'pvc://models/core' },
  resources: { memory: { kvTokens: 20_000 } },
};

function decided(inForce: PlanStatus, kvTokens = 20_000) {
  const pool = newPool({ experts: [{ ...core, resources: { memory: { kvTokens } } }] });
  const digest = `sha256:${'a'.repeat(64)}`;
  const artifacts = [{ name: 'core', uri: 'pvc://models/core', phase: 'Ready', digest, architecture: thirteen, weightBytes: 12 * gib }];
  const reported = { ...pool, status: { plan: inForce, artifacts } } as unknown as ExpertPool;
  const weights = weightsViews({
    pool: newSnapshot(reported).pool,
    others: [],
    pods: [],
    progress: new Map(),
    images: { agent: 'agent:1' },
  });
  return decidePool(newSnapshot(reported, { weights }));
}

interface Pod {
  readonly template: {
    readonly spec: {
      readonly resourceClaims: readonly { readonly resourceClaimName: string }[];
      readonly initContainers: readonly { readonly name: string; readonly args: readonly string[] }[];
    };
  };
}

const engineIn = (decision: ReturnType<typeof decided>): Pod | undefined =>
  decision.apply.find(({ object }) => object.kind === 'Deployment' && object.metadata.name.includes('-expert-'))?.object['spec'] as
    Pod | undefined;

describe('an expert on several GPUs', () => {
  test('is started on all of them, with keys and values for its tokens shared out', () => {
    const { template } = engineIn(decided(plan(0, 1)))!;
    expect(template.spec.resourceClaims.map(({ resourceClaimName }) => resourceClaimName)).toEqual(
      plan(0, 1).assignments.map(({ claim }) => claim),
    );
    const args = template.spec.initContainers.find(({ name }) => name === 'engine')?.args ?? [];
    expect(args[args.indexOf('--tensor-parallel-size') + 1]).toBe('2');
    expect(args[args.indexOf('--kv-cache-memory-bytes') + 1]).toBe(String((20_000 * 2 * 40 * 40 * 128 * 2) / 2));
  });

  test('is neither made nor changed nor ended by a plan that has another number of them', () => {
    const waiting = decided(plan(0));
    expect(engineIn(waiting)).toBeUndefined();
    expect(waiting.remove).toEqual([]);
    expect(waiting.obstacles).toEqual([]);
  });

  test('is neither made nor changed nor ended for more memory than the plan gives it', () => {
    const refused = decided(plan(0, 1), 60_000);
    expect(engineIn(refused)).toBeUndefined();
    expect(refused.remove).toEqual([]);
    expect(refused.obstacles).toEqual([]);
    expect(engineIn(decided(plan(0, 1), 10_000))).toBeDefined();
  });
});
