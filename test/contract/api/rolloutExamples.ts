// A rollout and its status, which show every field of both.
import type { Node } from './fields.ts';

/** A rollout with every field and every kind of gate that a pool may have. */
export const fullRollout: Node = {
  strategy: 'ShadowThenCanary',
  shadow: { percent: 20, seconds: 1800, minSamples: 200, maxInFlight: 4 },
  steps: [
    { weight: 1, minSamples: 0, pauseSeconds: 300 },
    { weight: 50, minSamples: 500, pauseSeconds: 60 },
  ],
  gates: [
    { name: 'pass', type: 'TaskPass', taskPass: { margin: '0.03', alpha: '0.01', beta: '0.05', baseRate: '0.9' } },
    { name: 'errors', type: 'ErrorRate', errorRate: { max: '0.01', minSamples: 200 } },
    { name: 'p95', type: 'Latency', latency: { quantile: '0.95', maxRatio: '1.2', minSamples: 200 } },
    { name: 'energy', type: 'EnergyShift', energyShift: { maxDistance: '0.1', alpha: '0.01', minSamples: 200 } },
    { name: 'vetoes', type: 'VetoRate', vetoRate: { maxRatio: '1.1', minSamples: 200 } },
    { name: 'draft', type: 'DraftAcceptance', draftAcceptance: { min: '0.55', minSamples: 1000 } },
    { name: 'undone', type: 'RollbackSuccess', rollbackSuccess: { min: '0.99', minSamples: 50 } },
    {
      name: 'golden',
      type: 'GoldenSet',
      goldenSet: { templateRef: { name: 'golden' }, maxLoss: '0.01', minSamples: 50, timeoutSeconds: 3600 },
    },
    { name: 'gpu', type: 'Query', query: { query: 'max(up)', min: '1', max: '2', failureLimit: 2 } },
  ],
  minSamples: 3000,
  attributionWindowSeconds: 7200,
  onMissingData: 'Abort',
  stepTimeoutSeconds: 86_400,
  drainSeconds: 120,
  surge: 'Auto',
  canarySlot: 'dgx-1/gpu2',
  rollback: { cooldownSeconds: 3600, keepLastGreen: 2, freezeAfterFailures: 2 },
  promotion: { requireApproval: true, windows: [{ days: ['Mon', 'Tue'], start: '09:00', seconds: 3600 }] },
  prometheus: { url: 'http://prometheus.monitoring.svc:9090', timeoutSeconds: 5 },
};

/** The same with the gates that a model may have. */
export const fullModelRollout: Node = {
  ...fullRollout,
  gates: [
    ...(fullRollout['gates'] as readonly Node[]).filter(({ type }) => type !== 'DraftAcceptance'),
    { name: 'auc', type: 'AUC', auc: { min: '0.8', maxLoss: '0.004', minSamples: 150 } },
    { name: 'ece', type: 'ECE', ece: { max: '0.05', maxGain: '0.02', minSamples: 150 } },
    { name: 'kappa', type: 'Agreement', agreement: { minKappa: '0.85', minSamples: 200 } },
    { name: 'false-vetoes', type: 'FalseVeto', falseVeto: { max: '0.02', minSamples: 200 } },
    { name: 'brier', type: 'Brier', brier: { maxRatio: '1.02', minSamples: 100 } },
    { name: 'map', type: 'CalibrationMap', calibrationMap: { minSamples: 1000, minDistance: '0.005' } },
    { name: 'drift', type: 'ScoreDrift', scoreDrift: { max: '0.2', minSamples: 500 } },
    { name: 'missed', type: 'MissedVeto', missedVeto: { margin: '0.02', minSamples: 200 } },
  ],
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
  failures: [{ revision: 'bbbbbbbbbb', count: 1 }],
  gates: [{ name: 'pass', verdict: 'Inconclusive', value: '0.9', baseline: '0.91', samples: 40, look: 0, message: 'look 1 of 5' }],
  retried: 'once',
  reason: 'Canary',
  message: '50 % of tasks, step 2 of 2',
};
