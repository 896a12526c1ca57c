import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { TLSSocket } from 'node:tls';
import { asError, type Clock, type Log } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import {
  Conversation,
  conversationStreamMs,
  resultsApi,
  resultsParts,
  type ArtifactList,
  type ResultsPart,
} from '@agentfleet/protocol/results';
import { callerByHeaders, isFrontProxy, type Caller, type Delegation, type FrontProxy } from './callers.ts';
import type { Issued } from './certificate.ts';
import { openRecords, type LoggedRecord } from './records.ts';
import { Refused } from './refused.ts';
import type { WorkersClient } from './workers.ts';

const { group, version, apiVersion, path: versionPath } = resultsApi;
const groupPath = `/apis/${group}`;
const served = { groupVersion: apiVersion, version };
const apiGroup = { kind: 'APIGroup', apiVersion: 'v1', name: group, versions: [served], preferredVersion: served };

const part = (name: string, kind: string): object => ({
  name: `agenttasks/${name}`,
  singularName: '',
  namespaced: true,
  kind,
  verbs: ['get'],
});

const documents: Readonly<Record<string, object>> = {
  '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: [apiGroup] },
  [groupPath]: apiGroup,
  [versionPath]: {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: apiVersion,
    resources: [part('log', 'TaskLog'), part('conversation', 'TaskConversation'), part('artifacts', 'ArtifactList')],
  },
};

/** Returns the document by which clients find the API; undefined: the path is no such document. */
function discovery(path: string): object | undefined {
  return Object.hasOwn(documents, path) ? documents[path] : undefined;
}

interface ResultsServerOptions {
  readonly port: number;
  readonly host?: string;
  readonly delegation: Pick<Delegation, 'callerByToken' | 'verdict'>;
  readonly workers: Pick<WorkersClient, 'log' | 'artifact'>;
  readonly taskOf: (name: { readonly namespace: string; readonly name: string }, signal: AbortSignal) => Promise<AgentTask | undefined>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Time that answers may take once the server is to stop, ms; its pod has 15 s. */
const lastAnswerMs = 5000;

/**
 * Requests at a time, of all and of one caller: a follower holds one for as long as its task runs. Documents have room beside them: an
 * API server that is refused one takes the whole API for unavailable.
 */
const most = { requests: 512, ofCaller: 128, documents: 64 } as const;

interface Asked {
  readonly namespace: string;
  readonly name: string;
  readonly part: ResultsPart;
  readonly artifact: string | undefined;
  readonly since: number;
  readonly follow: boolean;
}

/** Returns the result that a request asks for, by its path. @throws Refused */
export function askedOf(target: string): Asked | undefined {
  const url = new URL(target, 'https://localhost');
  // Not by `pathname` alone: it resolves dots, and what they lead to is not what the API server has authorized.
  const [path = ''] = target.split('?');
  const [, ...rest] =
    new RegExp(`^${resultsApi.path.replaceAll('.', '\\.')}/namespaces/([^/]+)/agenttasks/([^/]+)/([^/]+)(?:/([^/]+))?$`).exec(path) ?? [];
  if (rest.length === 0) return undefined;
  const [namespace = '', name = '', part = '', artifact] = rest.map((word) => (word === undefined ? undefined : decoded(word)));
  const known = resultsParts.find((one) => one === part);
  if (known === undefined) return undefined;
  if (artifact !== undefined && known !== 'artifacts') return undefined;
  const since = url.searchParams.get('since') ?? '0';
  const follow = url.searchParams.get('follow') ?? 'false';
  if (!/^\d{1,15}$/.test(since)) throw new Refused(400, `since="${since}" is not the number of a record; write 0 or more`);
  if (follow !== 'true' && follow !== 'false') throw new Refused(400, `follow="${follow}" is neither true nor false`);
  return { namespace, name, part: known, artifact, since: Number(since), follow: follow === 'true' };
}

function decoded(word: string): string {
  let text: string;
  try {
    text = decodeURIComponent(word);
  } catch {
    throw new Refused(400, `"${word}" is no part of a path`);
  }
  if (text === '.' || text === '..' || /[/\0]/.test(text)) throw new Refused(400, `"${word}" is no name`);
  return text;
}

/** Serves results to whom the API server lets read them. */
export class ResultsServer {
  readonly #options: ResultsServerOptions;
  readonly #stopping = new AbortController();
  #server: Server | undefined;
  #proxy: FrontProxy | undefined;
  #open = 0;
  readonly #openOf = new Map<string, number>();

