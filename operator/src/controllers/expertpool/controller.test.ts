import { events, findCondition, ResourceClient, type KubeObject, type Resource } from '@agentfleet/kube';
import { conditionFaults } from '@agentfleet/kube/testing';
import type { Condition } from '@agentfleet/protocol/api';
import { briefKey, type PoolBrief } from '@agentfleet/protocol/pool';
import { describe, expect, it } from 'vitest';
import { resources } from '../../runtime/resources.ts';
import { newPool, newTask } from '../agenttask/testing/objects.ts';
import { Bed } from './testing/bed.ts';

const names = (bed: Bed, resource: Resource): string[] =>
  bed.server.objects(resource).map(({ metadata }: KubeObject) => `${metadata.namespace ?? ''}/${metadata.name}`);

const conditionOf = (bed: Bed, type: string): Condition | undefined => {
  expect(conditionFaults(bed.pool())).toEqual([]);
  return findCondition(bed.pool().status?.conditions, type);
};

function briefOf(bed: Bed): PoolBrief | undefined {
  const map = bed.server.objects(resources.configMaps).find(({ metadata }) => metadata.name === 'coding-workers');
  return map === undefined ? undefined : (JSON.parse(map.data?.[briefKey] ?? '') as PoolBrief);
}

/** A pool that has a status. */
async function withPool(spec: object = {}): Promise<Bed> {
  const bed = await Bed.start();
  await bed.create(resources.expertPools, newPool({ ...spec }));
  void bed.startOperator().catch(() => {});
  await bed.until('there is a status', () => bed.pool().status?.conditions !== undefined);
  return bed;
}

async function ready(bed: Bed): Promise<void> {
  await bed.addWorker('coding-workers-1');
  await bed.rollOut('coding-expert-gen', 1);
  await bed.rollOut('coding-workers', 1);
  await bed.bindClaim('coding-artifacts');
  await bed.until('the pool is ready', () => conditionOf(bed, 'Ready')?.status === 'True');
}

