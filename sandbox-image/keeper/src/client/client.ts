import { type FinishedSpan, spansOf } from '@agentfleet/protocol/tracing';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import {
  type Adopted,
  type AdoptionRequest,
  type AstEditReport,
  type AstEditRequest,
  type AuditRecord,
  type AuditReport,
  type ExecEvent,
  type ExecRequest,
  type ExecWaited,
  type FileLines,
  type FileList,
  type FileReplaced,
  type FileWritten,
  type KeeperInfo,
  type Note,
  type NoteWritten,
  type Part,
  type PatchReport,
  type PatchRequest,
  type Redaction,
  type ReplaceRequest,
  type RestoreReport,
  type ScrubReport,
  type SearchQuery,
  type SearchResult,
  type SecretsDeclared,
  type SecretsRequest,
  type SessionInfo,
  type SessionRequest,
  type SessionRunRequest,
  type SnapshotRecord,
  type StdinTaken,
  type SyntaxMode,
  type TreeDiff,
  type TreeWritten,
  egressUpgrade,
  epochHeader,
  treeHeaders,
} from '@agentfleet/protocol/keeper';
import {
  type ExecResult,
  type KeeperClientOptions,
  KeeperRefusal,
  Transport,
  answerBounds as bounds,
  collect,
  maxRefusalBytes,
  readWhole,
} from './transport.ts';
import { ulid } from 'ulid';

const answerMs = 15_000;

/** Opens a connection and requests an upgrade on it. Rejects with {@link KeeperRefusal}, or when no answer comes. */
function openTunnel(url: URL, headers: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const asked = request(url, {
    method: 'POST',
    headers: { ...headers, connection: 'upgrade', upgrade: egressUpgrade, 'content-length': 0 },
    // No agent, so that this is used: a direction that ended must not end the other one.
    createConnection: () => connect({ host, port: Number(url.port), allowHalfOpen: true, keepAlive: true, keepAliveInitialDelay: 30_000 }),
    ...(signal === undefined ? {} : { signal }),
  });
  const late = Object.assign(new Error(`the keeper did not answer within ${answerMs / 1000} s`), { code: 'ETIMEDOUT' });
  // Bounds the time of the whole answer, not only of its next byte.
  const timer = setTimeout(() => asked.destroy(late), answerMs);
  asked.once('close', () => clearTimeout(timer));
  asked.once('error', reject);
  asked.once('upgrade', (_answer, socket: Duplex, head: Buffer) => {
    clearTimeout(timer);
    socket.on('error', () => undefined); // its close event reports it
    if (head.length > 0) socket.unshift(head);
    resolve(socket);
  });
  asked.once('response', (answer) => void refusalOf(answer).then(reject, reject));
  asked.end();
  return promise;
}

async function refusalOf(answer: IncomingMessage): Promise<KeeperRefusal> {
  const said = await readWhole(answer, '/v1/egress', maxRefusalBytes);
  return KeeperRefusal.from(answer.statusCode ?? 0, said.toString('utf8'));
}

/**
 * Client of one keeper (`@agentfleet/protocol/keeper` lists the requests). Every method rejects with a `KeeperRefusal`
 * when the keeper refuses, and when its answer exceeds the route's bounds of length, time or depth (`answerBounds`);
 * such an answer is discarded.
 */
export class KeeperClient {
  readonly #options: KeeperClientOptions;
  readonly #http: Transport;

  constructor(options: KeeperClientOptions) {
    this.#options = options;
    this.#http = new Transport(options);
  }

  info(signal?: AbortSignal): Promise<KeeperInfo> {
    return this.#http.json({ method: 'GET', path: '/v1/info', signal });
  }

  /** Starts a command, or replays it when its execId is known, and yields its events to the end. */
  exec(body: ExecRequest, signal?: AbortSignal): AsyncGenerator<ExecEvent> {
    return this.#http.lines({ method: 'POST', path: '/v1/exec', json: body, signal, bound: bounds.exec });
  }

  /** Follows a known command from sequence number `from` on. */
  follow(execId: string, from = 1, signal?: AbortSignal): AsyncGenerator<ExecEvent> {
    return this.#http.lines({ method: 'GET', path: `/v1/exec/${execId}`, query: { from }, signal, bound: bounds.exec });
  }

