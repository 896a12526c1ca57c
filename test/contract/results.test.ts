// Results by the user's own permission, on a real API server with its aggregation layer.
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '@agentfleet/cli';
import { connect } from '@agentfleet/client';
import { silentLog, systemClock } from '@agentfleet/kube';
import { copyName } from '@agentfleet/protocol/results';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubeconfigPath } from '../../hack/cluster/index.ts';
import { ServingCertificate } from '../../operator/src/results/serving.ts';
import { enabled, createNamespace, until } from './api/server.ts';
import { ResultsBed, type Raw } from './resultsBed.ts';

const note = (kind: string, data: object): object => ({ kind, data });
const hostile = '\u001b]0;owned\u0007\u001b[2J<script>alert(1)</script>\r\n\u202e';
const conversation = [
  note('ConversationBegan', { expert: 'gen', system: 's', goal: hostile, tools: [] }),
  note('ModelReplied', { step: 1, proposals: [{ text: hostile, calls: [] }], charged: { usage: { input: 5, output: 2 } } }),
  note('ReplyChosen', { step: 1, index: 0 }),
];
const lines = ({ body }: Pick<Raw, 'body'>): readonly { readonly seq: number; readonly type: string }[] =>
  body
    .toString()
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { seq: number; type: string });
const message = ({ body }: Raw): string => (JSON.parse(body.toString()) as { message: string }).message;