describe('the pool controller', () => {
  it('reports by events when a pool becomes ready and when it is not any more', async () => {
    await using bed = await withPool({ workers: { replicas: 1, concurrency: 2 } });
    await ready(bed);
    const reported = (): string[] =>
      bed.server
        .objects(events)
        .filter(({ regarding }) => regarding?.kind === 'ExpertPool' && regarding.name === 'coding')
        .map(({ type, reason }) => `${type} ${reason}`);
    const [type, reason] = ['Normal', conditionOf(bed, 'Ready')?.reason ?? ''];
    await bed.until('an event says that it is ready', () => reported().includes(`${type} ${reason}`));
    await bed.rollOut('coding-workers', 0);
    await bed.until('it is not ready', () => conditionOf(bed, 'Ready')?.status !== 'True');
    await bed.until('an event says so', () => reported().some((one) => one.startsWith('Warning ')));
  });

  it('makes all that a pool consists of, becomes ready with it, and then writes nothing', async () => {
    await using bed = await withPool({ workers: { replicas: 1, concurrency: 2 } });
    expect(names(bed, resources.deployments)).toEqual(['platform/coding-expert-gen', 'platform/coding-workers']);
    expect(names(bed, resources.services)).toEqual(['platform/coding-expert-gen']);
    expect(names(bed, resources.networkPolicies)).toEqual(['platform/coding-experts', 'platform/coding-workers']);
    expect(names(bed, resources.persistentVolumeClaims)).toEqual(['platform/coding-artifacts']);
    expect(names(bed, resources.roles)).toEqual(['platform/coding-worker']);
    expect(conditionOf(bed, 'Ready')?.reason).toBe('ClaimPending');
    expect(conditionOf(bed, 'Reconciling')?.status).toBe('True');
    await ready(bed);
    expect(bed.pool().status?.workers).toMatchObject({ replicas: 1, ready: 1 });
    await bed.quiet();
    const before = bed.writes.length;
    await bed.patchPool({ policy: { allowUnenforcedNetwork: true } });
    await bed.until('the generation is observed', () => bed.pool().status?.observedGeneration === 2);
    await bed.quiet();
    // The brief that has the policy, and the status with the new generation.
    expect(bed.writes.slice(before).map(({ resource, name }) => `${resource} ${name ?? ''}`)).toEqual([
      'configmaps coding-workers',
      'expertpools.agentfleet.dev coding',
    ]);
  });

  it('reports to the workers which ablations an annotation allows, though it makes no new generation', async () => {
    await using bed = await withPool();
    await bed.quiet();
    const metadata = { annotations: { 'agentfleet.dev/allowed-ablations': 'HRM' } };
    await new ResourceClient(bed.transport, resources.expertPools).patch({ namespace: 'platform', name: 'coding' }, { metadata });
    await bed.until('the brief names them', () => briefOf(bed)?.ablations?.includes('HRM') === true);
  });

  it('puts back what was changed or deleted', async () => {
    await using bed = await withPool();
    await bed.quiet();
    const at = `/api/v1/namespaces/platform/services/coding-expert-gen`;
    await bed.transport.request({ method: 'DELETE', path: at });
    await bed.until('the Service is back', () => names(bed, resources.services).length === 1);
    const path = '/apis/networking.k8s.io/v1/namespaces/platform/networkpolicies/coding-experts';
    const body = { spec: { ingress: [{}] } };
    await bed.transport.request({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json' });
    await bed.until('the wall stands again', () => {
      const wall = bed.server.objects(resources.networkPolicies).find(({ metadata }) => metadata.name === 'coding-experts');
      return JSON.stringify(wall).includes('"from"');
    });
  });

  it('removes what an expert had when the expert goes, and nothing of others', async () => {
    const specialist = { name: 'py', role: 'Specialist', domains: ['python'], engine: { type: 'Synth' } };
    const generalist = { name: 'gen', role: 'Generalist', domains: ['*'], engine: { type: 'Synth' }, replicas: 1 };
    await using bed = await withPool({ experts: [generalist, specialist] });
    expect(names(bed, resources.services)).toEqual(['platform/coding-expert-gen', 'platform/coding-expert-py']);
    await bed.patchPool({ experts: [generalist] });
    await bed.until('the Service is gone', () => names(bed, resources.services).length === 1);
    await bed.until('the Deployment is gone', () => names(bed, resources.deployments).length === 2);
    await bed.until(
      'the status forgets it',
      () =>
        bed
          .pool()
          .status?.experts?.map(({ name }) => name)
          .join() === 'gen',
    );
  });

  it('names a namespace to its workers only when they may read it, and takes it back with the last task', async () => {
    await using bed = await withPool();
    await bed.quiet();
    const order: string[] = [];
    bed.server.onRequest = ({ verb, resource, namespace, body }) => {
      if (verb === 'apply' && resource.startsWith('rolebindings') && namespace === 'team') order.push('access');
      if (verb === 'apply' && resource === 'configmaps' && JSON.stringify(body).includes('\\"team\\"')) order.push('brief');
      return undefined;
    };
    await bed.create(resources.agentTasks, newTask('fix'));
    await bed.until('the brief names it', () => briefOf(bed)?.namespaces.includes('team') === true);
    expect(order.slice(0, 2)).toEqual(['access', 'brief']);
    expect(names(bed, resources.networkPolicies)).toContain('team/agentfleet-sandbox');
    expect(names(bed, resources.configMaps)).toContain('team/agentfleet-jwks');
    await bed.transport.request({ method: 'DELETE', path: '/apis/agentfleet.dev/v1alpha1/namespaces/team/agenttasks/fix' });
    await bed.until('the brief forgets it', () => briefOf(bed)?.namespaces.length === 0);
    await bed.until('the access is gone', () => names(bed, resources.roleBindings).length === 1);
    await bed.until('the wall is gone', () => !names(bed, resources.networkPolicies).includes('team/agentfleet-sandbox'));
  });

  it('prepares a namespace in which sandboxes are to wait before its first task, if the pool allows it', async () => {
    const warm = [{ namespace: 'team', replicas: 1 }];
    await using bed = await withPool({ sandbox: { warm } });
    await bed.until('the brief names it', () => briefOf(bed)?.namespaces.includes('team') === true);
    expect(names(bed, resources.networkPolicies)).toContain('team/agentfleet-sandbox');
    expect(names(bed, resources.configMaps)).toContain('team/agentfleet-jwks');
    await bed.patchPool({ allowedNamespaces: { from: 'Same' } });
    await bed.until('the brief forgets it', () => briefOf(bed)?.namespaces.includes('team') === false);
    await bed.until('the access is gone', () => !names(bed, resources.roleBindings).some((name) => name.startsWith('team/')));
  });

  it.each([
    [403, 'Forbidden', 'no'],
    [403, 'Forbidden', 'exceeded quota: objects, requested: count/services=1; raise that ResourceQuota, or make room below it'],
    [500, 'InternalError', 'failed calling webhook "mservice.elbv2.k8s.aws": no endpoints available; mend or remove that'],
  ])('reports what the API server refused (%i), and goes on when it does not any more', async (code, reason, message) => {
    await using bed = await Bed.start();
    bed.server.onRequest = ({ verb, resource }) =>
      verb === 'apply' && resource === 'services' ? { kind: 'error', code, reason, message: message.split(';')[0] ?? '' } : undefined;
    await bed.create(resources.expertPools, newPool());
    void bed.startOperator().catch(() => {});
    await bed.until('it is refused', () => bed.pool().status !== undefined && conditionOf(bed, 'Stalled') !== undefined);
    expect(conditionOf(bed, 'Ready')?.reason).toBe('WriteRefused');
    expect(conditionOf(bed, 'Ready')?.message).toContain('Service platform/coding-expert-gen was refused');
    expect(conditionOf(bed, 'Ready')?.message).toContain(message);
    bed.server.onRequest = undefined;
    await bed.until('it goes on', () => conditionOf(bed, 'Stalled') === undefined);
    expect(names(bed, resources.services)).toEqual(['platform/coding-expert-gen']);
  });

  it('reports to tasks what keeps their namespace from being prepared, and prepares it when nothing does any more', async () => {
    await using bed = await withPool();
    const message = 'exceeded quota: objects, requested: count/configmaps=1';
    const scheduled = (): string | undefined => bed.task('fix')?.status?.conditions?.find(({ type }) => type === 'Scheduled')?.message;
    bed.server.onRequest = ({ verb, resource, namespace }) =>
      verb === 'apply' && resource === 'configmaps' && namespace === 'team'
        ? { kind: 'error', code: 403, reason: 'Forbidden', message }
        : undefined;
    await bed.create(resources.agentTasks, newTask('fix'));
    await bed.until('it is reported', () => scheduled()?.includes(message) === true);
    expect(scheduled()).toContain('raise that ResourceQuota');
    bed.server.onRequest = undefined;
    await bed.until('the namespace is prepared', () => names(bed, resources.configMaps).includes('team/agentfleet-jwks'), 20);
  });

  it('makes the workers although the Deployment of an expert is refused', async () => {
    await using bed = await Bed.start();
    bed.server.onRequest = ({ verb, resource, name }) =>
      verb === 'apply' && resource === 'deployments.apps' && name === 'coding-expert-gen'
        ? { kind: 'error', code: 403, reason: 'Forbidden' }
        : undefined;
    await bed.create(resources.expertPools, newPool());
    void bed.startOperator().catch(() => {});
    await bed.until('it is refused', () => bed.pool().status !== undefined && conditionOf(bed, 'Ready')?.reason === 'WriteRefused');
    expect(conditionOf(bed, 'Ready')?.message).toContain('Deployment platform/coding-expert-gen was refused');
    expect(names(bed, resources.deployments)).toEqual(['platform/coding-workers']);
  });

  it('touches nothing of a pool that is being deleted', async () => {
    await using bed = await withPool();
    await bed.quiet();
    const path = '/apis/agentfleet.dev/v1alpha1/namespaces/platform/expertpools/coding';
    const body = { metadata: { finalizers: ['example.com/hold'] } };
    await bed.transport.request({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json' });
    await bed.transport.request({ method: 'DELETE', path });
    await bed.until('it is being deleted', () => bed.pool().metadata.deletionTimestamp !== undefined);
    await bed.quiet();
    const before = bed.writes.length;
    await bed.transport.request({ method: 'DELETE', path: '/api/v1/namespaces/platform/services/coding-expert-gen' });
    await bed.quiet();
    expect(bed.writes.slice(before)).toEqual([]);
  });

  it('makes nothing in a namespace that is being deleted', async () => {
    await using bed = await withPool();
    await bed.quiet();
    const body = { status: { phase: 'Terminating' } };
    const path = '/api/v1/namespaces/platform/status';
    await bed.transport.request({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json' });
    const before = bed.writes.length;
    const names = bed.operator?.context.caches.namespaces.lister;
    await bed.until('the operator sees it', () => names?.get('platform')?.status?.phase === 'Terminating');
    await bed.transport.request({ method: 'DELETE', path: '/api/v1/namespaces/platform/services/coding-expert-gen' });
    await bed.quiet();
    expect(bed.writes.slice(before)).toEqual([]);
  });

  it('names the recording in the template of the pods that replay it', async () => {
    const expert = { name: 'gen', role: 'Generalist', engine: { type: 'Replay', replay: { configMap: { name: 'tape' } } } };
    await using bed = await Bed.start();
    await bed.create(resources.configMaps, { metadata: { name: 'tape', namespace: 'platform' }, data: { 'a.json': '{}' } });
    await bed.create(resources.expertPools, newPool({ experts: [expert] }));
    void bed.startOperator().catch(() => {});
    await bed.until('it is deployed', () => names(bed, resources.deployments).includes('platform/coding-expert-gen'));
    const made = bed.server.objects(resources.deployments).find(({ metadata }) => metadata.name === 'coding-expert-gen');
    expect(JSON.stringify(made)).toMatch(/"agentfleet.dev\/replay-hash":"[-_A-Za-z0-9]{22}"/);
  });
});
