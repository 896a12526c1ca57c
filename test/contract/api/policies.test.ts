// Write permissions: the worker's fence and the author of an order, with real tokens bound to real pods.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as example from './examples.ts';
import { withValue, type Node } from './fields.ts';
import { collection, connect, createNamespace, enabled, install, until, whoAmI, type Answer, type Server } from './server.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const head = { apiVersion: 'agentfleet.dev/v1alpha1', kind: 'AgentTask' };

describe.runIf(enabled)('admission policies', () => {
  let server: Server;
  let namespace: string;
  let platform: string;
  let tasks: string;
  const tokens: Record<string, string> = {};

  const post = async (path: string, body: unknown): Promise<Answer> => {
    const answer = await server.ask('POST', path, { body });
    expect(answer.body.message).toBeUndefined();
    return answer;
  };

  /** A service account with the given rules in the namespace of the tasks, and a token bound to a pod of it. */
  const account = async (home: string, name: string, pods: readonly string[], rules: readonly Node[]): Promise<void> => {
    await post(`/api/v1/namespaces/${home}/serviceaccounts`, { metadata: { name } });
    await post(`${rbac}/namespaces/${namespace}/roles`, { metadata: { name: `${home}-${name}` }, rules });
    await post(`${rbac}/namespaces/${namespace}/rolebindings`, {
      metadata: { name: `${home}-${name}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: `${home}-${name}` },
      subjects: [{ kind: 'ServiceAccount', name, namespace: home }],
    });
    for (const pod of pods) {
      const spec = { serviceAccountName: name, containers: [{ name: 'worker', image: 'none.invalid/none:1' }] };
      const { body } = await post(`/api/v1/namespaces/${home}/pods`, { metadata: { name: pod }, spec });
      const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: pod, uid: body.metadata.uid };
      const token = await post(`/api/v1/namespaces/${home}/serviceaccounts/${name}/token`, { spec: { boundObjectRef } });
      tokens[`${home}/${pod}`] = (token.body.status as { token: string }).token;
    }
  };

  const report = (name: string, token: string, status: Node, manager = 'agentfleet-worker'): Promise<Answer> =>
    server.ask('PATCH', `${tasks}/${name}/status?fieldManager=${manager}&force=true&fieldValidation=Strict`, {
      body: { ...head, metadata: { name }, status },
      type: 'application/apply-patch+yaml',
      token,
    });
  const merge = (name: string, token: string | undefined, status: Node): Promise<Answer> =>
    server.ask('PATCH', `${tasks}/${name}/status`, {
      body: { status },
      type: 'application/merge-patch+json',
      ...(token === undefined ? {} : { token }),
    });

  const assigned = async (name: string): Promise<void> => {
    await post(tasks, withValue(example.minimalTask, 'metadata.name', name));
    const { run: _, ...status } = withValue(example.fullTaskStatus, 'assignment.workerNamespace', platform);
    expect((await merge(name, undefined, status)).status).toBe(200);
  };

  beforeAll(async () => {
    server = await connect();
    await install(server);
    [namespace, platform] = [await createNamespace(server), await createNamespace(server)];
    tasks = collection(namespace, 'agenttasks');
    const status = { apiGroups: ['agentfleet.dev'], resources: ['agenttasks/status'], verbs: ['get', 'patch', 'update'] };
    await account(platform, 'worker', ['worker-0', 'worker-1'], [status]);
    await account(namespace, 'worker', ['worker-0'], [status]);
    const assign = { apiGroups: ['agentfleet.dev'], resources: ['agenttasks'], verbs: ['assign'] };
    const orders = { apiGroups: ['agentfleet.dev'], resources: ['agenttaskorders'], verbs: ['create'] };
    await account(platform, 'operator', ['operator-0'], [status, assign]);
    const pods = { apiGroups: [''], resources: ['pods'], verbs: ['create', 'patch'] };
    await account(namespace, 'tenant', ['tenant-0'], [pods]);
    await account(namespace, 'maker', ['maker-0'], [pods, assign]);
    await account(namespace, 'approver', ['approver-0'], [orders]);
    await account(namespace, 'author', ['author-0'], [{ apiGroups: ['agentfleet.dev'], resources: ['agenttasks'], verbs: ['create'] }]);
    await assigned('probe');
    await until('the policies are in force', async () => {
      const { status: code } = await report('probe', tokens[`${platform}/worker-1`]!, { run: example.fullRun });
      return code === 403;
    });
  }, 60_000);

  afterAll(async () => {
    for (const name of [namespace, platform]) await server.ask('DELETE', `/api/v1/namespaces/${name}`);
  });

  const refusal = (answer: Answer): string | undefined =>
    answer.status === 403 || answer.status === 422 ? answer.body.message : `passed: ${answer.status}`;

  describe('the origin of sandboxes', () => {
    const pods = (): string => `/api/v1/namespaces/${namespace}/pods`;
    const pod = (name: string, labels: Node): Node => ({
      metadata: { name, labels },
      spec: { containers: [{ name: 'keeper', image: 'none.invalid/none:1' }] },
    });
    const sandbox = { 'agentfleet.dev/component': 'sandbox' };
    const refused = 'are made and changed by the operator alone';

    it('lets only accounts that may assign tasks make or change objects that look like one', async () => {
      const [tenant, maker] = [tokens[`${namespace}/tenant-0`]!, tokens[`${namespace}/maker-0`]!];
      const post = (name: string, labels: Node, token: string): Promise<Answer> =>
        server.ask('POST', pods(), { body: pod(name, labels), token });
      const relabel = (name: string, labels: Node, token: string): Promise<Answer> =>
        server.ask('PATCH', `${pods()}/${name}`, { body: { metadata: { labels } }, type: 'application/merge-patch+json', token });
      expect(refusal(await post('planted', sandbox, tenant))).toContain(refused);
      expect((await post('plain', { app: 'x' }, tenant)).status).toBe(201);
      expect(refusal(await relabel('plain', sandbox, tenant))).toContain(refused);
      expect((await post('made', sandbox, maker)).status).toBe(201);
      expect(refusal(await relabel('made', { app: 'x' }, tenant))).toContain(refused);
      expect((await relabel('made', { app: 'x' }, maker)).status).toBe(200);
    });

    it('lets the controllers of Kubernetes make none: editors write their templates', async () => {
      // Of other labels than the pods above, which it would adopt.
      const template = { metadata: { labels: { app: 'planted', ...sandbox } }, spec: pod('x', {})['spec'] };
      const sets = `/apis/apps/v1/namespaces/${namespace}/replicasets`;
      await post(sets, { metadata: { name: 'planted' }, spec: { replicas: 1, selector: { matchLabels: { app: 'planted' } }, template } });
      const failure = async (): Promise<string | undefined> => {
        const { body } = await server.ask('GET', `${sets}/planted`);
        const conditions = (body.status?.['conditions'] ?? []) as readonly { readonly type: string; readonly message?: string }[];
        return conditions.find(({ type }) => type === 'ReplicaFailure')?.message;
      };
      await until('a refusal of the pod of the ReplicaSet', async () => (await failure())?.includes(refused) === true);
    });
  });

  describe('the fence of the worker', () => {
    const worker = (): string => tokens[`${platform}/worker-0`]!;
    const run = { attempt: 1, epoch: 3 };

    it('lets the assigned pod report, again and again', async () => {
      await assigned('report');
      expect((await report('report', worker(), { run: example.fullRun })).status).toBe(200);
      const { status, body } = await report('report', worker(), { run: { ...run, progress: { done: 2, total: 2 } } });
      expect(status).toBe(200);
      expect(body.status?.['run']).toEqual({ ...run, progress: { done: 2, total: 2 } });
      expect(body.status?.['phase']).toBe('Running');
    });

    it.for([
      ['an older epoch', { attempt: 1, epoch: 2 }],
      ['a later epoch', { attempt: 1, epoch: 4 }],
      ['another attempt', { attempt: 2, epoch: 3 }],
    ] as const)('refuses a report under %s', async ([title, stale]) => {
      const name = title.replaceAll(' ', '-');
      await assigned(name);
      expect(refusal(await report(name, worker(), { run: stale }))).toContain(
        'must be those of status.assignment; the task has been assigned anew',
      );
    });

    it('refuses another pod of the same account', async () => {
      await assigned('other-pod');
      expect(refusal(await report('other-pod', tokens[`${platform}/worker-1`]!, { run }))).toContain(
        'only the pod that status.assignment.worker names may report',
      );
    });

    it('refuses a pod of the same name in another namespace', async () => {
      await assigned('namesake');
      expect(refusal(await report('namesake', tokens[`${namespace}/worker-0`]!, { run }))).toContain(
        'only an account of the namespace status.assignment.workerNamespace',
      );
    });

    it('refuses a changed assignment, also one that names the caller', async () => {
      await assigned('theft');
      const assignment = { ...(example.fullTaskStatus['assignment'] as Node), workerNamespace: platform };
      const thief = tokens[`${platform}/worker-1`]!;
      expect(refusal(await merge('theft', thief, { assignment: { ...assignment, worker: 'worker-1' }, run }))).toContain(
        'status.assignment belongs to the operator',
      );
      expect(refusal(await merge('theft', worker(), { assignment: { ...assignment, epoch: 9 }, run: { ...run, epoch: 9 } }))).toContain(
        'status.assignment belongs to the operator',
      );
      expect(refusal(await merge('theft', worker(), { assignment: null, run }))).toContain('status.assignment belongs to the operator');
    });

    it.for([
      ['phase', 'Succeeded'],
      ['finished', 'true'],
      ['conditions', []],
      ['totals', { usage: { ...(example.fullRun as { usage: Node }).usage, toolCalls: 0 } }],
      ['observedGeneration', 99],
    ] as const)('refuses a change of %s', async ([field, value]) => {
      const name = `field-${field.toLowerCase()}`;
      await assigned(name);
      expect(refusal(await merge(name, worker(), { [field]: value, run }))).toContain('a worker may change status.run only');
    });

    it.for(['phase', 'queue', 'attempts', 'conditions'])('refuses the removal of %s', async (field) => {
      const name = `removed-${field}`;
      await assigned(name);
      expect(refusal(await merge(name, worker(), { [field]: null, run }))).toContain('a worker may change status.run only');
    });

    it('refuses to take the report away', async () => {
      await assigned('removed-run');
      expect((await report('removed-run', worker(), { run })).status).toBe(200);
      expect(refusal(await merge('removed-run', worker(), { run: null }))).toContain('status.run.epoch');
    });

    it('refuses a report about an unassigned task', async () => {
      await post(tasks, withValue(example.minimalTask, 'metadata.name', 'unassigned'));
      expect(refusal(await report('unassigned', worker(), { run }))).toContain('a task without one takes no reports');
      expect(refusal(await merge('unassigned', worker(), { phase: 'Succeeded' }))).toContain('a task without one takes no reports');
    });

    it('lets accounts that may assign write all of the status', async () => {
      await assigned('operator');
      const { status, body } = await merge('operator', tokens[`${platform}/operator-0`], { phase: 'Verifying', assignment: { epoch: 4 } });
      expect(body.message).toBeUndefined();
      expect(status).toBe(200);
    });
  });

  describe('permission for rules that ask no person', () => {
    const create = (name: string, profile: string, token?: string): Promise<Answer> =>
      server.ask('POST', tasks, {
        body: withValue(withValue(example.minimalTask, 'metadata.name', name), 'spec.policy', { profile }),
        ...(token === undefined ? {} : { token }),
      });

    it('takes Privileged from an approver only, and other rules from any author', async () => {
      const author = tokens[`${namespace}/author-0`]!;
      expect(refusal(await create('privileged', 'Privileged', author))).toContain(
        'takes the right to create agenttaskorders in this namespace; use Permissive',
      );
      expect((await create('permissive', 'Permissive', author)).status).toBe(201);
      expect((await create('trusted', 'Privileged')).status).toBe(201);
    });
  });

  describe('the author of an order', () => {
    const order = (requester: string): Node =>
      withValue({ ...example.orders['Cancel'], metadata: { generateName: 'order-' } }, 'spec.requester', requester);
    const give = (body: Node, token?: string): Promise<Answer> =>
      server.ask('POST', collection(namespace, 'agenttaskorders'), { body, ...(token === undefined ? {} : { token }) });

    it('takes an order in the name of the caller', async () => {
      const approver = `system:serviceaccount:${namespace}:approver`;
      expect((await give(order(approver), tokens[`${namespace}/approver-0`])).status).toBe(201);
      expect((await give(order(await whoAmI(server)))).status).toBe(201);
    });

    it('refuses an order in the name of another user, and names the right one', async () => {
      const approver = `system:serviceaccount:${namespace}:approver`;
      expect(refusal(await give(order('jane'), tokens[`${namespace}/approver-0`]))).toContain(
        `spec.requester must be your own user name; write ${approver}`,
      );
      expect(refusal(await give(order(approver)))).toContain('spec.requester must be your own user name');
    });
  });
});