describe.runIf(enabled)('the results API', () => {
  let bed: ResultsBed;
  let viewer: string;
  let stranger: string;
  let uid: string;
  const big = randomBytes(1024 * 1024 * 32);

  beforeAll(async () => {
    bed = await ResultsBed.start();
    viewer = await bed.account('viewer');
    await bed.bind(`${bed.namespace}-viewer`, 'viewer');
    stranger = await bed.account('stranger');
    uid = await bed.task('done', { 'change.patch': hostile, 'answer.md': 'forty-two\n', 'big.bin': big });
    await bed.mirror(uid, 1, conversation.slice(0, 2));
    await bed.mirror(uid, 3, conversation.slice(2));
  }, 90_000);
  afterAll(() => bed.close());

  it('is discovered, and gives a viewer list, content, log and conversation as they are', async () => {
    const found = await bed.raw('/apis/results.agentfleet.dev/v1alpha1', { token: viewer });
    expect(JSON.parse(found.body.toString())).toMatchObject({ kind: 'APIResourceList', resources: [{ name: 'agenttasks/log' }, {}, {}] });
    const list = await bed.raw(bed.pathOf('done', 'artifacts'), { token: viewer });
    expect(JSON.parse(list.body.toString())).toMatchObject({
      kind: 'ArtifactList',
      items: [{ name: 'change.patch' }, {}, { bytes: big.length }],
    });
    const patch = await bed.raw(bed.pathOf('done', 'artifacts', 'change.patch'), { token: viewer });
    expect([patch.status, patch.body.toString()]).toEqual([200, hostile]);
    expect(patch.headers).toMatchObject({ 'content-type': 'application/octet-stream', 'x-content-type-options': 'nosniff' });
    expect(lines(await bed.raw(bed.pathOf('done', 'log'), { token: viewer })).map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(lines(await bed.raw(`${bed.pathOf('done', 'log')}?since=2`, { token: viewer })).map(({ seq }) => seq)).toEqual([3]);
    const said = lines(await bed.raw(bed.pathOf('done', 'conversation'), { token: viewer }));
    expect(said).toMatchObject([
      { seq: 1, type: 'Began', goal: hostile },
      { seq: 3, type: 'Assistant', text: hostile },
    ]);
    const later = lines(await bed.raw(`${bed.pathOf('done', 'conversation')}?since=1`, { token: viewer }));
    expect(later).toMatchObject([{ seq: 3, type: 'Assistant' }]);
  });

  it('streams a large artifact whole', async () => {
    const hash = createHash('sha256');
    let bytes = 0;
    const { body, status } = await bed.raw(bed.pathOf('done', 'artifacts', 'big.bin'), { token: viewer });
    hash.update(body);
    bytes += body.length;
    expect([status, bytes, hash.digest('hex')]).toEqual([200, big.length, createHash('sha256').update(big).digest('hex')]);
  });

  it('refuses callers without the right, at the API server and behind it, with a cure', async () => {
    const path = bed.pathOf('done', 'artifacts', 'change.patch');
    for (const direct of [false, true]) {
      const refused = await bed.raw(path, { token: stranger }, direct);
      expect(refused.status).toBe(403);
      expect(message(refused)).toContain('agenttasks');
    }
    expect(message(await bed.raw(path, { token: stranger }, true))).toContain('ask for the ClusterRole agentfleet-viewer');
    expect((await bed.raw(path, { token: viewer }, true)).status).toBe(200);
    const other = await createNamespace(bed.server);
    expect((await bed.raw(bed.pathOf('done', 'log', undefined, other), { token: viewer })).status).toBe(403);
    await bed.server.ask('DELETE', `/api/v1/namespaces/${other}`);
  });

  it('takes a name from the front proxy only', async () => {
    const path = bed.pathOf('done', 'log');
    const headers = { 'X-Remote-User': 'system:admin', 'X-Remote-Group': 'system:masters' };
    expect((await bed.raw(path, { headers }, true)).status).toBe(401);
    expect((await bed.raw(path, { headers, ...bed.administrator() }, true)).status).toBe(401);
    expect((await bed.raw(path, { headers, token: stranger }, true)).status).toBe(403);
    expect((await bed.raw(path, { token: 'abc.def.ghi' })).status).toBe(401);
  });

  it('refuses an expired token', async () => {
    const token = await bed.account('leaver');
    await bed.bind(`${bed.namespace}-viewer`, 'leaver');
    await bed.server.ask('DELETE', `/api/v1/namespaces/${bed.namespace}/serviceaccounts/leaver`);
    const path = bed.pathOf('done', 'log');
    await until('it ends', async () => (await bed.raw(path, { token })).status === 401);
    const refused = await bed.raw(path, { token }, true);
    expect([refused.status, message(refused)]).toEqual([401, expect.stringContaining('log in to the cluster anew')]);
  });

  it('reports what is missing, and why', async () => {
    const ask = (path: string): Promise<Raw> => bed.raw(path, { token: viewer });
    expect(message(await ask(bed.pathOf('never', 'log')))).toContain('was never there, or was deleted');
    expect(message(await ask(bed.pathOf('done', 'artifacts', 'x.patch')))).toContain('it has change.patch, answer.md, big.bin');
    const deleted = await bed.task('deleted', { 'change.patch': 'x' });
    expect((await ask(bed.pathOf('deleted', 'artifacts', 'change.patch'))).status).toBe(200);
    await bed.server.ask('DELETE', `/apis/agentfleet.dev/v1alpha1/namespaces/${bed.namespace}/agenttasks/deleted`);
    expect((await ask(bed.pathOf('deleted', 'artifacts', 'change.patch'))).status).toBe(404);
    expect(await bed.store.list(`${bed.namespace}/deleted/${deleted}/`)).toHaveLength(1);
    const swept = await bed.task('swept', { 'change.patch': 'x' });
    await bed.store.remove([`${bed.namespace}/swept/${swept}/1/change.patch`]);
    expect(message(await ask(bed.pathOf('swept', 'artifacts', 'change.patch')))).toContain(
      'the life cycle of its bucket or a person removed it',
    );
    expect(message(await ask(bed.pathOf('swept', 'log')))).toContain('nothing of the event log');
    const url = bed.workersUrl;
    bed.workersUrl = 'http://127.0.0.1:1';
    const away = await ask(bed.pathOf('done', 'log'));
    bed.workersUrl = url;
    expect([away.status, message(away)]).toEqual([503, expect.stringContaining('give it a ready worker')]);
  });

  it('reads the artifact where the mirror was swept', async () => {
    const record = { seq: 1, at: '2026-01-01T00:00:00.000Z', type: 'Noted', epoch: 1, body: note('New', {}), prev: '', hash: '' };
    await bed.task('ended', { 'trace.ndjson': `${JSON.stringify(record)}\n` });
    expect(lines(await bed.raw(bed.pathOf('ended', 'conversation'), { token: viewer }))).toMatchObject([{ type: 'Note', kind: 'New' }]);
  });

  it.each([
    ['artifacts/..%2f..%2fx', 400],
    ['artifacts/%2e%2e', 400],
    ['artifacts/change.patch%00', 400],
    ['artifacts/a/b', 404],
    ['log/x', 404],
    ['status', 404],
    ['log?since=-1', 400],
    ['log?follow=yes', 400],
    ['artifacts/%ff', 400],
  ])('refuses the path %s', async (tail, status) => {
    const path = `/apis/results.agentfleet.dev/v1alpha1/namespaces/${bed.namespace}/agenttasks/done/${tail}`;
    expect((await bed.raw(path, { token: viewer }, true)).status).toBe(status);
    expect((await bed.raw(path, { token: viewer })).status).toBeGreaterThanOrEqual(400);
  });

  it('does not read places named by a forged status: neither of another task nor outside of the store', async () => {
    await bed.task('forged', { 'change.patch': 'own' });
    for (const uri of [`pvc://coding-artifacts/${bed.namespace}/done/${uid}/1/answer.md`, 'pvc://coding-artifacts/../../etc/passwd', 'x']) {
      const artifacts = [{ name: 'change.patch', uri, sha256: '0'.repeat(64), bytes: 1 }];
      await bed.status('forged', { run: { artifacts } });
      expect((await bed.raw(bed.pathOf('forged', 'artifacts', 'change.patch'), { token: viewer })).status).toBe(404);
    }
  });

  it('follows a running task until it has ended', async () => {
    const live = await bed.task('live', {}, false);
    await bed.mirror(live, 1, conversation.slice(0, 2));
    const seen = { log: '', conversation: '' };
    const following = (['log', 'conversation'] as const).map((part) =>
      bed.raw(`${bed.pathOf('live', part)}?follow=true`, { token: viewer, onData: (text) => void (seen[part] += text) }),
    );
    await until('the beginning', () => Promise.resolve(seen.log.includes('"seq":2') && seen.conversation.includes('Began')));
    await bed.mirror(live, 3, [...conversation.slice(2), note('ProgramOutput', { attempt: 1, round: 1, text: hostile })]);
    await until('the rest', () => Promise.resolve(seen.log.includes('"seq":4') && seen.conversation.includes('ProgramOutput')));
    expect(lines({ body: Buffer.from(seen.conversation) }).at(-1)).toMatchObject({ type: 'Note', data: { text: hostile } });
    await bed.status('live', { finished: 'true' });
    await Promise.all(following);
    expect(seen.conversation).not.toContain('Pause');
    expect(seen.conversation).toContain('Assistant');
    expect(seen.log.trim().split('\n')).toHaveLength(4);
  });

  it('is readable for the typed client: list, content verified by its hash, log, and a conversation until the task has ended', async () => {
    await using fleet = await connect({ ...bed.address, token: viewer, namespace: bed.namespace });
    expect((await fleet.artifacts('done')).map(({ name }) => name)).toEqual(['change.patch', 'answer.md', 'big.bin']);
    expect(Buffer.from(await fleet.artifact('done', 'change.patch')).toString()).toBe(hostile);
    expect((await fleet.artifact('done', 'big.bin')).length).toBe(big.length);
    const records: unknown[] = [];
    for await (const { seq } of fleet.log('done', { since: 1 })) records.push(seq);
    expect(records).toEqual([2, 3]);
    const talking = await bed.task('talking', {}, false);
    await bed.mirror(talking, 1, conversation.slice(0, 2));
    const said: string[] = [];
    for await (const { type } of fleet.conversation('talking', { follow: true })) {
      said.push(type);
      if (said.length > 1) continue;
      await bed.mirror(talking, 3, conversation.slice(2));
      await bed.status('talking', { finished: 'true' });
    }
    expect(said).toEqual(['Began', 'Assistant']);
    const failure = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);
    expect(await failure(fleet.artifact('done', 'none.txt'))).toMatchObject({ code: 'AF_CLIENT_NOT_FOUND' });
    expect(await failure(fleet.artifacts('never'))).toMatchObject({ code: 'AF_CLIENT_NOT_FOUND' });
    await using nobody = await connect({ ...bed.address, token: stranger, namespace: bed.namespace });
    expect(await failure(nobody.artifacts('done'))).toMatchObject({ code: 'AF_CLIENT_FORBIDDEN', status: 403 });
  });

  it('changes its certificate without a gap: the API server believes the old and the new authority', async () => {
    const later = { ...systemClock, now: () => systemClock.now() + 70 * 86_400_000, monotonic: () => systemClock.monotonic() };
    const names = [`agentfleet-results.${bed.namespace}.svc`];
    const options = { transport: bed.transport, namespace: bed.namespace, names, clock: later, log: silentLog };
    const made = await new ServingCertificate(options).refresh(new AbortController().signal);
    expect(made.authority.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
    for (let i = 0; i < 5; i += 1) expect((await bed.raw(bed.pathOf('done', 'artifacts'), { token: viewer })).status).toBe(200);
  });
});

// In this file, so that no other one serves the API meanwhile.
describe.runIf(enabled)('results without the aggregation layer', () => {
  let bed: ResultsBed;
  const patch = '--- a/x\n+++ b/x\n';

  interface Copy {
    readonly metadata: { readonly labels?: object; readonly ownerReferences?: readonly object[] };
    readonly immutable?: boolean;
    readonly data?: Readonly<Record<string, string>>;
    readonly binaryData?: Readonly<Record<string, string>>;
  }
  const copyOf = async (uid: string): Promise<Copy | undefined> => {
    const { status, body } = await bed.server.ask('GET', `/api/v1/namespaces/${bed.namespace}/configmaps/${copyName(uid)}`);
    return status === 200 ? body : undefined;
  };
  const fleet = async (...args: readonly string[]) => {
    const said = { out: '', err: '' };
    const code = await run([...args, '-n', bed.namespace], {
      env: { KUBECONFIG: await kubeconfigPath() },
      clock: systemClock,
      random: Math.random,
      terminal: false,
      signal: AbortSignal.timeout(30_000),
      out: (text) => void (said.out += text),
      err: (text) => void (said.err += text),
    });
    return { code, ...said };
  };

  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'copies-'));
    bed = await ResultsBed.start({ copies: true });
  }, 90_000);
  afterAll(async () => {
    await bed.close();
    await rm(folder, { recursive: true });
  });

  it('copies small results into a ConfigMap of the task, once it has ended, and fleet reads it from there and reports it', async () => {
    const files = {
      'change.patch': patch,
      'answer.md': Buffer.from([0xff, 0xfe, 0x00]),
      'report.json': 'x'.repeat(300_000),
      'trace.ndjson': '{}',
    };
    const uid = await bed.task('one', files, false);
    await bed.task('other', { 'change.patch': patch });
    const to = join(folder, 'p');
    const fetched = (task: string) => fleet('artifacts', task, 'change.patch', '--to', to);
    await until('the other is copied', async () => (await fetched('other')).code === 0);
    expect(await copyOf(uid)).toBeUndefined();
    await bed.status('one', { finished: 'true' });
    await until('it is copied', async () => (await copyOf(uid)) !== undefined);
    expect(await copyOf(uid)).toMatchObject({
      immutable: true,
      metadata: { labels: { 'agentfleet.dev/task': 'one' }, ownerReferences: [{ kind: 'AgentTask', name: 'one', uid }] },
      data: { 'change.patch': patch },
      binaryData: { 'answer.md': '//4A' },
    });
    expect(Object.keys((await copyOf(uid))?.data ?? {})).toEqual(['change.patch']);
    const { code, err } = await fetched('one');
    expect([code, await readFile(to, 'utf8')]).toEqual([0, patch]);
    expect(err).toMatch(/change\.patch is read from ConfigMap agentfleet-results-.*results API cannot be used/);
    expect(await fleet('report', 'one', '-o', 'json')).toMatchObject({
      code: 10,
      err: expect.stringContaining('results.enabled') as string,
    });
  });

  it('is no way to change a ConfigMap, and is removed with its task', async () => {
    const uid = await bed.task('gone', { 'change.patch': patch });
    await until('it is copied', async () => (await copyOf(uid)) !== undefined);
    // As a review: a refused request of the account would count as a missing right.
    for (const verb of ['get', 'update', 'patch', 'delete']) {
      const resourceAttributes = { namespace: bed.namespace, verb, resource: 'configmaps', name: copyName(uid) };
      const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } };
      const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
      expect(await bed.transport.request({ method: 'POST', path, body })).toMatchObject({ status: { allowed: false } });
    }
    await bed.server.ask('DELETE', `/apis/agentfleet.dev/v1alpha1/namespaces/${bed.namespace}/agenttasks/gone`);
    await until('it is collected', async () => (await copyOf(uid)) === undefined);
  });

  it('waits for workers that are away', async () => {
    const url = bed.workersUrl;
    bed.workersUrl = 'http://127.0.0.1:1';
    const uid = await bed.task('later', { 'change.patch': patch });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await copyOf(uid)).toBeUndefined();
    bed.workersUrl = url;
    await until('it is copied', async () => (await copyOf(uid)) !== undefined);
  });

  it('is reported to the typed client by a code', async () => {
    await using client = await connect({ kubeconfig: await kubeconfigPath(), namespace: bed.namespace });
    await expect(client.artifacts('one')).rejects.toMatchObject({ code: 'AF_CLIENT_RESULTS_MISSING' });
  });
});
