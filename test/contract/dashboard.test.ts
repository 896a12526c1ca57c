import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubeconfigConfig, silentLog } from '@agentfleet/kube';
import { createServer, type DashboardConfig } from '@agentfleet/dashboard';
import { auditSince, markAudit } from '../../hack/bench/operator/auditLog.ts';
import { currentLayout } from '../../hack/cluster/base/layout.ts';
import { kubeconfigPath } from '../../hack/cluster/index.ts';
import { collection, connect, createNamespace, enabled, type Server, until } from './api/server.ts';
import { minimalTask } from './api/taskExamples.ts';

type App = Awaited<ReturnType<typeof createServer>>;

/** A ServiceAccount with the given verbs on our kinds in the namespace, and a token of it. */
async function userOf(server: Server, namespace: string, name: string, verbs: readonly string[]): Promise<string> {
  const account = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  await server.ask('POST', account, { body: { metadata: { name } } });
  const rules = [{ apiGroups: ['agentfleet.dev'], resources: ['*'], verbs }];
  await server.ask('POST', `${rbac}/roles`, { body: { metadata: { name }, rules } });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name };
  const subjects = [{ kind: 'ServiceAccount', name, namespace }];
  await server.ask('POST', `${rbac}/rolebindings`, { body: { metadata: { name }, roleRef, subjects } });
  const { body } = await server.ask('POST', `${account}/${name}/token`, { body: { spec: { expirationSeconds: 600 } } });
  return (body.status as unknown as { readonly token: string }).token;
}

