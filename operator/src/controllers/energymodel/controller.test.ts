import { findCondition } from '@agentfleet/kube';
import { conditionFaults } from '@agentfleet/kube/testing';
import type { Condition } from '@agentfleet/protocol/api';
import { briefKey, labels, type PoolBrief } from '@agentfleet/protocol/pool';
import { describe, expect, it } from 'vitest';
import { resources } from '../../runtime/resources.ts';
import { newPool } from '../agenttask/testing/objects.ts';
import { Bed } from '../expertpool/testing/bed.ts';
import { newModel } from './testing/models.ts';

const digest = `sha256:${'c'.repeat(64)}`;
const own = { [labels.component]: 'verifier', [labels.model]: 'judge' };

const conditionOf = (bed: Bed, type: string): Condition | undefined => {
  expect(conditionFaults(bed.model())).toEqual([]);
  return findCondition(bed.model().status?.conditions, type);
};

const degraded = (bed: Bed): string | undefined => findCondition(bed.pool().status?.conditions, 'Degraded')?.reason;

function briefOf(bed: Bed): PoolBrief | undefined {
  const map = bed.server.objects(resources.configMaps).find(({ metadata }) => metadata.name === 'coding-workers');
  return map === undefined ? undefined : (JSON.parse(map.data?.[briefKey] ?? '') as PoolBrief);
}

/** A model that has a status, and pods that report their digest. */
async function withModel(spec: Readonly<Record<string, unknown>> = {}): Promise<Bed> {
  const bed = await Bed.start();
  bed.ask = () => Promise.resolve({ modelDigest: `sha256:${'f'.repeat(64)}`, shadow: null, about: { artifactDigest: digest } });
  await bed.create(resources.energyModels, newModel(spec));
  void bed.startOperator().catch(() => {});
  await bed.until('there is a status', () => bed.model().status?.conditions !== undefined);
  return bed;
}

async function ready(bed: Bed): Promise<void> {
  await bed.addServer('judge-verifier-1', own, '10.0.0.7');
  await bed.rollOut('judge-verifier', 1);
  await bed.until(
    'the model is ready',
    () => conditionOf(bed, 'Ready')?.status === 'True' && bed.model().status?.arms?.[0]?.digest === digest,
  );
}

describe('the controller of EnergyModels', () => {
  it('makes what a model consists of, becomes ready with it, and then writes nothing', async () => {
    await using bed = await withModel();
    for (const resource of [resources.deployments, resources.services, resources.networkPolicies])
      expect(bed.server.objects(resource).map(({ metadata }) => metadata.name)).toEqual(['judge-verifier']);
    expect(bed.model().status).toMatchObject({ ready: 0, arms: [{ endpoint: 'http://judge-verifier.platform.svc:7080' }] });
    await ready(bed);
    expect(bed.model().status).toMatchObject({ ready: 1, observedGeneration: 1 });
    await bed.quiet();
    const before = bed.writes.length;
    // Something that it looks at changes, and nothing that it reports.
    const path = '/api/v1/namespaces/platform/pods/judge-verifier-1';
    const body = { metadata: { annotations: { note: 'x' } } };
    await bed.transport.request({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json' });
    await bed.quiet();
    expect(bed.writes.slice(before)).toEqual([]);
  });

  it('writes only the status when nothing but thresholds change', async () => {
    await using bed = await withModel();
    await ready(bed);
    await bed.quiet();
    const before = bed.writes.length;
    const path = '/apis/agentfleet.dev/v1alpha1/namespaces/platform/energymodels/judge';
    const body = { spec: { thresholds: { vetoBelowProbability: '0.2' } } };
    await bed.transport.request({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json' });
    await bed.until('they are in force', () => bed.model().status?.arms?.[0]?.thresholdsInForce.vetoBelowProbability === '0.2');
    await bed.quiet();
    expect(bed.writes.slice(before).map(({ resource }) => resource)).toEqual(['energymodels.agentfleet.dev']);
  });

  it('brings back what was deleted', async () => {
    await using bed = await withModel();
    await bed.quiet();
    await bed.transport.request({ method: 'DELETE', path: '/api/v1/namespaces/platform/services/judge-verifier' });
    await bed.until('it is back', () => bed.server.objects(resources.services).length === 1);
  });

  it('reports which artifacts there are', async () => {
    await using bed = await withModel({ artifact: { uri: 'builtin://features-v9' } });
    expect(conditionOf(bed, 'Stalled')).toMatchObject({ status: 'True', reason: 'ArtifactUnknown' });
    expect(conditionOf(bed, 'Ready')?.message).toContain('builtin://features-v1');
    expect(bed.server.objects(resources.deployments)).toEqual([]);
  });

  it('wakes the pools that name it: their brief has its address at once, and Degraded goes when it answers', async () => {
    await using bed = await withModel();
    await bed.create(resources.expertPools, newPool({ energyModelRef: { name: 'judge' } }));
    await bed.until('the pool knows it', () => degraded(bed) === 'EnergyModelNotReady');
    expect(briefOf(bed)?.verifier).toMatchObject({ name: 'judge', url: 'http://judge-verifier.platform.svc:7080', batchMax: 16 });
    await ready(bed);
    await bed.until('the pool sees it', () => degraded(bed) === undefined);
    await bed.transport.request({ method: 'DELETE', path: '/apis/agentfleet.dev/v1alpha1/namespaces/platform/energymodels/judge' });
    await bed.until('the pool misses it', () => degraded(bed) === 'EnergyModelNotFound');
    await bed.until('the brief forgets it', () => briefOf(bed)?.verifier === null);
  });

  it('touches nothing of another owner', async () => {
    await using bed = await Bed.start();
    await bed.create(resources.expertPools, newPool());
    const { apiVersion, kind, metadata } = bed.pool();
    const ownerReferences = [{ apiVersion, kind, name: 'coding', uid: metadata.uid!, controller: true }];
    await bed.create(resources.services, {
      metadata: { name: 'judge-verifier', namespace: 'platform', labels: { [labels.component]: 'expert' }, ownerReferences },
    });
    await bed.create(resources.energyModels, newModel());
    void bed.startOperator().catch(() => {});
    await bed.until('it is said', () => bed.model().status !== undefined && conditionOf(bed, 'Stalled')?.reason === 'NameTaken');
    expect(bed.server.objects(resources.deployments).map(({ metadata }) => metadata.name)).not.toContain('judge-verifier');
  });
});
