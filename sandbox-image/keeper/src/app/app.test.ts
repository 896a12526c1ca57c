import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Gate } from '../base/gate.ts';
import type { Snapshots } from '../durable/snapshots.ts';
import { echoing, podUid, startHarness, ulid, type Harness } from '../testing/index.ts';

const record = {
  id: 's0001',
  manifestDigest: 'sha256:00',
  parent: null,
  label: 'x',
  takenAt: '2026-01-01T00:00:00.000Z',
  entries: 1,
  files: 1,
  bytes: 1,
  addedObjects: 1,
  addedBytes: 1,
  skipped: [],
  tookMs: 1,
};

/** A snapshot engine that knows one snapshot. */
const fakeSnapshots: Snapshots = {
  take: () => Promise.resolve(record),
  restore: (id) =>
    id === record.id
      ? Promise.resolve({
          id,
          verified: true,
          manifestDigest: 'a',
          expectedDigest: 'a',
          created: 0,
          modified: 0,
          deleted: 0,
          mismatches: [],
          tookMs: 1,
        })
      : Promise.reject(Object.assign(new Error(`there is no snapshot ${id}`), { code: 'AF_SNAPSHOT_UNKNOWN', cure: 'list them' })),
  list: () => [record],
  diff: (from, to) =>
    Promise.resolve({
      from,
      to,
      entries: [{ path: 'workspace/f', op: 'A', modeTo: 0o755, sizeTo: 3 }],
      unified: '+x\n',
    }),
  revertBundle: () => Promise.resolve(Readable.from([Buffer.from('tar')])),
  manifest: () => Promise.resolve({ digest: '', entries: [], skipped: [] }),
  readObject: () => Promise.reject(new Error('nobody reads here')),
  readRange: () => Promise.reject(new Error('nobody reads here')),
  adopt: () => {
    throw new Error('nobody adopts here');
  },
  scrub: () => Promise.reject(new Error('nobody scrubs here')),
  close: () => Promise.resolve(),
};

let h: Harness;

beforeEach(async () => {
  h = await startHarness({ snapshots: fakeSnapshots });
});

afterEach(() => h[Symbol.asyncDispose]());

