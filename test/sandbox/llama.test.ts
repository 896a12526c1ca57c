import { expect, inject, test } from 'vitest';
import type { InferenceInfo, PriorRequest, PriorResponse } from '@agentfleet/protocol/inference';
import { sandboxUid } from '@agentfleet/operator/sandbox';
import { portForward } from '../../hack/sandbox/index.ts';
import { example } from '../../inference-image/src/engines/llama/propose.ts';
import { inferenceAccess, inferenceBearer, useNamespace } from './harness.ts';

const bench = useNamespace('llama');
const image = inject('environment').images['inference-llama'];
const port = 7080;

const pod = () => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'llama', namespace: bench.namespace },
  spec: {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    securityContext: { runAsNonRoot: true, runAsUser: sandboxUid, seccompProfile: { type: 'RuntimeDefault' } },
    volumes: inferenceAccess(bench).volumes,
    containers: [
      {
        name: 'inference',
        image,
        imagePullPolicy: 'IfNotPresent',
        env: [{ name: 'AGENTFLEET_ENGINE', value: 'Llama' }, { name: 'AGENTFLEET_THREADS', value: '1' }, ...inferenceAccess(bench).env],
        volumeMounts: inferenceAccess(bench).volumeMounts,
        readinessProbe: { httpGet: { path: '/readyz', port }, periodSeconds: 1 },
        resources: { requests: { cpu: '200m', memory: '512Mi' }, limits: { memory: '1Gi' } },
        securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
      },
    ],
  },
});

test.skipIf(image === undefined)(
  'a language model orders candidates from a restricted, read-only pod (skipped where the image inference-llama cannot be built)',
  async () => {
    await bench.kubectl.apply(pod());
    await bench.kubectl.waitReady(bench.namespace, 'llama', 120);
    const forward = await portForward(bench.kubectl, bench.namespace, 'llama', port);
    try {
      const caller = await inferenceBearer(bench);
      const info = (await (await fetch(`${forward.url}/v1/info`, { headers: caller })).json()) as InferenceInfo;
      expect(info).toMatchObject({ engine: 'Llama', learned: true });
      expect(info.capabilities).toEqual(expect.arrayContaining(['Generate', 'Prior']));
      const body: PriorRequest = { ...example, requestId: 'pod' };
      const answer = await fetch(`${forward.url}/v1/prior`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...caller },
        body: JSON.stringify(body),
      });
      expect(answer.status).toBe(200);
      const { scores, modelDigest } = (await answer.json()) as PriorResponse;
      expect(modelDigest).toBe(info.modelDigest);
      const [sum, power] = scores.map(({ gainNats }) => gainNats ?? NaN);
      expect(sum).toBeGreaterThan(power ?? NaN);
    } finally {
      await forward.close();
    }
  },
);
