import { expect, inject, test } from 'vitest';
import { sandboxUid } from '@agentfleet/operator/sandbox';
import { portForward } from '../../hack/sandbox/index.ts';
import { useNamespace } from './harness.ts';

const bench = useNamespace('infer');

test('the inference image serves a real answer from a restricted, read-only pod', async () => {
  const port = 7080;
  await bench.kubectl.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'inference', namespace: bench.namespace },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      securityContext: { runAsNonRoot: true, runAsUser: sandboxUid, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'inference',
          image: inject('ground').images['inference'],
          imagePullPolicy: 'IfNotPresent',
          env: [{ name: 'AGENTFLEET_ENGINE', value: 'Synth' }],
          readinessProbe: { httpGet: { path: '/readyz', port }, periodSeconds: 1 },
          resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } },
          securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  });
  await bench.kubectl.waitReady(bench.namespace, 'inference', 60);
  const forward = await portForward(bench.kubectl, bench.namespace, 'inference', port);
  try {
    const info = (await (await fetch(`${forward.url}/v1/info`)).json()) as { engine: string; modelDigest: string };
    expect(info.engine).toBe('Synth');
    expect(info.modelDigest).toMatch(/^sha256:/);
  } finally {
    await forward.close();
  }
});
