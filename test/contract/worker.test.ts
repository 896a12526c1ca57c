// The worker's reports under the real fence: the API server's schema, its apply, and the admission policies.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createTransport,
  defineResource,
  ResourceClient,
  silentLog,
  systemClock,
  type ClusterConfig,
  type Transport,
} from '@agentfleet/kube';
import { kubeconfigConfig } from '@agentfleet/kube';
import type { AgentTask, Run } from '@agentfleet/protocol/api';
import { Reporter, runFilter, type WriteResult } from '../../agent-image/src/report/index.ts';
import { kubeconfigPath } from '../../hack/cluster/index.ts';
import * as example from './api/examples.ts';
import { withValue, type Node } from './api/fields.ts';
import { collection, connect, createNamespace, enabled, install, until, type Server } from './api/server.ts';

const tasks = defineResource<AgentTask>('agentfleet.dev/v1alpha1', 'AgentTask', 'agenttasks');

describe.runIf(enabled)('reports of a worker', () => {
  let server: Server;
  let namespace: string;
  let platform: string;
  const transports: Record<string, Transport> = {};

  const post = async (path: string, body: unknown): Promise<Node> => {
    const answer = await server.ask('POST', path, { body });
    expect(answer.body.message).toBeUndefined();
    return answer.body as unknown as Node;
  };

  /** A transport with a token that is bound to a pod of the workers' account. */
  const worker = async (pod: string, base: ClusterConfig): Promise<Transport> => {
    const spec = { serviceAccountName: 'worker', containers: [{ name: 'worker', image: 'none.invalid/none:1' }] };
    const made = (await post(`/api/v1/namespaces/${platform}/pods`, { metadata: { name: pod }, spec })) as { metadata: { uid: string } };
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: pod, uid: made.metadata.uid };
    const answer = await post(`/api/v1/namespaces/${platform}/serviceaccounts/worker/token`, { spec: { boundObjectRef } });
    const { token } = answer['status'] as { token: string };
    const { ca } = (await base.credentials(false)).tls;
    const tls = ca === undefined ? {} : { ca };
    return createTransport(
      { server: base.server, credentials: () => Promise.resolve({ tls, authorization: `Bearer ${token}` }) },
      { userAgent: 'agentfleet-worker/test' },
    );
  };

  const assigned = async (name: string): Promise<string> => {
    const path = collection(namespace, 'agenttasks');
    const made = (await post(path, withValue(example.minimalTask, 'metadata.name', name))) as { metadata: { uid: string } };
    const { run: _, ...status } = withValue(example.fullTaskStatus, 'assignment.workerNamespace', platform);
    const answer = await server.ask('PATCH', `${path}/${name}/status`, { body: { status }, type: 'application/merge-patch+json' });
    expect(answer.status).toBe(200);
    return made.metadata.uid;
  };

  const stored = async (name: string): Promise<Run | undefined> => {
    const { body } = await server.ask('GET', `${collection(namespace, 'agenttasks')}/${name}`);
    return body.status?.['run'] as Run | undefined;
  };

  /** Reports once and returns the result. */
  const report = async (pod: string, name: string, uid: string, run: Run): Promise<readonly (WriteResult | 'NotMine')[]> => {
    const results: (WriteResult | 'NotMine')[] = [];
    const stop = new AbortController();
    const reporter = new Reporter({
      client: new ResourceClient(transports[pod]!, tasks),
      task: { name, namespace, uid },
      base: { attempt: run.attempt, epoch: run.epoch },
      filter: runFilter(),
      clock: systemClock,
      random: Math.random,
      log: silentLog,
      onWrite: (result) => results.push(result),
      onNotMine: () => results.push('NotMine'),
    });
    const following = reporter.follow(stop.signal);
    reporter.report(run, { urgent: true });
    await reporter.flush(AbortSignal.timeout(10_000));
    stop.abort();
    await following;
    return results;
  };

  beforeAll(async () => {
    server = await connect();
    await install(server);
    [namespace, platform] = [await createNamespace(server), await createNamespace(server)];
    await post(`/api/v1/namespaces/${platform}/serviceaccounts`, { metadata: { name: 'worker' } });
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
    const rules = [
      { apiGroups: ['agentfleet.dev'], resources: ['agenttasks'], verbs: ['get'] },
      { apiGroups: ['agentfleet.dev'], resources: ['agenttasks/status'], verbs: ['patch', 'update'] },
    ];
    await post(`${rbac}/roles`, { metadata: { name: 'worker' }, rules });
    await post(`${rbac}/rolebindings`, {
      metadata: { name: 'worker' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'worker' },
      subjects: [{ kind: 'ServiceAccount', name: 'worker', namespace: platform }],
    });
    const base = await kubeconfigConfig({ file: await kubeconfigPath() });
    for (const pod of ['worker-0', 'worker-1']) transports[pod] = await worker(pod, base);
    const uid = await assigned('probe');
    await until('the policies are in force', async () =>
      (await report('worker-1', 'probe', uid, { attempt: 1, epoch: 3 })).includes('Refused'),
    );
  }, 60_000);

  afterAll(async () => {
    for (const transport of Object.values(transports)) await transport.close();
    for (const name of [namespace, platform]) await server.ask('DELETE', `/api/v1/namespaces/${name}`);
  });

  it('are taken from the assigned pod with every field, and replaced as a whole', async () => {
    const uid = await assigned('report');
    const full = example.fullRun as unknown as Run;
    expect(await report('worker-0', 'report', uid, full)).toEqual(['Written']);
    expect(await stored('report')).toEqual(full);
    const next: Run = { attempt: 1, epoch: 3, outcome: { result: 'Succeeded', reason: 'ChecksHold' } };
    expect(await report('worker-0', 'report', uid, next)).toEqual(['Written']);
    expect(await stored('report')).toEqual(next);
  });

  it('are cut to the bounds of the API server', async () => {
    const uid = await assigned('large');
    const plan = Array.from({ length: 200 }, (_, id) => ({ id: String(id), kind: 'Step', intent: 'ü'.repeat(200), state: 'Done' }));
    const run = {
      attempt: 1,
      epoch: 3,
      plan,
      patch: '+\u{1f642}\n'.repeat(5000),
      progress: { done: 1, total: 2, message: 'x'.repeat(900) },
    };
    expect(await report('worker-0', 'large', uid, run as Run)).toEqual(['Written']);
    expect((await stored('large'))?.progress?.message).toHaveLength(256);
  });

  it.for([
    ['another pod', 'worker-1', { attempt: 1, epoch: 3 }],
    ['an older epoch', 'worker-0', { attempt: 1, epoch: 2 }],
    ['another attempt', 'worker-0', { attempt: 2, epoch: 3 }],
  ] as const)('end the work when they come from %s', async ([title, pod, run]) => {
    const name = title.replaceAll(' ', '-');
    expect(await report(pod, name, await assigned(name), run)).toEqual(['Refused', 'NotMine']);
    expect(await stored(name)).toBeUndefined();
  });

  const outcome = { result: 'Failed', reason: 'ChecksFailed' } as const;

  it('end the work when the task was deleted', async () => {
    const uid = await assigned('deleted');
    expect((await server.ask('DELETE', `${collection(namespace, 'agenttasks')}/deleted`)).status).toBe(200);
    expect(await report('worker-0', 'deleted', uid, { attempt: 1, epoch: 3 })).toEqual(['Refused', 'NotMine']);
  });

  it('bring no outcome to a task that was created again under its name and assigned alike', async () => {
    const uid = await assigned('anew');
    expect((await server.ask('DELETE', `${collection(namespace, 'agenttasks')}/anew`)).status).toBe(200);
    await assigned('anew');
    expect(await report('worker-0', 'anew', uid, { attempt: 1, epoch: 3, outcome })).toEqual(['Refused', 'NotMine']);
    expect(await stored('anew')).toBeUndefined();
  });

  it('bring an outcome although the operator writes at the same time', async () => {
    const uid = await assigned('busy');
    const path = `${collection(namespace, 'agenttasks')}/busy/status`;
    const writing = (async () => {
      for (let position = 0; position < 20; position += 1) {
        await server.ask('PATCH', path, { body: { status: { queue: { position } } }, type: 'application/merge-patch+json' });
      }
    })();
    expect((await report('worker-0', 'busy', uid, { attempt: 1, epoch: 3, outcome })).at(-1)).toBe('Written');
    await writing;
    expect((await stored('busy'))?.outcome).toEqual(outcome);
  });
});