  /** A range of output that is in a file of the store (`ExecEnd.spill`); by default all of it. */
  async spilledOutput(execId: string, stream: 'stdout' | 'stderr', offset?: number, bytes?: number): Promise<Readable> {
    const query = { stream, offset, bytes };
    return (await this.#http.stream({ method: 'GET', path: `/v1/exec/${execId}/output`, query, bound: bounds.spill })).body;
  }

  /** Runs a command to its end and collects both outputs. */
  run(body: ExecRequest, signal?: AbortSignal): Promise<ExecResult> {
    return collect(this.exec(body, signal));
  }

  /** Waits at most `seconds` (60) for the end of a command; null when it runs on. */
  async waitFor(execId: string, seconds?: number): Promise<ExecWaited['end']> {
    return (await this.#http.json<ExecWaited>({ method: 'GET', path: `/v1/exec/${execId}/wait`, query: { seconds } })).end;
  }

  /** Part `seq` (1, 2, …) of the input of a command with stdinMode Open or a pty. Repeat the same part when there was no answer. */
  writeStdin(execId: string, seq: number, bytes: string | Uint8Array, eof = false): Promise<StdinTaken> {
    const query = { seq, eof: String(eof) };
    return this.#http.json({ method: 'POST', path: `/v1/exec/${execId}/stdin`, query, bytes: Buffer.from(bytes) });
  }

  async resizeTerminal(execId: string, rows: number, columns: number): Promise<void> {
    await this.#http.json({ method: 'POST', path: `/v1/exec/${execId}/resize`, json: { rows, columns } });
  }

  /** Sends SIGINT to the processes of a command. */
  async interrupt(execId: string): Promise<void> {
    await this.#http.json({ method: 'POST', path: `/v1/exec/${execId}/interrupt` });
  }

  /** Opens a shell that lives over many commands. */
  openSession(session: SessionRequest): Promise<SessionInfo> {
    return this.#http.json({ method: 'POST', path: '/v1/sessions', json: session });
  }

  async sessions(): Promise<readonly SessionInfo[]> {
    return (await this.#http.json<{ items: SessionInfo[] }>({ method: 'GET', path: '/v1/sessions' })).items;
  }

  /** Starts a command in a session and yields its events to the end; otherwise like {@link exec}. */
  execInSession(sessionId: string, body: SessionRunRequest, signal?: AbortSignal): AsyncGenerator<ExecEvent> {
    return this.#http.lines({ method: 'POST', path: `/v1/sessions/${sessionId}/run`, json: body, signal, bound: bounds.exec });
  }

  /** Runs a command in a session to its end and collects both outputs. */
  runInSession(sessionId: string, body: SessionRunRequest): Promise<ExecResult> {
    return collect(this.execInSession(sessionId, body));
  }

  async closeSession(sessionId: string): Promise<void> {
    await this.#http.json({ method: 'DELETE', path: `/v1/sessions/${sessionId}` });
  }

  async cancel(execId: string): Promise<void> {
    await this.#http.json({ method: 'DELETE', path: `/v1/exec/${execId}` });
  }

  /** A file without its secrets; `Raw` gives its exact bytes, as edits and artifacts need them, which is noted. */
  readFile(path: string, redaction?: Redaction): Promise<Buffer> {
    return this.#http.bytes({ method: 'GET', path: '/v1/files', query: { path, redaction }, bound: bounds.file });
  }

  /** Writes a file atomically; `mode` is octal text such as `755`. Only `Check` checks the syntax of the new content. */
  writeFile(path: string, content: string | Uint8Array, mode?: string, syntax?: SyntaxMode): Promise<FileWritten> {
    return this.#http.json({ method: 'PUT', path: '/v1/files', query: { path, mode, syntax }, bytes: Buffer.from(content) });
  }

  /** Lines of a text file, from 1, both ends included. */
  readLines(path: string, from?: number, to?: number): Promise<FileLines> {
    return this.#http.json({ method: 'GET', path: '/v1/files/lines', query: { path, from, to }, bound: bounds.report });
  }

  /** Lists the entries below a folder, `depth` levels deep. */
  listFiles(path: string, depth?: number, limit?: number): Promise<FileList> {
    return this.#http.json({ method: 'GET', path: '/v1/files/list', query: { path, depth, limit }, bound: bounds.report });
  }

  /** Lines that hold a text or match a regular expression, in the text files below a folder, or in one file. */
  searchFiles(query: SearchQuery, signal?: AbortSignal): Promise<SearchResult> {
    return this.#http.json({ method: 'GET', path: '/v1/files/search', query, signal, bound: bounds.report });
  }

  /** Replaces a text that occurs exactly once in a file. */
  replaceInFile(edit: ReplaceRequest): Promise<FileReplaced> {
    return this.#http.json({ method: 'POST', path: '/v1/files/replace', json: edit, bound: bounds.report });
  }

  /** Replaces code by its structure: `$NAME` is one node, `$$$NAME` any number of neighbours. */
  astEdit(edit: AstEditRequest): Promise<AstEditReport> {
    return this.#http.json({ method: 'POST', path: '/v1/files/ast-edit', json: edit, bound: bounds.report });
  }

  /** Names the values that no answer may show, in the place of those before. A keeper that restarts forgets them. */
  declareSecrets(secrets: SecretsRequest['secrets']): Promise<SecretsDeclared> {
    return this.#http.json({ method: 'PUT', path: '/v1/secrets', json: { secrets } });
  }

  /** Reads the whole snapshot store and compares it with its hashes. */
  scrub(): Promise<ScrubReport> {
    return this.#http.json({ method: 'POST', path: '/v1/scrub', bound: bounds.work });
  }

  /** Applies a unified diff whole or not at all; a known requestId is answered again. */
  applyPatch(patch: PatchRequest): Promise<PatchReport> {
    return this.#http.json({ method: 'POST', path: '/v1/files/patch', json: patch, bound: bounds.report });
  }

  /** Unpacks a tar below a folder. It is not atomic: take a snapshot first, restore it when this rejects. */
  writeTree(path: string, tar: Readable | Uint8Array, signal?: AbortSignal): Promise<TreeWritten> {
    return this.#http.json({ method: 'PUT', path: '/v1/tree', query: { path }, tar, signal, bound: bounds.work });
  }

  /** A tar of all that is below a folder; how many sockets, fifos, devices and closed files it leaves out. Read it to its end or destroy it. */
  async readTree(path: string): Promise<{ readonly tar: Readable; readonly skipped: number }> {
    const { body, headers } = await this.#http.stream({ method: 'GET', path: '/v1/tree', query: { path }, bound: bounds.tree });
    return { tar: body, skipped: Number(headers[treeHeaders.skipped] ?? 0) };
  }

  /** Puts a decision into the event log; it is on disk when this resolves. `kind` is CamelCase. */
  note(kind: string, data: Readonly<Record<string, unknown>>): Promise<NoteWritten> {
    return this.noteAll([{ kind, data }]);
  }

  /** Appends decisions to the event log in order, with one wait for the disk. A crash keeps a prefix of them. */
  noteAll([first, ...next]: readonly [Note, ...Note[]]): Promise<NoteWritten> {
    const json = { ...first, ...(next.length > 0 && { next }) };
    return this.#http.json({ method: 'POST', path: '/v1/notes', json });
  }

  takeSnapshot(label?: string): Promise<SnapshotRecord> {
    return this.#http.json({ method: 'POST', path: '/v1/snapshots', json: label === undefined ? {} : { label }, bound: bounds.work });
  }

  /** Takes the spans of a trace out of the keeper, which itself may reach no receiver. */
  async spans(traceId: string, signal?: AbortSignal): Promise<readonly FinishedSpan[]> {
    return spansOf(await this.#http.json({ method: 'GET', path: '/v1/spans', signal, bound: bounds.report }), traceId);
  }

  async snapshots(): Promise<readonly SnapshotRecord[]> {
    return (await this.#http.json<{ items: SnapshotRecord[] }>({ method: 'GET', path: '/v1/snapshots', bound: bounds.report })).items;
  }

  /** Canonical text of a snapshot's manifest; its SHA-256 is the snapshot's digest. */
  manifest(id: string, signal?: AbortSignal): Promise<Buffer> {
    return this.#http.bytes({ method: 'GET', path: `/v1/snapshots/${id}/manifest`, signal, bound: bounds.manifest });
  }

  /** Returns parts of contents, each after its header; read them with `partsOf`. */
  exportParts(parts: readonly Part[], signal?: AbortSignal): Promise<Buffer> {
    return this.#http.bytes({ method: 'POST', path: '/v1/objects', json: { parts }, signal, bound: bounds.parts });
  }

  /** Begins, step by step, to bring log and snapshots of a lost keeper into this one, which must know nothing. */
  async beginAdoption(signal?: AbortSignal): Promise<void> {
    await this.#http.json({ method: 'POST', path: '/v1/adoption', json: {}, signal });
  }

  async adoptLog(lines: Readable | Uint8Array, signal?: AbortSignal): Promise<void> {
    await this.#http.json({ method: 'PUT', path: '/v1/adoption/log', bytes: lines, signal, bound: bounds.work });
  }

  async adoptParts(parts: Uint8Array, signal?: AbortSignal): Promise<void> {
    await this.#http.json({ method: 'PUT', path: '/v1/adoption/objects', bytes: parts, signal, bound: bounds.work });
  }

  async adoptManifest(id: string, text: Uint8Array, signal?: AbortSignal): Promise<void> {
    await this.#http.json({ method: 'PUT', path: `/v1/adoption/manifests/${id}`, bytes: text, signal, bound: bounds.work });
  }

  /** Puts all in place, or nothing. */
  commitAdoption(request: AdoptionRequest, signal?: AbortSignal): Promise<Adopted> {
    return this.#http.json({ method: 'POST', path: '/v1/adoption/commit', json: request, signal, bound: bounds.work });
  }

  async dropAdoption(): Promise<void> {
    await this.#http.json({ method: 'DELETE', path: '/v1/adoption' });
  }

  restore(id: string): Promise<RestoreReport> {
    return this.#http.json({ method: 'POST', path: `/v1/snapshots/${id}/restore`, bound: bounds.work });
  }

  /** `Raw` for a diff that will be applied, or whose names are judged. */
  diff(from: string, to?: string, redaction?: Redaction): Promise<TreeDiff> {
    return this.#http.json({ method: 'GET', path: '/v1/diff', query: { from, to, redaction }, bound: bounds.diff });
  }

  /** The tar with the revert script of `from` → `to`. */
  async revertBundle(from: string, to?: string): Promise<Readable> {
    return (await this.#http.stream({ method: 'GET', path: '/v1/revert', query: { from, to }, bound: bounds.tree })).body;
  }

  events(from = 1): AsyncGenerator<AuditRecord> {
    return this.#http.lines({ method: 'GET', path: '/v1/events', query: { from }, bound: bounds.log });
  }

  audit(): Promise<AuditReport> {
    return this.#http.json({ method: 'GET', path: '/v1/audit', bound: bounds.work });
  }

  /** Asks for a fresh tools container. The kubelet starts it; `info().tools.instance` then differs. */
  async restartTools(): Promise<void> {
    await this.#http.json({ method: 'POST', path: '/v1/tools/restart' });
  }

  /**
   * Parks a tunnel for one connection out of the sandbox. Its first byte arrives when a command has connected; either
   * direction may end first. After that, aborting the signal has no effect: destroy the stream.
   */
  async egress(signal?: AbortSignal): Promise<Duplex> {
    const authorization = `Bearer ${await this.#options.token()}`;
    const headers = { authorization, [epochHeader]: String(this.#options.epoch) };
    return openTunnel(new URL('/v1/egress', this.#options.baseUrl), headers, signal);
  }

  async close(): Promise<void> {
    await this.#http.close();
  }
}

/** Returns a new execId: a ULID, so that ids sort by time. Exported separately for importers that must not load the client. */
export function newExecId(): string {
  return ulid();
}
