import { expect, inject, test } from 'vitest';
import type { InferenceInfo } from '@agentfleet/protocol/inference';
import { sandboxUid } from '@agentfleet/operator/sandbox';
import { portForward } from '../../hack/sandbox/index.ts';
import { inferenceAccess, inferenceBearer, useNamespace } from './harness.ts';

const bench = useNamespace('infer');
const port = 7080;

/** A pod of the inference image, as restricted as pods of a pool are. */
function podOf(name: string, env: Readonly<Record<string, string>>, memory: string): object {
  const access = inferenceAccess(bench);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: bench.namespace },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      securityContext: { runAsNonRoot: true, runAsUser: sandboxUid, seccompProfile: { type: 'RuntimeDefault' } },
      volumes: access.volumes,
      containers: [
        {
          name: 'inference',
          image: inject('environment').images['inference'],
          imagePullPolicy: 'IfNotPresent',
          env: [...Object.entries(env).map(([name, value]) => ({ name, value })), ...access.env],
          volumeMounts: access.volumeMounts,
          readinessProbe: { httpGet: { path: '/readyz', port }, periodSeconds: 1, timeoutSeconds: 5 },
          resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory } },
          securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  };
}

const acts = [
  { id: 'tests', tool: 'Shell', subject: 'python3 -m unittest discover -s tests', rails: [] },
  { id: 'wipes', tool: 'Shell', subject: 'rm -rf / --no-preserve-root', rails: [] },
];
const items = [0, 5].map((testsBroken) => ({
  id: `breaks${testsBroken}`,
  head: 'Code',
  text: '-    return a - b\n+    return a + b',
  operator: 'arithmetic',
  features: { testsTotal: 9, testsFailed: testsBroken, testsBroken },
}));
const files = [{ path: 'add.py', content: 'def add(a, b):\n    return a - b\n' }];
const localisation = { spectrum: { passed: 0, failed: 1, lines: [{ path: 'add.py', line: 2, passed: 0, failed: 1 }] }, failingTests: [] };

test.each([
  {
    role: 'Generalist',
    engine: 'Synth',
    memory: '512Mi',
    route: 'generate',
    body: { role: 'Generalist', goal: 'Make it pass.', files, localisation, k: 4 },
    answer: { engine: 'Synth', candidates: expect.arrayContaining([expect.objectContaining({ rank: 1 })]) as unknown },
  },
  {
    role: 'Planner',
    engine: 'Builtin',
    memory: '256Mi',
    route: 'control',
    body: { experts: ['one', 'other'], steps: [] },
    answer: { tick: 0, experts: [{ name: 'one' }, { name: 'other' }] },
  },
  {
    role: 'Verifier',
    engine: 'Builtin',
    memory: '256Mi',
    route: 'score',
    body: { featureSet: 'features/v3', items },
    answer: { scores: [{ id: 'breaks0' }, { id: 'breaks5' }] },
  },
  {
    role: 'Embedder',
    engine: 'Builtin',
    memory: '512Mi',
    route: 'embed',
    body: { texts: ['The test fails.'] },
    answer: { dimensions: 512, vectors: [expect.arrayContaining([expect.any(Number)])] },
  },
  {
    role: 'Policy',
    engine: 'Builtin',
    memory: '256Mi',
    route: 'judge',
    body: { acts },
    answer: { verdicts: [{ id: 'tests' }, { id: 'wipes', label: 'Destructive', rule: 'DeletesEverything' }] },
  },
])('the inference image answers as $role from a restricted, read-only pod', async ({ role, engine, memory, route, body, answer }) => {
  const name = `as-${role.toLowerCase()}`;
  await bench.kubectl.apply(podOf(name, { AGENTFLEET_ENGINE: engine, AGENTFLEET_ROLES: role }, memory));
  await bench.kubectl.waitReady(bench.namespace, name, 60);
  const forward = await portForward(bench.kubectl, bench.namespace, name, port);
  try {
    const caller = await inferenceBearer(bench);
    expect((await fetch(`${forward.url}/v1/info`)).status).toBe(401);
    const info = (await (await fetch(`${forward.url}/v1/info`, { headers: caller })).json()) as InferenceInfo;
    expect(info).toMatchObject({ engine, roles: [role], capabilities: [`${route[0]?.toUpperCase()}${route.slice(1)}`] });
    const headers = { 'content-type': 'application/json', ...caller };
    const ask = { method: 'POST', headers, body: JSON.stringify({ requestId: 'r', ...body }) };
    const response = await fetch(`${forward.url}/v1/${route}`, ask);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ requestId: 'r', modelDigest: info.modelDigest, ...answer });
    const other = await fetch(`${forward.url}/v1/${route === 'score' ? 'judge' : 'score'}`, ask);
    expect(other.status).toBe(404);
    expect(await other.json()).toMatchObject({ error: { code: 'AF_CAPABILITY_UNSUPPORTED' } });
  } finally {
    await forward.close();
  }
});