  constructor(options: ResultsServerOptions) {
    this.#options = options;
  }

  get port(): number {
    return (this.#server?.address() as AddressInfo | null)?.port ?? 0;
  }

  /** Begins to listen, or goes on with another certificate or front proxy; connections stay. */
  async use({ certificate: cert, key }: Issued, proxy: FrontProxy | undefined): Promise<void> {
    this.#proxy = proxy;
    const identity = { cert, key, minVersion: 'TLSv1.2', ...(proxy !== undefined && { ca: proxy.authority }) } as const;
    if (this.#server !== undefined) return this.#server.setSecureContext(identity);
    const server = createServer({ ...identity, requestCert: true, rejectUnauthorized: false }, (request, response) =>
      this.#handle(request, response),
    );
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#options.port, this.#options.host, resolve);
    });
    this.#server = server;
  }

  /** Ends followers, and waits for answers that are short: a connection that nothing was asked on yet counts as none. */
  async close(): Promise<void> {
    this.#stopping.abort(new Error('the server stops'));
    const server = this.#server;
    if (server === undefined) return;
    const cut = this.#options.clock.after(lastAnswerMs, () => server.closeAllConnections());
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeIdleConnections();
    });
    cut.cancel();
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const gone = new AbortController();
    response.once('close', () => gone.abort(new Error('the caller is gone')));
    const signal = AbortSignal.any([gone.signal, this.#stopping.signal]);
    this.#open += 1;
    this.#answer(request, response, signal)
      .catch((error: unknown) => this.#refuse(response, error, gone.signal))
      .finally(() => (this.#open -= 1));
  }

  #refuse(response: ServerResponse, error: unknown, gone: AbortSignal): void {
    // Data that was sent cannot be taken back: an answer that breaks off must not look whole.
    if (response.headersSent) return void response.destroy();
    const refused = error instanceof Refused ? error : new Refused(500, `the results server failed: ${asError(error).message}`);
    if (!(error instanceof Refused) && !gone.aborted) this.#options.log.warn('a request failed', { error: asError(error).message });
    json(response, refused.status, refused.body);
  }

  async #answer(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const target = request.url ?? '/';
    const [path = '/'] = target.split('?');
    if (/^\/(healthz|livez|readyz)$/.test(path)) return void response.writeHead(200, { 'content-type': 'text/plain' }).end('ok');
    const document = discovery(path);
    const room = most.requests + (document === undefined ? 0 : most.documents);
    if (this.#open > room) throw new Refused(429, 'too many results are being read; try again later');
    const caller = await this.#caller(request, signal);
    if (request.method !== 'GET' && request.method !== 'HEAD') throw new Refused(405, `${request.method} is not served here; use GET`);
    if (document !== undefined) return json(response, 200, document);
    const asked = askedOf(target);
    if (asked === undefined) throw new Refused(404, 'there is nothing at this path; see docs/reference/results.md');
    const { username } = caller;
    const others = this.#openOf.get(username) ?? 0;
    if (others >= most.ofCaller)
      throw new Refused(429, `${username} reads ${others} results already; end some that are followed, or try again later`);
    this.#openOf.set(username, others + 1);
    try {
      await this.#allow(caller, asked, signal);
      await this.#serve(response, asked, caller, signal);
    } finally {
      const left = (this.#openOf.get(username) ?? 1) - 1;
      if (left > 0) this.#openOf.set(username, left);
      else this.#openOf.delete(username);
    }
  }

  async #caller(request: IncomingMessage, signal: AbortSignal): Promise<Caller> {
    const proxy = this.#proxy;
    if (proxy !== undefined && isFrontProxy(request.socket as TLSSocket, proxy)) {
      const caller = callerByHeaders(request.headersDistinct, proxy);
      if (caller !== undefined) return caller;
    }
    const [, token] = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
    const caller = token === undefined ? undefined : await this.#options.delegation.callerByToken(token, signal);
    if (caller === undefined) throw new Refused(401, 'Unauthorized: log in to the cluster anew; it is reached at the API server');
    return caller;
  }

  async #allow(caller: Caller, { namespace, name, part }: Asked, signal: AbortSignal): Promise<void> {
    const { allowed, reason } = await this.#options.delegation.verdict(caller, { namespace, name, part }, signal);
    if (allowed) return;
    const what = `agenttasks.${resultsApi.group} "${name}" is forbidden: User "${caller.username}" cannot get resource "agenttasks/${part}"`;
    const cure = 'ask for the ClusterRole agentfleet-viewer there';
    throw new Refused(403, `${what} in the namespace "${namespace}"${reason === '' ? '' : `: ${reason}`}; ${cure}`);
  }

  async #task({ namespace, name }: Pick<Asked, 'namespace' | 'name'>, signal: AbortSignal): Promise<AgentTask> {
    const task = await this.#options.taskOf({ namespace, name }, signal);
    if (task !== undefined) return task;
    const cure = 'it was never there, or was deleted; what a deleted task left lies in the storage of its pool until its retention ends';
    throw new Refused(404, `agenttasks.agentfleet.dev "${name}" not found in the namespace "${namespace}": ${cure}`);
  }

  async #serve(response: ServerResponse, asked: Asked, caller: Caller, signal: AbortSignal): Promise<void> {
    const task = await this.#task(asked, signal);
    if (asked.part === 'artifacts') return this.#artifacts(response, task, asked.artifact, signal);
    const again = async (until: AbortSignal): Promise<AgentTask | undefined> => {
      await this.#allow(caller, asked, until);
      const now = await this.#options.taskOf(asked, until);
      return now?.metadata.uid === task.metadata.uid ? now : undefined; // another one of the same name is none of ours
    };
    // A conversation is read from its beginning: what its later lines mean follows from earlier ones.
    const since = asked.part === 'conversation' ? 0 : asked.since;
    const { workers, clock } = this.#options;
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    const records = await openRecords({ task, again, workers, since, follow: asked.follow, clock }, until);
    response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    response.flushHeaders();
    const lines = asked.part === 'log' ? logLines(records) : this.#conversation(records, asked, over);
    await pipeline(Readable.from(lines), response, { signal });
  }

