import type { KubeObject } from '@agentfleet/kube';
import { describe, expect, it } from 'vitest';
import { resources } from '../../runtime/resources.ts';
import type { Child } from '../expertpool/children.ts';
import type { Manifest } from '../../operands/manifest.ts';
import { decideModel } from './decide.ts';
import { newModelSnapshot } from './testing/models.ts';

const names = (manifests: readonly Manifest[]): string[] => manifests.map(({ object }) => `${object.kind} ${object.metadata.name}`);

function child(resource: Child['resource'], name: string, owner: object): Child {
  const ownerReference = { apiVersion: 'agentfleet.dev/v1alpha1', name: 'other', controller: true, ...owner };
  return { resource, object: { metadata: { name, namespace: 'platform', ownerReferences: [ownerReference] } } as unknown as KubeObject };
}

const text = (manifests: readonly Manifest[], kind: string): string =>
  JSON.stringify(manifests.find(({ object }) => object.kind === kind)?.object);

const environment = (spec: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> => {
  const { apply } = decideModel(newModelSnapshot(spec));
  const deployment = apply.find(({ resource }) => resource === resources.deployments)?.object as unknown as {
    spec: { template: { spec: { containers: [{ env: { name: string; value: string }[] }] } } };
  };
  return Object.fromEntries(deployment.spec.template.spec.containers[0].env.map(({ name, value }) => [name, value]));
};

describe('what a model consists of', () => {
  it('is a wall, an address and pods, all owned by the model', () => {
    const { apply, remove, obstacles } = decideModel(newModelSnapshot());
    expect(names(apply)).toEqual([
      'NetworkPolicy judge-verifier',
      'ConfigMap judge-verifier-token-keys',
      'Service judge-verifier',
      'Deployment judge-verifier',
    ]);
    for (const { object } of apply) {
      expect(object.metadata.ownerReferences).toMatchObject([{ kind: 'EnergyModel', uid: 'uid-model', controller: true }]);
      expect(object.metadata.labels).toEqual({ 'agentfleet.dev/component': 'verifier', 'agentfleet.dev/energy-model': 'judge' });
      expect(JSON.stringify({ ...object, data: undefined })).not.toMatch(/\[\]/);
    }
    expect([remove, obstacles]).toEqual([[], []]);
  });

  it('has no more pods on its GPU than the plan has memory for', () => {
    const budget = '5Gi';
    const onGpu = (replicas: number, bytes: number): readonly string[] => {
      const snapshot = newModelSnapshot({ resources: { replicas, slot: 'dgx-1/gpu0', memory: { budget } } });
      const assignments = [{ item: 'judge', slot: 'dgx-1/gpu0', uuid: 'GPU-0', bytes, admitted: true }];
      const model = { ...snapshot.model, status: { plan: { mode: 'DRA' as const, assignments } } };
      return names(decideModel({ ...snapshot, model }).apply);
    };
    expect(onGpu(1, 5 * 2 ** 30)).toContain('Deployment judge-verifier');
    expect(onGpu(2, 5 * 2 ** 30)).not.toContain('Deployment judge-verifier');
  });

  it('passes the server its artifact and the weights of all heads', () => {
    expect(environment({})).toMatchObject({
      AGENTFLEET_ENGINE: 'Builtin',
      AGENTFLEET_ROLES: 'Verifier',
      AGENTFLEET_ARTIFACT: 'features-v1',
      AGENTFLEET_LAMBDA: '1.0',
      AGENTFLEET_HEADS: 'Code=0.7,Shell=1.2,Editor=0.6',
    });
    const digest = `sha256:${'0'.repeat(64)}`;
    const artifact = { uri: 'builtin://features-v1', digest };
    expect(environment({ artifact, lambda: '0.5', heads: [{ name: 'Shell', lambda: '2.0' }] })).toMatchObject({
      AGENTFLEET_ARTIFACT_DIGEST: digest,
      AGENTFLEET_LAMBDA: '0.5',
      AGENTFLEET_HEADS: 'Code=0.7,Shell=2.0,Editor=0.6',
    });
  });

  it('accepts the workers and golden sets of its namespace and the operator, and connects to none', () => {
    const wall = decideModel(newModelSnapshot()).apply[0]?.object;
    expect(wall).toMatchObject({
      spec: {
        podSelector: { matchLabels: { 'agentfleet.dev/component': 'verifier', 'agentfleet.dev/energy-model': 'judge' } },
        policyTypes: ['Ingress', 'Egress'],
        ingress: [
          {
            from: [
              { podSelector: { matchLabels: { 'agentfleet.dev/component': 'worker' } } },
              {
                namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'agentfleet-system' } },
                podSelector: {
                  matchLabels: { 'app.kubernetes.io/name': 'agentfleet', 'app.kubernetes.io/component': 'operator' },
                },
              },
            ],
            ports: [{ protocol: 'TCP', port: 7080 }],
          },
          {
            from: [{ podSelector: { matchLabels: { 'agentfleet.dev/component': 'golden' } } }],
            ports: [{ protocol: 'TCP', port: 7080 }],
          },
        ],
      },
    });
    expect(wall?.['spec']).not.toHaveProperty('egress');
  });

  it('meets Pod Security restricted, with the resources of the spec', () => {
    const container = { requests: { cpu: '1' }, limits: { memory: '1Gi' } };
    const pod = text(decideModel(newModelSnapshot({ resources: { replicas: 3, container } })).apply, 'Deployment');
    for (const part of [
      '"replicas":3',
      '"requests":{"cpu":"1"}',
      '"runAsNonRoot":true',
      '"capabilities":{"drop":["ALL"]}',
      '"allowPrivilegeEscalation":false',
      '"automountServiceAccountToken":false',
    ])
      expect(pod).toContain(part);
  });

  it('names the artifacts that there are, and leaves pods of another one alone', () => {
    const present = child(resources.deployments, 'judge-verifier', { kind: 'EnergyModel', uid: 'uid-model' });
    const { apply, remove, obstacles } = decideModel(
      newModelSnapshot({ artifact: { uri: 'builtin://features-v9' } }, { children: [present] }),
    );
    expect(names(apply)).toEqual(['NetworkPolicy judge-verifier', 'ConfigMap judge-verifier-token-keys', 'Service judge-verifier']);
    expect(remove).toEqual([]);
    const message =
      'there is no artifact builtin://features-v9; set spec.artifact.uri to one of builtin://features-v3, builtin://features-v2, builtin://features-v1';
    expect(obstacles).toEqual([{ reason: 'ArtifactUnknown', message }]);
  });

  it('is not made where a name belongs to another owner', () => {
    const present = child(resources.services, 'judge-verifier', { kind: 'ExpertPool', uid: 'uid-pool' });
    const { apply, obstacles } = decideModel(newModelSnapshot({}, { children: [present] }));
    expect(apply).toEqual([]);
    expect(obstacles).toEqual([
      { reason: 'NameTaken', message: 'services platform/judge-verifier belongs to ExpertPool other; rename the model' },
    ]);
  });

  it('is the same for the same snapshot', () => {
    const snapshot = newModelSnapshot();
    expect(decideModel(snapshot)).toEqual(decideModel(structuredClone(snapshot)));
  });
});