interface Answer {
  readonly status: number;
  readonly type: string | null;
  readonly body: { readonly error: { readonly code: string; readonly message: string; readonly cure: string } };
}

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(h.running.address + path, {
    method,
    headers: {
      authorization: `Bearer ${await h.signer.token(podUid)}`,
      'agentfleet-epoch': '1',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const answer = await response.text();
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    body: (answer.startsWith('{') ? JSON.parse(answer) : {}) as Answer['body'],
  };
}

/** Reports whether the gate is free. */
function free(gate: Gate): boolean {
  try {
    gate.exclusive({ kind: 'test', name: '' })();
    return true;
  } catch {
    return false;
  }
}

describe('every request', () => {
  const routes = [
    ['GET', '/v1/info'],
    ['POST', '/v1/exec'],
    ['GET', `/v1/exec/${ulid()}`],
    ['GET', `/v1/exec/${ulid()}/output?stream=stdout`],
    ['DELETE', `/v1/exec/${ulid()}`],
    ['GET', '/v1/files?path=/x'],
    ['PUT', '/v1/files?path=/x'],
    ['GET', '/v1/files/list?path=/x'],
    ['GET', '/v1/files/lines?path=/x'],
    ['GET', '/v1/files/search?path=/x&text=y'],
    ['POST', '/v1/files/replace'],
    ['POST', '/v1/files/patch'],
    ['PUT', '/v1/tree?path=/x'],
    ['GET', '/v1/tree?path=/x'],
    ['POST', '/v1/notes'],
    ['POST', '/v1/snapshots'],
    ['GET', '/v1/snapshots'],
    ['POST', '/v1/snapshots/s0001/restore'],
    ['GET', '/v1/diff?from=s0001'],
    ['GET', '/v1/revert?from=s0001'],
    ['GET', '/v1/events'],
    ['GET', '/v1/audit'],
    ['POST', '/v1/tools/restart'],
  ] as const;

  it.each(routes)('%s %s needs a token, and a changing one an epoch', async (method, path) => {
    expect(await call(method, path, undefined, { authorization: 'Bearer a.b.c' })).toMatchObject({
      status: 401,
      body: { error: { code: 'AF_UNAUTHENTICATED' } },
    });
    const withoutEpoch = await call(method, path, undefined, { 'agentfleet-epoch': '' });
    if (method === 'GET') expect(withoutEpoch.body.error?.code ?? 'AF_INVALID').not.toBe('AF_UNAUTHENTICATED');
    else expect(withoutEpoch).toMatchObject({ status: 400, body: { error: { code: 'AF_INVALID' } } });
  });

  it('that fails reports code, message and cure, and nothing else', async () => {
    const answer = await call('GET', '/v1/nothing');
    expect(answer).toMatchObject({ status: 404, type: expect.stringContaining('application/json') as string });
    expect(answer.body).toEqual({
      error: { code: 'AF_NOT_FOUND', message: 'there is no GET /v1/nothing', cure: expect.any(String) as string },
    });
    expect((await call('PATCH', '/v1/exec')).status).toBe(404);
  });

  it('is refused before its body is read when the caller is not authenticated', async () => {
    const socket = connect(Number(new URL(h.running.address).port), '127.0.0.1');
    socket.write('POST /v1/exec HTTP/1.1\r\nhost: x\r\ncontent-length: 8000000\r\ncontent-type: application/json\r\n\r\n');
    const [head] = (await new Promise<Buffer[]>((resolve) => {
      socket.once('data', (chunk: Buffer) => resolve([chunk]));
    })) as [Buffer];
    expect(head.toString()).toContain('401');
    socket.destroy();
  });
});

describe('a body', () => {
  const good = () => ({ execId: ulid(), tool: 'Shell', command: 'x' });

  it.each<[string, unknown, RegExp]>([
    ['with an unknown field', { ...good(), colour: 'red' }, /^colour: this field is not known/],
    ['with an unknown nested field', { ...good(), limits: { wings: 2 } }, /^limits\.wings: this field is not known/],
    ['without a field', { execId: ulid(), tool: 'Shell' }, /^command: this field is required/],
    ['with the field of another tool', { ...good(), argv: ['x'] }, /^argv: this field is not known/],
    ['with a wrong tool', { ...good(), tool: 'Magic' }, /^tool: /],
    ['with a number as text', { ...good(), timeoutSeconds: '5' }, /^timeoutSeconds: must be integer/],
    ['with too long a limit', { ...good(), timeoutSeconds: 3601 }, /^timeoutSeconds: must be <= 3600/],
    ['with an id that is none', { ...good(), execId: '../../x' }, /^execId: /],
    ['with a bad variable name', { ...good(), env: { 'A=B': 'x' } }, /env/],
    ['that is a list', [], /not a JSON object/],
    ['that is no JSON', '{"a":', /JSON/],
    ['that poisons prototypes', '{"__proto__":{"x":1}}', /./],
  ])('%s is refused with the name of the field', async (_what, body, words) => {
    const answer = await call('POST', '/v1/exec', body);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'AF_INVALID' } } });
    expect(answer.body.error.message).toMatch(words);
  });

  it('over the limit, or of another type, is refused', async () => {
    expect(await call('POST', '/v1/snapshots', { label: 'x'.repeat(70_000) })).toMatchObject({
      status: 413,
      body: { error: { code: 'AF_TOO_LARGE' } },
    });
    expect((await call('POST', '/v1/exec', '<x/>', { 'content-type': 'text/xml' })).body.error.code).toBe('AF_INVALID');
    expect((await call('PUT', `/v1/files?path=${h.workspace}/f`, {})).body.error.message).toContain('octet-stream');
  });

  it('may not have an unknown query', async () => {
    expect((await call('GET', '/v1/diff?from=s0001&colour=red')).body.error.message).toBe('colour: this field is not known');
    expect((await call('GET', '/v1/events?from=-1')).body.error.code).toBe('AF_INVALID');
    expect((await call('GET', '/v1/events?since=1')).body.error.message).toContain('since');
  });
});

