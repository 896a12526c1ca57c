import type { KubeObject } from '@agentfleet/kube';
import { describe, expect, it } from 'vitest';
import { resources } from '../../runtime/resources.ts';
import { newPool } from '../agenttask/testing/objects.ts';
import type { Child } from './children.ts';
import { decidePool } from './decide.ts';
import type { Manifest } from '../../operands/manifest.ts';
import { newSnapshot } from './testing/snapshots.ts';

const names = (manifests: readonly Manifest[]): string[] => manifests.map(({ object }) => `${object.kind} ${object.metadata.name}`);

function find(manifests: readonly Manifest[], name: string): string {
  return JSON.stringify(manifests.find(({ object }) => `${object.kind} ${object.metadata.name}` === name)?.object);
}

const storage = { uri: 's3://agents', endpoint: 'https://s3.example.com' };
const replaying = [{ name: 'gen', role: 'Generalist', engine: { type: 'Replay', replay: { configMap: { name: 'tape' } } } }];

function service(name: string, uid: string, namespace = 'platform'): Child {
  const owner = { apiVersion: 'agentfleet.dev/v1alpha1', kind: 'ExpertPool', name: 'other', uid, controller: true };
  const object: KubeObject = { metadata: { name, namespace, ownerReferences: [owner] } };
  return { resource: resources.services, object };
}

