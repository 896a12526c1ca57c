import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { epochHeader, type KeeperInfo } from '@agentfleet/protocol/keeper';
import { serveHttp } from './localHttp.ts';

/** Answers of a fake keeper; change them at any time. */
export interface KeeperFacts {
  epoch: number;
  level: NonNullable<KeeperInfo['isolation']>['level'] | undefined;
  network: KeeperInfo['network']['state'];
  running: string | null;
  readonly snapshots: unknown[];
  /** Whether its log has no record of a task. */
  fresh: boolean;
}

/** One request to it. */
export interface KeeperCall {
  readonly method: string;
  readonly path: string;
  readonly epoch: number;
  readonly token: string;
}

/** A keeper in this process over real HTTP: `/v1/info`, cancelling, epochs; no sandbox behind it. */
export interface FakeKeeper extends AsyncDisposable {
  readonly port: number;
  readonly facts: KeeperFacts;
  readonly calls: readonly KeeperCall[];
}

function infoOf(facts: KeeperFacts): KeeperInfo {
  const { epoch, level, network, running } = facts;
  const isolation = {
    seccomp: true,
    landlockABI: 5,
    userNamespace: false,
    runtimeClass: null,
    guestKernel: null,
    noNewPrivs: true,
    capEff: '0',
  };
  return {
    version: 'test',
    pod: { name: 'sandbox', namespace: 'team', uid: 'u' },
    epoch,
    ready: level !== undefined,
    reason: level === undefined ? 'the tools container has not connected' : null,
    roots: [{ name: 'workspace', path: '/workspace' }],
    tools: { connected: level !== undefined, instance: 'i', connections: 1 },
    isolation: level === undefined ? null : { ...isolation, level },
    network: { state: network, probedAt: null, targets: [] },
    snapshots: { engine: 'CAS', count: 0, latest: null },
    audit: { root: 'ab'.repeat(32), records: 1 },
    running,
  };
}

/** The tree is always empty. */
const emptyManifest = 'agentfleet-manifest/1\n';
const emptyDigest = `sha256:${createHash('sha256').update(emptyManifest).digest('hex')}`;

function take(facts: KeeperFacts): unknown {
  const record = {
    id: `s${String(facts.snapshots.length + 1).padStart(4, '0')}`,
    manifestDigest: emptyDigest,
    label: 'taken',
    skipped: [],
  };
  facts.snapshots.push(record);
  return record;
}

/** One record, so that the keeper has a history of the task. */
function answerOf(path: string, { snapshots, fresh }: KeeperFacts): string {
  if (path === '/v1/snapshots') return JSON.stringify({ items: snapshots });
  const from = Number(new URL(path, 'http://keeper').searchParams.get('from') ?? 1);
  const record = { seq: 1, at: '2030-01-01T00:00:00.000Z', type: 'Noted', epoch: 1, body: {}, prev: '0'.repeat(64), hash: 'ab'.repeat(32) };
  return from > 1 || fresh ? '' : `${JSON.stringify(record)}\n`;
}

export async function startFakeKeeper(): Promise<FakeKeeper> {
  const facts: KeeperFacts = { epoch: 0, level: 'Landlock', network: 'Enforced', running: null, snapshots: [], fresh: false };
  const calls: KeeperCall[] = [];
  const refuse = (response: ServerResponse, status: number, code: string): void => {
    response.writeHead(status).end(JSON.stringify({ error: { code, message: 'said by the test', cure: 'none' } }));
  };
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    request.resume();
    const { method = '', url: path = '', headers } = request;
    const call = { method, path, epoch: Number(headers[epochHeader]), token: (headers.authorization ?? '').replace('Bearer ', '') };
    calls.push(call);
    if (call.epoch < facts.epoch) {
      refuse(response, 409, 'AF_EPOCH_STALE');
      return;
    }
    facts.epoch = call.epoch;
    if (path === '/v1/info') response.end(JSON.stringify(infoOf(facts)));
    else if (path.startsWith('/v1/events') || (path === '/v1/snapshots' && method === 'GET')) response.end(answerOf(path, facts));
    else if (path === '/v1/snapshots') response.end(JSON.stringify(take(facts)));
    else if (/^\/v1\/snapshots\/s\d+\/manifest$/.test(path)) response.end(emptyManifest);
    else if (method === 'DELETE' && path === `/v1/exec/${facts.running ?? ''}`) {
      facts.running = null;
      response.writeHead(202).end('{}');
    } else refuse(response, 404, 'AF_NOT_FOUND');
  };
  return { ...(await serveHttp(handle)), facts, calls };
}
