// test, contract/api: full example of an EnergyModel and its status. May import any package.
import { condition, fullSandbox } from './taskExamples.ts';
import type { Node } from './fields.ts';
import { fullPlan } from './planExample.ts';
import { fullRolloutStatus } from './rolloutExamples.ts';

const apiVersion = 'agentfleet.dev/v1alpha1';
const sha = `sha256:${'ab'.repeat(32)}`;

/** A verifier with every field. */
export const fullModel: Node = {
  apiVersion,
  kind: 'EnergyModel',
  metadata: { name: 'full' },
  spec: {
    artifact: { uri: 'builtin://features-v1', digest: sha },
    lambda: '0.8',
    heads: [{ name: 'Code', lambda: '0.5' }],
    resources: { replicas: 2, container: fullSandbox['resources'], slot: 'dgx-1/gpu0', memory: { budget: '9Gi' } },
    thresholds: { source: 'Calibration', vetoBelowProbability: '0.1', warnBelowProbability: '0.2', whenUnavailable: 'Degrade' },
    calibration: { maxAgeSeconds: 86_400 },
    gates: { auc: '0.8', ece: '0.05', minSamples: 150 },
    rolloutPolicyRef: { name: 'full' },
  },
};

export const fullModelStatus: Node = {
  observedGeneration: 1,
  conditions: [condition],
  ready: 2,
  plan: fullPlan,
  calibration: { heads: [{ name: 'Shell', auc: '0.9', ece: '0.02' }], fittedAt: '2030-01-01T00:00:00Z' },
  arms: [
    {
      revision: 'aaaaaaaaaa',
      endpoint: 'http://full-verifier-aaaaaaaaaa.platform.svc:7080',
      digest: sha,
      thresholdsInForce: {
        vetoBelowProbability: '0.1',
        warnBelowProbability: '0.2',
        heads: [{ name: 'Shell', vetoBelowProbability: '0.2', warnBelowProbability: '0.5' }],
      },
      calibration: { digest: sha, until: '2031-01-01T00:00:00Z' },
    },
    {
      revision: 'bbbbbbbbbb',
      endpoint: 'http://full-verifier-bbbbbbbbbb.platform.svc:7080',
      thresholdsInForce: { vetoBelowProbability: '0.1', warnBelowProbability: '0.2' },
      calibration: { abstains: 'NotReported' },
    },
  ],
  rollout: fullRolloutStatus,
};
