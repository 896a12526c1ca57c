// A pool with GPUs, its verifier and its policy, in the middle of a rollout.
import type { Node } from '../contract/api/fields.ts';
import { condition, minutes, sha } from './content.ts';

const gib = 1024 ** 3;

/** A pool with two GPUs and a rollout, its policy and its verifier. */
export function platform(): Readonly<Record<string, { readonly body: Node; readonly status?: Node }>> {
  const apiVersion = 'agentfleet.dev/v1alpha1';
  const ready = condition('Ready', 'True', 'AllReady', 'all experts answer', 90);
  const at = (item: string, slot: string, size: number): Node => ({ item, slot, bytes: size * gib, slotBytes: 78 * gib, admitted: true });
  const rollout = {
    phase: 'Canary',
    id: 'bbbbbbbbbb-t1',
    stable: 'aaaaaaaaaa',
    canary: 'bbbbbbbbbb',
    weight: 50,
    step: 1,
    since: minutes(35),
    samplesBefore: 40,
    samples: 87,
    gates: [
      { name: 'loss', verdict: 'Pass', value: '0.012', baseline: '0.015', samples: 87, message: 'at most 0.03 more loss, at 95 %' },
      { name: 'errors', verdict: 'Inconclusive', value: '0.004', baseline: '0.006', samples: 87, message: 'needs 113 more samples' },
    ],
  };
  return {
    rolloutpolicies: {
      body: {
        apiVersion,
        kind: 'RolloutPolicy',
        metadata: { name: 'careful' },
        spec: {
          strategy: 'Canary',
          steps: [
            { weight: 10, minSamples: 20, pauseSeconds: 300 },
            { weight: 50, minSamples: 200, pauseSeconds: 60 },
          ],
          gates: [
            { name: 'loss', metric: 'TaskLoss', atMost: '0.03' },
            { name: 'errors', metric: 'ErrorRate', atMost: '0.01', minSamples: 200 },
          ],
          promotion: { requireApproval: true },
        },
      },
    },
    expertpools: {
      body: {
        apiVersion,
        kind: 'ExpertPool',
        metadata: { name: 'coding' },
        spec: {
          experts: [
            {
              name: 'chat',
              role: 'Generalist',
              engine: {
                type: 'OpenAI',
                api: { baseURL: 'https://llm.example.com/v1', model: 'large-1', price: { input: '3.00', output: '15' } },
              },
            },
            {
              name: 'core',
              role: 'Specialist',
              domains: ['python'],
              engine: {
                type: 'VLLM',
                vLLM: { image: 'registry.example.com/vllm:0.14', tensorParallel: 2, slots: ['dgx-1/gpu0', 'dgx-1/gpu1'] },
              },
              artifact: { uri: 'pvc://models/coder-7b' },
            },
            { name: 'search', role: 'Specialist', domains: ['javascript'], engine: { type: 'Synth' } },
          ],
          energyModelRef: { name: 'judge' },
          rolloutPolicyRef: { name: 'careful' },
        },
      },
      status: {
        observedGeneration: 1,
        conditions: [ready, condition('RolloutHealthy', 'True', 'Canary', '50 % of tasks, step 2 of 2', 35)],
        running: 4,
        queued: 2,
        experts: [
          { name: 'chat', phase: 'Ready', replicas: 2, ready: 2, latency: { p50Ms: 2300, p95Ms: 11_000 } },
          {
            name: 'core',
            phase: 'Ready',
            replicas: 1,
            ready: 1,
            memory: { estimated: 9 * gib, measured: Math.round(8.7 * gib) },
          },
          { name: 'search', phase: 'Degraded', replicas: 2, ready: 1, message: 'one pod waits for memory on its node' },
        ],
        workers: { replicas: 3, ready: 3, selector: 'agentfleet.dev/pool=coding' },
        sandboxes: { warm: 2, starting: 1 },
        plan: {
          mode: 'DRA',
          assignments: [at('core', 'dgx-1/gpu0', 34), at('draft', 'dgx-1/gpu0', 6), at('core', 'dgx-1/gpu1', 34)],
          rejected: [{ item: 'rust', slot: 'dgx-1/gpu1', reason: 'NotEnoughMemory', shortByBytes: 11 * gib }],
        },
        rollout,
      },
    },
    expertscales: {
      body: {
        apiVersion,
        kind: 'ExpertScale',
        metadata: { name: 'coding-search' },
        spec: { poolRef: { name: 'coding' }, expert: 'search', replicas: 3 },
      },
      status: { observedGeneration: 1, granted: 2, replicas: 2, ready: 1, selector: 'agentfleet.dev/expert=search' },
    },
    energymodels: {
      body: {
        apiVersion,
        kind: 'EnergyModel',
        metadata: { name: 'judge' },
        spec: {
          artifact: { uri: 'builtin://features-v3' },
          gates: { auc: '0.8', ece: '0.05', minSamples: 150 },
          resources: { replicas: 2 },
        },
      },
      status: {
        observedGeneration: 1,
        conditions: [ready],
        ready: 2,
        arms: [{ endpoint: 'http://judge:7080', thresholdsInForce: { vetoBelowProbability: '0.1', warnBelowProbability: '0.25' } }],
        calibration: {
          digest: sha,
          heads: [
            { name: 'Code', auc: '0.91', ece: '0.021' },
            { name: 'Shell', auc: '0.88', ece: '0.034' },
          ],
          fittedAt: minutes(4000),
        },
        plan: { mode: 'DRA', assignments: [at('judge', 'dgx-1/gpu1', 2)] },
      },
    },
  };
}
