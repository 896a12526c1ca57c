// A policy of rollouts and the status of one, which show every field of both.
import type { Node } from './fields.ts';

const apiVersion = 'agentfleet.dev/v1alpha1';

/** A policy with every field and every metric. */
export const fullPolicy: Node = {
  apiVersion,
  kind: 'RolloutPolicy',
  metadata: { name: 'full' },
  spec: {
    strategy: 'ShadowThenCanary',
    shadow: { percent: 20, seconds: 1800, minSamples: 200 },
    steps: [
      { weight: 1, minSamples: 0, pauseSeconds: 300 },
      { weight: 50, minSamples: 500, pauseSeconds: 60 },
    ],
    gates: [
      { name: 'loss', metric: 'TaskLoss', atMost: '0.03' },
      { name: 'errors', metric: 'ErrorRate', atMost: '0.01', minSamples: 200 },
      { name: 'undone', metric: 'RollbackSuccess', atLeast: '0.99', minSamples: 50 },
      { name: 'golden', metric: 'GoldenLoss', templateRef: { name: 'golden' }, atMost: '0.01', minSamples: 50 },
      { name: 'gpu', metric: 'Query', query: 'max(up)', atLeast: '1', atMost: '2' },
      { name: 'kappa', metric: 'Agreement' },
    ],
    minSamples: 3000,
    attributionWindowSeconds: 7200,
    drainSeconds: 120,
    rollback: { freezeAfterFailures: 2 },
    promotion: { requireApproval: true, windows: [{ days: ['Mon', 'Tue'], start: '09:00', seconds: 3600 }] },
    prometheus: { url: 'http://prometheus.monitoring.svc:9090' },
  },
};

export const fullRolloutStatus: Node = {
  phase: 'Canary',
  id: 'bbbbbbbbbb-t1',
  stable: 'aaaaaaaaaa',
  canary: 'bbbbbbbbbb',
  weight: 50,
  step: 1,
  since: '2026-01-01T00:00:00Z',
  samplesBefore: 10,
  samples: 40,
  lastGreen: ['cccccccccc'],
  failures: { bbbbbbbbbb: 1 },
  gates: [{ name: 'pass', verdict: 'Inconclusive', value: '0.9', baseline: '0.91', samples: 40, look: 0, message: 'look 1 of 5' }],
  retried: 'once',
};
