// The results server beside a real API server: aggregation, RBAC and tokens are real; a worker's part serves a real volume.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { VolumeStore } from '@agentfleet/agent/store';
import { type ChainHead, genesis } from '@agentfleet/keeper/log';
import { createTransport, serveEndpoints, silentLog, systemClock, type Endpoints, type Transport } from '@agentfleet/kube';
import type { AuditType } from '@agentfleet/protocol/keeper';
import { resultsAccount, resultsApi, resultsAudience, resultsPath, type ResultsPart } from '@agentfleet/protocol/results';
import { serviceAccountSubject } from '@agentfleet/protocol/tokens';
import { nextRecord, recordLine } from '../../sandbox-image/keeper/src/log/chain.ts';
import { ResultsHandler } from '../../agent-image/src/http/results.ts';
import { createSealer, type Sealer } from '../../agent-image/src/durable/index.ts';
import { kubeconfigPath, up, type Cluster } from '../../hack/cluster/index.ts';
import { workersName } from '../../operator/src/pools/names.ts';
import { startCopying, startResults, type RunningResults } from '../../operator/src/results/index.ts';
import { render, type Manifest, type Rule } from './chart/rendered.ts';
import * as example from './api/examples.ts';
import { withValue, type Node } from './api/fields.ts';
import { collection, connect, createNamespace, install, until, type Server } from './api/server.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const services = '/apis/apiregistration.k8s.io/v1/apiservices';
const serviceName = `${resultsApi.version}.${resultsApi.group}`;

export interface Raw {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

interface RawOptions {
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Called with each piece; default: they are collected. */
  readonly onData?: (text: string) => void;
  readonly signal?: AbortSignal;
  readonly cert?: string;
  readonly key?: string;
}

/** One namespace with a results server, a pool's volume and tasks. */
export class ResultsBed {
  readonly server: Server;
  readonly cluster: Cluster;
  readonly namespace: string;
  readonly store: VolumeStore;
  readonly sealer: Sealer = createSealer(null);
  readonly #folder: string;
  readonly #heads = new Map<string, ChainHead>();
  readonly #config = new KubeConfig();
  transport!: Transport;
  results!: RunningResults;
  /** URL of the workers' answers. */
  workersUrl = '';
  #worker!: Endpoints;

  private constructor(server: Server, cluster: Cluster, namespace: string, folder: string) {
    this.server = server;
    this.cluster = cluster;
    this.namespace = namespace;
    this.#folder = folder;
    this.store = new VolumeStore({ folder, claim: 'coding-artifacts', spool: tmpdir(), clock: systemClock });
  }

  /** @param copies without the aggregation layer: artifacts are copied in place of being served; name: of the namespace */
  static async start({ copies = false, name }: { readonly copies?: boolean; readonly name?: string } = {}): Promise<ResultsBed> {
    const server = await connect();
    await install(server);
    const cluster = await up({ tier: 'control-plane', log: () => undefined });
    const folder = await mkdtemp(join(tmpdir(), 'results-volume-'));
    const bed = new ResultsBed(server, cluster, await createNamespace(server, name), folder);
    bed.#config.loadFromFile(await kubeconfigPath());
    await bed.#open(copies);
    return bed;
  }