describe('the routes', () => {
  it('answer snapshots, comparisons and bundles as the contract defines, and record them', async () => {
    const client = h.client();
    expect(await client.takeSnapshot('x')).toEqual(record);
    expect(await client.snapshots()).toEqual([record]);
    expect(await client.restore('s0001')).toMatchObject({ verified: true });
    await expect(client.restore('s0009')).rejects.toMatchObject({ code: 'AF_SNAPSHOT_UNKNOWN', status: 404, cure: 'list them' });
    expect(await client.diff('s0001')).toEqual({
      from: 's0001',
      to: 'current',
      entries: [{ path: 'workspace/f', op: 'A', modeTo: 0o755, sizeTo: 3 }],
      unified: '+x\n',
    });
    expect(await text(await client.revertBundle('s0001'))).toBe('tar');
    // The reader has the last byte before the keeper has closed the bundle.
    const { gate } = h.running.keeper.parts;
    await expect.poll(() => free(gate)).toBe(true);
    const types: string[] = [];
    for await (const { type, body } of client.events(1)) types.push(`${type} ${(body['phase'] as string | undefined) ?? ''}`.trim());
    expect(types.slice(-6)).toEqual([
      'SnapshotTaken',
      'SnapshotRestored Intent',
      'SnapshotRestored Done',
      'SnapshotRestored Intent',
      'SnapshotRestored Failed',
      'RawRead',
    ]);
  });

  it('write and read files', async () => {
    const client = h.client();
    const path = join(h.workspace, 'a b', 'ü');
    expect(await client.writeFile(path, 'content', '750')).toMatchObject({ path, bytes: 7, created: true });
    expect((await client.readFile(path)).toString()).toBe('content');
    expect(await readFile(path, 'utf8')).toBe('content');
    await expect(client.readFile('/etc/passwd')).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS', status: 403 });
    expect(await readFile(join(h.store, 'events.log'), 'utf8')).toContain('"FileWritten"');
  });

  it('report the state of the keeper to kubelet and Prometheus, without a token', async () => {
    const get = async (path: string) => {
      const response = await fetch(h.running.address + path);
      return { status: response.status, text: await response.text() };
    };
    expect((await get('/healthz')).status).toBe(200);
    expect(await get('/readyz')).toMatchObject({ status: 503, text: expect.stringContaining('not connected') as string });
    await h.runner(echoing);
    expect((await get('/readyz')).status).toBe(200);
    await h.client().run({ execId: ulid(), tool: 'Shell', command: 'x' });
    await call('GET', '/v1/info', undefined, { authorization: 'x' });
    const { text: metrics } = await get('/metrics');
    for (const line of [
      'agentfleet_keeper_execs_total{result="ok"} 1',
      'agentfleet_keeper_exec_seconds_count 1',
      'agentfleet_keeper_auth_refusals_total{reason="malformed"} 1',
      'agentfleet_keeper_link_connections 1',
      'agentfleet_keeper_ready 1',
    ]) {
      expect(metrics).toContain(line);
    }
    expect(metrics).toMatch(/agentfleet_keeper_store_bytes \d{3,}/);
  });

  it('describe the sandbox', async () => {
    await h.runner();
    expect(await h.client(3).info()).toMatchObject({
      pod: { name: 'sandbox-1', namespace: 'team', uid: podUid },
      epoch: 0,
      ready: true,
      reason: null,
      tools: { connected: true, connections: 1 },
      isolation: { level: 'Landlock', seccomp: true, landlockABI: 7, userNamespace: false, runtimeClass: null },
      network: { state: 'Enforced', targets: [{ name: 'apiserver', reachable: false }] },
      snapshots: { engine: 'CAS', count: 1, latest: 's0001' },
      running: null,
    });
  });

  it('refuse all changes once the log is broken, and still answer reads', async () => {
    const { log } = h.running.keeper.parts;
    await log.flush();
    const file = join(h.store, 'events.log');
    const { writeFile } = await import('node:fs/promises');
    await writeFile(file, (await readFile(file, 'utf8')).replace('sandbox-1', 'sandbox-2'));
    expect(await h.client().audit()).toMatchObject({ ok: false, broken: { seq: 1 } });
    await expect(h.client().takeSnapshot()).rejects.toMatchObject({ code: 'AF_LOG_BROKEN' });
    await expect(h.client().writeFile(join(h.workspace, 'f'), 'x')).rejects.toMatchObject({ code: 'AF_LOG_BROKEN' });
    expect(await h.client().info()).toMatchObject({ ready: false, reason: expect.stringContaining('log is broken') as string });
  });
});
