import { apiErrorOf, KubeError, leases } from '@agentfleet/kube';
import { describe, expect, it } from 'vitest';
import { newPool, newTask } from './controllers/agenttask/testing/objects.ts';
import { newModel } from './controllers/energymodel/testing/models.ts';
import { Bed } from './controllers/expertpool/testing/bed.ts';
import { resources } from './runtime/resources.ts';
import { leaseName } from './start.ts';

const get = async (port: number | undefined, path: string): Promise<{ readonly status: number; readonly text: string }> => {
  const response = await fetch(`http://127.0.0.1:${port ?? 0}${path}`);
  return { status: response.status, text: await response.text() };
};

const holder = (bed: Bed): string | undefined =>
  bed.server.objects(leases).find(({ metadata }) => metadata.name === leaseName)?.spec?.holderIdentity;

describe('the operator', () => {
  it('leads, answers probes and metrics, and gives the lease up at its end', async () => {
    await using bed = await Bed.start();
    await bed.create(resources.expertPools, newPool());
    await bed.create(resources.energyModels, newModel());
    await bed.create(resources.agentTasks, newTask('fix'));
    void bed.startOperator('operator-0_a').catch(() => {});
    await bed.until('it leads', () => holder(bed) === 'operator-0_a');
    const [probes, metrics] = bed.operator?.manager.ports ?? [];
    expect(await get(probes, '/readyz')).toEqual({ status: 200, text: 'ok' });
    expect(await get(probes, '/healthz')).toEqual({ status: 200, text: 'ok' });
    await bed.addWorker('coding-workers-1');
    await bed.until('the verifier has a Deployment', () =>
      bed.server.objects(resources.deployments).some(({ metadata }) => metadata.name === 'judge-verifier'),
    );
    await bed.rollOut('judge-verifier', 1);
    await bed.until('the verifier counts', () => {
      const models = [...(bed.operator?.context.caches.energyModels.lister.values() ?? [])];
      return models.some(({ status }) => status?.ready === 1);
    });
    await bed.until('the worker counts', () => bed.pool().status?.workers?.ready === 1);
    const { text } = await get(metrics, '/metrics');
    expect(text).toMatch(/^agentfleet_tasks\{pool="platform\/coding",phase="[A-Z][A-Za-z]+"\} 1$/m);
    expect(text).toMatch(/^agentfleet_pool_workers_ready\{pool="platform\/coding"\} 1$/m);
    expect(text).toMatch(/^agentfleet_expert_ready\{pool="platform\/coding",expert="gen",role="Generalist"\} 0$/m);
    expect(text).toMatch(/^agentfleet_energymodel_ready\{model="platform\/judge"\} 1$/m);
    expect(text).toMatch(/^controller_runtime_reconcile_total\{controller="agenttask"/m);
    await bed.stopOperator();
    expect(holder(bed)).toBe('');
  });

  it.each([
    ['does not answer', new KubeError('AF_API_UNREACHABLE', { what: 'refused', where: 'here', cure: 'none' })],
    ['starts', apiErrorOf(503, '', 'GET /openid/v1/jwks')],
  ])('waits for an API server that %s, alive and not ready', async (_, fault) => {
    await using bed = await Bed.start();
    bed.discovery.fault = fault;
    void bed.startOperator('operator-0_a').catch(() => {});
    await bed.until('its ports are open', () => bed.operator?.manager.ports.length === 2);
    const [probes] = bed.operator?.manager.ports ?? [];
    expect([(await get(probes, '/healthz')).status, (await get(probes, '/readyz')).status]).toEqual([200, 500]);
    expect(bed.server.requests.filter(({ userAgent }) => userAgent.startsWith('operator'))).toEqual([]);
    bed.discovery.fault = undefined;
    await bed.until('it leads', () => holder(bed) === 'operator-0_a');
  });

  it('writes nothing while another one leads', async () => {
    await using bed = await Bed.start();
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    const spec = { holderIdentity: 'other', leaseDurationSeconds: 600, renewTime, acquireTime: renewTime, leaseTransitions: 0 };
    await bed.create(leases, { metadata: { name: leaseName, namespace: 'agentfleet-system' }, spec });
    await bed.create(resources.expertPools, newPool());
    void bed.startOperator().catch(() => {});
    await bed.until('its ports are open', () => bed.operator?.manager.ports.length === 2);
    await bed.until('its caches are full', () => bed.operator?.context.caches.pools.hasSynced() === true);
    await bed.quiet();
    expect(bed.writes).toEqual([]);
    expect(bed.pool().status).toBeUndefined();
    // Also what a controller would write by mistake, or late, does not leave the process.
    const path = '/apis/agentfleet.dev/v1alpha1/namespaces/platform/expertpools/coding';
    await expect(bed.operator?.context.transport.request({ method: 'DELETE', path })).rejects.toMatchObject({ code: 'AF_FENCED' });
  });

  it('fails when the API server publishes no signing keys, before it writes anything', async () => {
    await using bed = await Bed.start();
    bed.discovery.keys = [];
    await bed.create(resources.expertPools, newPool());
    await expect(bed.startOperator()).rejects.toThrow('--service-account-issuer');
    expect(bed.server.writes.filter(({ userAgent }) => userAgent.startsWith('operator'))).toEqual([]);
  });

  it('fails when another one takes the lease, so that a new process is made', async () => {
    await using bed = await Bed.start();
    const running = bed.startOperator('operator-0_a');
    running.catch(() => {});
    await bed.until('it leads', () => holder(bed) === 'operator-0_a');
    const path = `/apis/coordination.k8s.io/v1/namespaces/agentfleet-system/leases/${leaseName}`;
    const body = { spec: { holderIdentity: 'other' } };
    await bed.transport.request({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json' });
    await expect(running).rejects.toMatchObject({ code: 'AF_LEADERSHIP_LOST' });
  });
});