describe('what a pool consists of', () => {
  it('is made in the order in which its parts need each other', () => {
    const { apply, remove, obstacles } = decidePool(newSnapshot(newPool({ workers: { replicas: 2, concurrency: 8 } })));
    expect(names(apply)).toEqual([
      'ServiceAccount coding-worker',
      'Role coding-worker',
      'RoleBinding coding-worker',
      'ConfigMap coding-token-keys',
      'ConfigMap coding-workers',
      'PersistentVolumeClaim coding-artifacts',
      'NetworkPolicy coding-experts',
      'NetworkPolicy coding-workers',
      'Service coding-expert-gen',
      'Deployment coding-expert-gen',
      'PodDisruptionBudget coding-workers',
      'Deployment coding-workers',
    ]);
    expect([remove, obstacles]).toEqual([[], []]);
  });

  it('is owned by the pool, apart from the volume with the artifacts', () => {
    const { apply } = decidePool(newSnapshot(newPool({ workers: { replicas: 2 } })));
    const free = apply.filter(({ object }) => object.metadata.ownerReferences?.[0]?.uid !== 'uid-pool');
    expect(names(free)).toEqual(['PersistentVolumeClaim coding-artifacts']);
    expect(apply.every(({ object }) => object.metadata.namespace === 'platform')).toBe(true);
  });

  it('has no volume with object storage, and no budget for a single worker', () => {
    const { apply } = decidePool(newSnapshot(newPool({ storage })));
    expect(names(apply).join()).not.toMatch(/PersistentVolumeClaim|PodDisruptionBudget/);
    expect(find(apply, 'Deployment coding-workers')).not.toContain('persistentVolumeClaim');
    expect(find(apply, 'Deployment coding-workers')).toContain('topologySpreadConstraints');
  });

  it('holds no empty list that the API server would drop, so that each apply would be a change', () => {
    const { apply } = decidePool(newSnapshot(newPool({ workers: { replicas: 2 } })));
    for (const { object, resource } of apply) {
      if (resource !== resources.configMaps) expect(JSON.stringify(object), object.kind).not.toMatch(/\[\]/);
    }
  });

  it('meets Pod Security restricted in every pod', () => {
    const { apply } = decidePool(newSnapshot(newPool({ storage })));
    const pods = apply.filter(({ resource }) => resource === resources.deployments).map(({ object }) => JSON.stringify(object));
    expect(pods).toHaveLength(2);
    for (const pod of pods) {
      expect(pod).toContain('"allowPrivilegeEscalation":false');
      expect(pod).toContain('"capabilities":{"drop":["ALL"]}');
      expect(pod).toContain('"seccompProfile":{"type":"RuntimeDefault"}');
      expect(pod).toContain('"runAsNonRoot":true');
      expect(pod).not.toMatch(/hostPath|hostNetwork|privileged/);
    }
  });

  it('does not replace workers when a namespace comes', () => {
    const [a, b] = [[], ['team']].map((namespaces) => decidePool(newSnapshot(newPool(), { namespaces })).apply);
    expect(find(a ?? [], 'Deployment coding-workers')).toBe(find(b ?? [], 'Deployment coding-workers'));
    expect(find(a ?? [], 'ConfigMap coding-workers')).not.toBe(find(b ?? [], 'ConfigMap coding-workers'));
  });

  it('gives a credential to the workers as a file and to no one else', () => {
    const credentials = [{ name: 's3', secretRef: { name: 'pairs', key: 'pair' }, hosts: ['s3.example.com'] }];
    const { apply } = decidePool(newSnapshot(newPool({ credentials, storage: { ...storage, credential: 's3' } })));
    expect(find(apply, 'Deployment coding-workers')).toContain('{"name":"pairs","items":[{"key":"pair","path":"s3"}]}');
    expect(find(apply, 'Deployment coding-expert-gen')).not.toContain('pairs');
    expect(find(apply, 'ConfigMap coding-workers')).toContain('/etc/agentfleet/credentials/s3');
  });

  it('loses what it does not name any more, and leaves what others own alone', () => {
    const children = [
      service('coding-expert-old', 'uid-pool'),
      service('other-expert-gen', 'uid-other'),
      service('coding-expert-x', 'uid-pool', 'elsewhere'),
    ];
    expect(decidePool(newSnapshot(newPool(), { children })).remove).toEqual([children[0]]);
  });

  it('is not made where a name belongs to another owner', () => {
    const decision = decidePool(newSnapshot(newPool(), { children: [service('coding-expert-gen', 'uid-other')] }));
    expect(decision.apply).toEqual([]);
    expect(decision.obstacles).toMatchObject([{ reason: 'NameTaken' }]);
    expect(decision.obstacles[0]?.message).toContain('services platform/coding-expert-gen belongs to ExpertPool other');
  });

  it('waits for a recording that is missing, and keeps the pods that still have one', () => {
    const replays = new Map([['tape', { reason: 'ReplayNotFound' as const, message: 'there is no ConfigMap tape' }]]);
    const present: Child = { ...service('coding-expert-gen', 'uid-pool'), resource: resources.deployments };
    const decision = decidePool(newSnapshot(newPool({ experts: replaying }), { replays, children: [present] }));
    expect(names(decision.apply)).not.toContain('Deployment coding-expert-gen');
    expect(decision.remove).toEqual([]);
    expect(decision.obstacles).toEqual([{ reason: 'ReplayNotFound', message: 'there is no ConfigMap tape', expert: 'gen' }]);
  });

  it('replaces the pods that replay when the recording changes', () => {
    const rendered = ['a', 'b', 'a'].map((hash) => {
      const { apply } = decidePool(newSnapshot(newPool({ experts: replaying }), { replays: new Map([['tape', { hash }]]) }));
      return find(apply, 'Deployment coding-expert-gen');
    });
    expect(rendered[0]).toBe(rendered[2]);
    expect(rendered[0]).not.toBe(rendered[1]);
  });

  describe('with a language model', () => {
    const experts = [...newPool().spec.experts, { name: 'prior', role: 'Draft', engine: { type: 'Llama', llama: {} } }];
    const images = { agent: 'agent:1', inference: 'inference:1', sandbox: 'sandbox:1', tools: 'tools:1' };

    it('reports what to set without its image, and neither makes pods of it nor sends workers there', () => {
      const { apply, obstacles } = decidePool(newSnapshot(newPool({ experts }), { images }));
      expect(names(apply)).toContain('Service coding-expert-prior');
      expect(names(apply)).not.toContain('Deployment coding-expert-prior');
      expect(find(apply, 'ConfigMap coding-workers')).not.toContain('coding-expert-prior');
      const message = 'the engine Llama has no image; set the chart value images.inferenceLlama, or remove the expert';
      expect(obstacles).toEqual([{ reason: 'ImageNotSet', message, expert: 'prior' }]);
    });

    it('loses pods that are not asked for, and keeps those that had an image', () => {
      const present: Child = { ...service('coding-expert-prior', 'uid-pool'), resource: resources.deployments };
      const removed = (replicas: number): readonly Child[] =>
        decidePool(newSnapshot(newPool({ experts: experts.map((expert) => ({ ...expert, replicas })) }), { images, children: [present] }))
          .remove;
      expect(removed(1)).toEqual([]);
      expect(removed(0)).toEqual([present]);
    });

    it('runs its image when there is one', () => {
      const { apply, obstacles } = decidePool(newSnapshot(newPool({ experts }), { images: { ...images, inferenceLlama: 'llama:1' } }));
      expect(find(apply, 'Deployment coding-expert-prior')).toContain('"image":"llama:1"');
      expect(find(apply, 'ConfigMap coding-workers')).toContain('coding-expert-prior');
      expect(obstacles).toEqual([]);
    });
  });

  it('is the same for the same snapshot', () => {
    const snapshot = newSnapshot(newPool());
    expect(decidePool(snapshot)).toEqual(decidePool(structuredClone(snapshot)));
  });
});