describe.runIf(enabled)('the dashboard', () => {
  let server: Server;
  let app: App;
  let readOnly: App;
  let config: DashboardConfig;
  let [mine, other, address] = ['', '', ''];
  let [writer, viewer] = ['', ''];

  beforeAll(async () => {
    server = await connect();
    [mine, other] = [await createNamespace(server), await createNamespace(server)];
    [writer, viewer] = [await userOf(server, mine, 'writer', ['*']), await userOf(server, mine, 'viewer', ['get', 'list', 'watch'])];
    const cluster = await kubeconfigConfig({ file: await kubeconfigPath() });
    // The administrator's certificate is in `cluster`: it must never be used for a user.
    const page = new URL('../../dashboard/client', import.meta.url).pathname;
    config = { cluster, mode: 'Token', readOnly: false, namespaces: [], trustProxy: false, page, version: '0.0.0' };
    app = await createServer(config, { log: silentLog });
    readOnly = await createServer({ ...config, readOnly: true }, { log: silentLog });
    address = await app.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(async () => {
    await Promise.all([app.close(), readOnly.close()]);
  });

  const login = async (token: string, at = app, origin = address) => {
    const { host } = new URL(origin);
    const answer = await at.inject({ method: 'POST', url: '/api/session', headers: { host }, payload: { token } });
    const cookie = `${answer.cookies[0]?.name ?? ''}=${answer.cookies[0]?.value ?? ''}`;
    return { answer, headers: { host, cookie, 'x-csrf-token': answer.json<{ csrf: string }>().csrf } };
  };
  const yaml = (namespace: string, name: string): string => JSON.stringify({ ...minimalTask, metadata: { name, namespace } });

  it('knows a user by the token alone, in a cookie that scripts and other sites do not get', async () => {
    const { answer } = await login(writer);
    expect(answer.json()).toMatchObject({ user: `system:serviceaccount:${mine}:writer`, mode: 'Token' });
    expect(answer.cookies[0]).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
    // Browsers send cookies to all ports of a host: another dashboard there must not overwrite this one's.
    const { answer: another } = await login(viewer, readOnly, 'http://127.0.0.1:9');
    expect(another.cookies[0]?.name).not.toBe(answer.cookies[0]?.name);
    expect(answer.body).not.toContain(writer);
    expect(answer.headers['content-security-policy']).toContain("script-src 'self'");
  });

  it.each([
    ['a token that the API server does not know', 'a.b.c', 401],
    ['what is no token', 'a b', 400],
    ['one that no cookie holds', 'a'.repeat(5000), 400],
  ])('refuses %s', async (_, token, status) => expect((await login(token)).answer.statusCode).toBe(status));

  it('takes a longer token from a proxy, which needs no cookie', async () => {
    const proxied = await createServer({ ...config, mode: 'Proxy' }, { log: silentLog });
    const answer = await proxied.inject({ url: '/api/session', headers: { 'x-forwarded-access-token': 'a'.repeat(6000) } });
    // The API server does not know it; nothing before it minds its length.
    expect(answer.statusCode).toBe(401);
    await proxied.close();
  });

  it('acts as the user: creates and orders where RBAC allows, and reports where it does not', async () => {
    const { headers } = await login(writer);
    const create = (namespace: string, given = headers) =>
      app.inject({ method: 'POST', url: '/api/tasks', headers: given, payload: { yaml: yaml(namespace, 'made') } });
    expect((await create(mine)).statusCode).toBe(201);
    expect((await create(other)).json()).toMatchObject({ code: 'Forbidden', cure: expect.stringContaining('agentfleet-viewer') as string });
    expect((await create(mine, (await login(viewer)).headers)).statusCode).toBe(403);
    const order = await app.inject({
      method: 'POST',
      url: `/api/tasks/${mine}/made/orders`,
      headers,
      payload: { type: 'Message', message: 'use port 8080', requester: 'admin' },
    });
    expect(order.statusCode).toBe(201);
    const { body } = await server.ask('GET', `${collection(mine, 'agenttaskorders')}/${order.json<{ name: string }>().name}`);
    expect(body.spec['requester']).toBe(`system:serviceaccount:${mine}:writer`);
  });

  it.each([
    ['without the token of the session', { 'x-csrf-token': '' }, 'AF_DASHBOARD_CSRF'],
    ['from another origin', { 'sec-fetch-site': 'cross-site' }, 'AF_DASHBOARD_ORIGIN'],
  ])('refuses a write %s', async (_, more, code) => {
    const { headers } = await login(writer);
    const answer = await app.inject({
      method: 'POST',
      url: '/api/tasks',
      headers: { ...headers, ...more },
      payload: { yaml: yaml(mine, 'x') },
    });
    expect(answer.json()).toMatchObject({ code });
  });

  it('writes nothing where it is read-only', async () => {
    const { headers } = await login(writer, readOnly);
    const answer = await readOnly.inject({ method: 'POST', url: '/api/tasks', headers, payload: { yaml: yaml(mine, 'y') } });
    expect(answer.json()).toMatchObject({ code: 'AF_DASHBOARD_READ_ONLY' });
  });

  it('follows visible namespaces, and names the forbidden one', async () => {
    const { headers } = await login(viewer);
    const abort = new AbortController();
    const response = await fetch(`${address}/api/live?ns=${mine},${other}`, { headers: { cookie: headers.cookie }, signal: abort.signal });
    let text = '';
    const reading = (async () => {
      for await (const part of response.body!.pipeThrough(new TextDecoderStream())) text += part;
    })().catch(() => undefined);
    await until('the first list comes', () => Promise.resolve(text.includes('"state":"Live"')));
    expect(text).toContain(`"denied":["${other}"]`);
    await server.ask('POST', collection(mine, 'agenttasks'), { body: { ...minimalTask, metadata: { name: 'seen' } } });
    await until('the task comes', () => Promise.resolve(text.includes(`"key":"${mine}/seen"`)));
    await server.ask('DELETE', `${collection(mine, 'agenttasks')}/seen`);
    await until('it goes', () => Promise.resolve(text.includes(`"remove":["${mine}/seen"]`)));
    abort.abort();
    await reading;
  });

  it('keeps nothing of pages that leave before their stream has begun', async () => {
    const { headers } = await login(writer);
    const open = (namespaces: string, signal: AbortSignal) =>
      fetch(`${address}/api/live?ns=${namespaces}`, { headers: { cookie: headers.cookie }, signal });
    // More than a user may have at a time. Each asks what it may see of a namespace of its own, and leaves at another moment of that.
    for (let page = 0; page < 60; page++) await open(`${mine},left-${page}`, AbortSignal.timeout(4 + (page % 12))).catch(() => undefined);
    await until('a page opens', async () => {
      const abort = new AbortController();
      const { status } = await open(mine, abort.signal);
      abort.abort();
      return status === 200;
    });
  });

  it('keeps one watch of each kind for a user, however many pages show however many lists of namespaces', async ({ skip }) => {
    const { logs } = currentLayout();
    const mark = await markAudit(logs).catch(() => undefined);
    if (mark === undefined) {
      skip('somebody else runs this API server and keeps its audit log');
      return;
    }
    // The audit log knows the requests of this service by its version.
    const version = `tabs-${mine}`;
    const service = await createServer({ ...config, version }, { log: silentLog });
    const origin = await service.listen({ host: '127.0.0.1', port: 0 });
    const { headers } = await login(viewer, service, origin);
    const abort = new AbortController();
    const lists = [mine, `${mine},${other}`, `${other},${mine}`, mine, mine, `${mine},default`, '', mine];
    const texts = lists.map(() => '');
    const reading = lists.map(async (list, at) => {
      const response = await fetch(`${origin}/api/live?ns=${list}`, { headers: { cookie: headers.cookie }, signal: abort.signal });
      for await (const part of response.body!.pipeThrough(new TextDecoderStream())) texts[at] += part;
    });
    const ended = Promise.allSettled(reading);
    const named = lists.flatMap((list, at) => (list === '' ? [] : [at]));
    try {
      await until('each page has its list', () => Promise.resolve(named.every((at) => texts[at]?.includes('"state":"Live"'))));
      await server.ask('POST', collection(mine, 'agenttasks'), { body: { ...minimalTask, metadata: { name: 'for-all' } } });
      const key = `"key":"${mine}/for-all"`;
      await until('each page has the task', () => Promise.resolve(named.every((at) => texts[at]?.includes(key))));
      const asked = await auditSince(logs, mark, `agentfleet-dashboard/${version}`);
      const watches = asked.filter(({ verb }) => verb === 'watch').map(({ resource }) => resource);
      expect(watches.toSorted()).toEqual([
        'agenttaskorders',
        'agenttasks',
        'energymodels',
        'expertpools',
        'expertscales',
        'rolloutpolicies',
      ]);
    } finally {
      abort.abort();
      await ended;
      await service.close();
    }
  });
});