  async close(): Promise<void> {
    await this.server.ask('DELETE', `${services}/${serviceName}`);
    await this.results.stop();
    await this.#worker.close();
    await this.transport.close();
    await this.server.ask('DELETE', `${rbac}/clusterroles/${this.namespace}-viewer`);
    await this.server.ask('DELETE', `${rbac}/clusterroles/${this.namespace}-results`);
    await this.server.ask('DELETE', `${rbac}/clusterrolebindings/${this.namespace}-results`);
    await this.server.ask('DELETE', `${rbac}/namespaces/kube-system/rolebindings/${this.namespace}-results`);
    await this.server.ask('DELETE', `/api/v1/namespaces/${this.namespace}`);
    await rm(this.#folder, { recursive: true });
  }

  async post(path: string, body: unknown): Promise<Node> {
    const answer = await this.server.ask('POST', path, { body });
    if (answer.status > 201) throw new Error(`${path}: ${answer.body.message}`);
    return answer.body as unknown as Node;
  }

  /** The token of a new ServiceAccount of the namespace. */
  async account(name: string): Promise<string> {
    await this.post(`/api/v1/namespaces/${this.namespace}/serviceaccounts`, { metadata: { name } });
    const { status } = (await this.post(`/api/v1/namespaces/${this.namespace}/serviceaccounts/${name}/token`, { spec: {} })) as {
      status: { token: string };
    };
    return status.token;
  }

  bind(role: string, name: string, namespace = this.namespace, kind = 'ClusterRole'): Promise<Node> {
    return this.post(`${rbac}/namespaces/${namespace}/rolebindings`, {
      metadata: { name: `${this.namespace}-${name}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
      subjects: [{ kind: 'ServiceAccount', name, namespace: this.namespace }],
    });
  }

  /** Gives the server the chart's rights, under names of this test, so that an installation beside it is not affected. */
  async #access(rendered: readonly Manifest[], copies: boolean): Promise<void> {
    const rulesOf = (kind: string, name: string): readonly Rule[] =>
      rendered.find((one) => one.kind === kind && one.metadata.name === name)?.rules ?? [];
    for (const [name, role] of [
      ['viewer', 'agentfleet-viewer'],
      ['results', resultsAccount],
    ] as const)
      await this.post(`${rbac}/clusterroles`, { metadata: { name: `${this.namespace}-${name}` }, rules: rulesOf('ClusterRole', role) });
    await this.post(`${rbac}/clusterrolebindings`, {
      metadata: { name: `${this.namespace}-results` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `${this.namespace}-results` },
      subjects: [{ kind: 'ServiceAccount', name: resultsAccount, namespace: this.namespace }],
    });
    const own = { metadata: { name: resultsAccount }, rules: rulesOf('Role', resultsAccount) };
    await this.post(`${rbac}/namespaces/${this.namespace}/roles`, own);
    await this.bind(resultsAccount, resultsAccount, this.namespace, 'Role');
    if (copies) return;
    await this.post(`${rbac}/namespaces/kube-system/rolebindings`, {
      metadata: { name: `${this.namespace}-results` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'extension-apiserver-authentication-reader' },
      subjects: [{ kind: 'ServiceAccount', name: resultsAccount, namespace: this.namespace }],
    });
  }

  async #open(copies: boolean): Promise<void> {
    const { namespace } = this;
    const token = await this.account(resultsAccount);
    await this.#access(await render(this.cluster.bin('helm'), namespace, { results: { aggregation: !copies } }), copies);
    const { server, ca } = this.address;
    this.transport = createTransport(
      { server, credentials: () => Promise.resolve({ tls: { ca }, authorization: `Bearer ${token}` }) },
      { userAgent: 'agentfleet-results/test' },
    );
    await this.#startWorker();
    if (copies) await this.#copy();
    else await this.#serve();
  }

  async #copy(): Promise<void> {
    const { transport, namespace } = this;
    const common = { transport, namespace, port: 0, host: '127.0.0.1', clock: systemClock, log: silentLog, urlOf: () => this.workersUrl };
    this.results = await startCopying({ ...common, random: Math.random, watched: [namespace] });
  }

  async #serve(): Promise<void> {
    const { server, namespace } = this;
    await this.post(`/api/v1/namespaces/${namespace}/secrets`, { metadata: { name: 'agentfleet-results-tls' } });
    await this.post(`/api/v1/namespaces/${namespace}/services`, {
      metadata: { name: resultsAccount },
      spec: { type: 'ExternalName', externalName: 'localhost' },
    });
    const service = { name: resultsAccount, namespace, port: 443 };
    const spec = { group: resultsApi.group, version: resultsApi.version, groupPriorityMinimum: 100, versionPriority: 100, service };
    await server.ask('DELETE', `${services}/${serviceName}`);
    await this.post(services, { metadata: { name: serviceName }, spec });
    this.results = await startResults(
      {
        transport: this.transport,
        namespace,
        port: 0,
        host: '127.0.0.1',
        clock: systemClock,
        log: silentLog,
        urlOf: () => this.workersUrl,
      },
      AbortSignal.timeout(30_000),
    );
    const patch = { spec: { service: { port: this.results.port } } };
    await server.ask('PATCH', `${services}/${serviceName}`, { body: patch, type: 'application/merge-patch+json' });
    await until('the API is available', async () => {
      const { body } = await server.ask('GET', `${services}/${serviceName}`);
      const conditions = (body.status?.['conditions'] ?? []) as { type: string; status: string }[];
      return conditions.some(({ type, status }) => type === 'Available' && status === 'True');
    });
  }

  async #startWorker(): Promise<void> {
    const jwksFile = join(this.#folder, '..', `${this.namespace}-jwks.json`);
    const jwks = await this.server.ask('GET', '/openid/v1/jwks', { accept: 'application/jwk-set+json' });
    await writeFile(jwksFile, JSON.stringify(jwks.body));
    const { issuer } = (await this.server.ask('GET', '/.well-known/openid-configuration')).body as unknown as { issuer: string };
    const callers = {
      audience: resultsAudience(this.namespace, workersName('coding')),
      subjects: [serviceAccountSubject(this.namespace, resultsAccount)],
    };
    const handler = new ResultsHandler({
      access: { issuer, jwksFile, callers, metricsReaders: [] },
      place: () => ({ type: 'Volume', path: this.#folder, claim: 'coding-artifacts' }),
      openStore: () => this.store,
      clock: systemClock,
      log: silentLog,
    });
    this.#worker = await serveEndpoints({ port: 0, host: '127.0.0.1', more: handler.handle });
    this.workersUrl = `http://127.0.0.1:${this.#worker.port}`;
  }

  /** Makes a task whose last attempt left these files. Returns its uid. */
  async task(name: string, files: Readonly<Record<string, string | Buffer>> = {}, finished = true): Promise<string> {
    const path = collection(this.namespace, 'agenttasks');
    const body = withValue(withValue(example.minimalTask, 'metadata.name', name), 'spec.poolRef', { name: 'coding' });
    const { metadata } = (await this.post(path, body)) as { metadata: { uid: string } };
    const artifacts = [];
    for (const [file, content] of Object.entries(files)) {
      const key = `${this.namespace}/${name}/${metadata.uid}/1/${file}`;
      artifacts.push({ name: file, ...(await this.store.put(key, content, 'text/plain')) });
    }
    const { run, ...status } = example.fullTaskStatus as { run: object };
    await this.status(name, { ...status, finished: String(finished), run: { ...run, artifacts } });
    return metadata.uid;
  }

  async status(name: string, status: object): Promise<void> {
    const path = `${collection(this.namespace, 'agenttasks')}/${name}/status`;
    const answer = await this.server.ask('PATCH', path, { body: { status }, type: 'application/merge-patch+json' });
    if (answer.status !== 200) throw new Error(answer.body.message);
  }

  /** Appends records to the mirror of a task's log, as a worker would: notes, or records of another `type` with their `body`. */
  async mirror(uid: string, from: number, bodies: readonly object[]): Promise<void> {
    let head = this.#heads.get(uid) ?? { seq: 0, hash: genesis };
    const lines = bodies.map((one) => {
      const { type = 'Noted', body = one } = one as { readonly type?: AuditType; readonly body?: object };
      const record = nextRecord(head, { at: new Date().toISOString(), type, epoch: 1, body: { ...body } });
      head = record;
      return recordLine(record);
    });
    this.#heads.set(uid, head);
    const pad = (value: number, digits: number): string => String(value).padStart(digits, '0');
    const key = `checkpoints/${this.namespace}/${uid}/log/${pad(from, 12)}-${pad(from + bodies.length - 1, 12)}-${pad(1, 10)}`;
    await this.store.put(key, await this.sealer.seal(key, Buffer.from(`${lines.join('\n')}\n`)), 'application/octet-stream');
  }

  /** Address of the API server, for a client with a token. */
  get address(): { readonly server: string; readonly ca: string } {
    const at = this.#config.getCurrentCluster()!;
    return { server: at.server, ca: Buffer.from(at.caData ?? '', 'base64').toString() };
  }

  pathOf(task: string, part: ResultsPart, file?: string, namespace = this.namespace): string {
    return resultsPath({ namespace, name: task }, part, file);
  }

  /** Asks the API server, or with `direct` the results server itself. */
  raw(path: string, options: RawOptions = {}, direct = false): Promise<Raw> {
    const { token, headers = {}, onData, signal, cert, key } = options;
    const at = this.#config.getCurrentCluster()!;
    const address = direct ? new URL(`https://127.0.0.1:${this.results.port}`) : new URL(at.server);
    return new Promise((resolve, reject) => {
      const outgoing = httpsRequest(
        {
          host: address.hostname,
          port: address.port,
          path,
          headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
          ...(direct ? { rejectUnauthorized: false } : { ca: Buffer.from(at.caData ?? '', 'base64') }),
          ...(signal === undefined ? {} : { signal }),
          cert,
          key,
          agent: false,
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => (onData === undefined ? void chunks.push(chunk) : onData(chunk.toString())));
          response.on('error', reject);
          response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }));
        },
      );
      outgoing.on('error', reject);
      outgoing.end();
    });
  }

  /** Certificate and key of the administrator: under the authority of clients, not under that of the front proxy. */
  administrator(): { readonly cert: string; readonly key: string } {
    const user = this.#config.getCurrentUser()!;
    const text = (data: string | undefined): string => Buffer.from(data ?? '', 'base64').toString();
    return { cert: text(user.certData), key: text(user.keyData) };
  }
}