  /** @param over ends the records: of a conversation that is followed when it has to pause */
  async *#conversation(records: AsyncIterable<LoggedRecord>, { since, follow }: Asked, over: AbortController): AsyncGenerator<string> {
    const { clock } = this.#options;
    const conversation = new Conversation();
    let seq = since;
    const timer = follow ? clock.after(conversationStreamMs, () => over.abort()) : undefined;
    try {
      for await (const { record } of records) {
        if (over.signal.aborted) break;
        const entry = conversation.read(record);
        if (entry === undefined || entry.seq <= since) continue;
        seq = entry.seq;
        yield `${JSON.stringify(entry)}\n`;
      }
    } catch (error) {
      if (!over.signal.aborted) throw error;
    } finally {
      timer?.cancel();
    }
    if (over.signal.aborted) yield `${JSON.stringify({ type: 'Pause', seq, at: new Date(clock.now()).toISOString() })}\n`;
  }

  async #artifacts(response: ServerResponse, task: AgentTask, name: string | undefined, signal: AbortSignal): Promise<void> {
    const { namespace = '', name: own, uid = '' } = task.metadata;
    const artifacts = task.status?.run?.artifacts ?? [];
    if (name === undefined) {
      const items = artifacts.map(({ name: file, bytes, sha256 }) => ({ name: file, bytes, sha256 }));
      const list: ArtifactList = {
        apiVersion: resultsApi.apiVersion,
        kind: 'ArtifactList',
        metadata: { namespace, name: own, uid },
        items,
      };
      return json(response, 200, list);
    }
    const artifact = artifacts.find((one) => one.name === name);
    if (artifact === undefined) {
      const known = artifacts.length === 0 ? 'it has none yet' : `it has ${artifacts.map((one) => one.name).join(', ')}`;
      throw new Refused(404, `AgentTask ${own} has no artifact "${name}": ${known}`);
    }
    const found = await this.#options.workers.artifact(task, artifact.uri, signal);
    if (found === undefined)
      throw new Refused(
        404,
        `artifact ${name} of AgentTask ${own} is not in the storage of its pool any more: spec.policy.maxRetentionSeconds of the pool, the life cycle of its bucket or a person removed it, or the pool stores elsewhere now`,
      );
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-disposition': 'attachment',
      ...(found.bytes !== undefined && { 'content-length': found.bytes }),
    });
    await pipeline(found.body, response, { signal });
  }
}

async function* logLines(records: AsyncIterable<LoggedRecord>): AsyncGenerator<string> {
  for await (const { line } of records) yield `${line}\n`;
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(`${JSON.stringify(body)}\n`);
}
