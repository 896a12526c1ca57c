// The view of kubectl, autoscalers and GitOps tools, on a real API server.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as example from './examples.ts';
import { withValue, type Node } from './fields.ts';
import { collection, connect, createNamespace, enabled, install, type Answer, type Server } from './server.ts';

const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';

interface Table {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[];
  readonly rows: readonly { readonly cells: readonly unknown[] }[];
}

interface Discovery {
  readonly resources: readonly {
    readonly name: string;
    readonly shortNames?: readonly string[];
    readonly categories?: readonly string[];
  }[];
}

describe.runIf(enabled)('custom resources for tools', () => {
  let server: Server;
  let namespace: string;

  beforeAll(async () => {
    server = await connect();
    await install(server);
    namespace = await createNamespace(server);
  }, 60_000);

  afterAll(() => server.ask('DELETE', `/api/v1/namespaces/${namespace}`));

  const apply = (plural: string, object: Node): Promise<Answer> => {
    const { name } = object['metadata'] as { name: string };
    return server.ask('PATCH', `${collection(namespace, plural)}/${name}?fieldManager=gitops&fieldValidation=Strict`, {
      body: object,
      type: 'application/apply-patch+yaml',
    });
  };

  it('have short names, one category and the subresources', async () => {
    const { resources } = (await server.ask('GET', '/apis/agentfleet.dev/v1alpha1')).body as unknown as Discovery;
    const shown = resources.map(({ name, shortNames, categories }) => [name, shortNames?.join(), categories?.join()]);
    expect(shown.sort(([a = ''], [b = '']) => a.localeCompare(b))).toEqual([
      ['agenttaskorders', 'afo', 'agentfleet'],
      ['agenttaskorders/status', undefined, undefined],
      ['agenttasks', 'aft', 'agentfleet'],
      ['agenttasks/status', undefined, undefined],
      ['energymodels', 'afe', 'agentfleet'],
      ['energymodels/status', undefined, undefined],
      ['expertpools', 'afp', 'agentfleet'],
      ['expertpools/scale', undefined, undefined],
      ['expertpools/status', undefined, undefined],
      ['expertscales', 'afs', 'agentfleet'],
      ['expertscales/scale', undefined, undefined],
      ['expertscales/status', undefined, undefined],
      ['poolgrants', 'afg', 'agentfleet'],
      ['rolloutpolicies', 'afr', 'agentfleet'],
    ]);
  });

  it('stay as they are when the same manifest is applied again', async () => {
    for (const [plural, object] of [
      ['agenttasks', example.minimalTask],
      ['agenttasks', example.fullTask(example.workspaces['Inline']!)],
      ['expertpools', example.fullPool],
      ['energymodels', example.fullModel],
    ] as const) {
      const first = await apply(plural, object);
      expect(first.body.message).toBeUndefined();
      const second = await apply(plural, object);
      expect(second.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
      expect(second.body.metadata.generation).toBe(1);
    }
  });

  it('show the state of a task in columns', async () => {
    await apply('agenttasks', withValue(example.fullTask(example.workspaces['Git']!), 'metadata.name', 'shown'));
    await server.ask('PATCH', `${collection(namespace, 'agenttasks')}/shown/status`, {
      body: { status: example.fullTaskStatus },
      type: 'application/merge-patch+json',
    });
    const { body } = await server.ask('GET', `${collection(namespace, 'agenttasks')}/shown`, { accept: table });
    const { columnDefinitions, rows } = body as unknown as Table;
    const row = Object.fromEntries(columnDefinitions.map(({ name }, index) => [name, rows[0]?.cells[index]]));
    expect(row).toMatchObject({
      Name: 'shown',
      Phase: 'Running',
      Pool: 'coding',
      Attempt: 1,
      Progress: 'edits src/a.py',
      Worker: 'worker-0',
      Priority: 10,
      Reason: 'Running',
      Message: 'runs',
    });
    expect(columnDefinitions.filter(({ priority }) => priority === 0).map(({ name }) => name)).toEqual([
      'Name',
      'Phase',
      'Pool',
      'Reason',
      'Attempt',
      'Progress',
      'Age',
    ]);
  });

  it('scale the workers of a pool', async () => {
    const pool = `${collection(namespace, 'expertpools')}/scaled`;
    await apply('expertpools', withValue(example.minimalPool, 'metadata.name', 'scaled'));
    const status = { workers: { replicas: 1, ready: 1, selector: 'agentfleet.dev/pool=scaled' } };
    await server.ask('PATCH', `${pool}/status`, { body: { status }, type: 'application/merge-patch+json' });
    const scaled = await server.ask('PATCH', `${pool}/scale`, { body: { spec: { replicas: 5 } }, type: 'application/merge-patch+json' });
    expect(scaled.body.status).toEqual({ replicas: 1, selector: 'agentfleet.dev/pool=scaled' });
    expect((await server.ask('GET', pool)).body.spec['workers']).toEqual({ replicas: 5, concurrency: 8 });
    const refused = await server.ask('PATCH', `${pool}/scale`, {
      body: { spec: { replicas: 1001 } },
      type: 'application/merge-patch+json',
    });
    expect(refused.body.message).toContain('spec.workers.replicas');
    expect(refused.status).toBe(422);
  });
});
