/**
 * Measures what one write to the status of an AgentTask costs the API server, beside one to a Sandbox of agent-sandbox, in one run. The
 * writer is an account in a pod, as a worker is. All kinds are copies in groups of their own: a cluster's own definitions stay as they are.
 */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { bootstrap, quantile, seeded } from '@agentfleet/eval/stats';
import {
  createTransport,
  defineResource,
  kubeconfigConfig,
  ResourceClient,
  type Declaration,
  type KubeObject,
  type Transport,
} from '@agentfleet/kube';
import { agentTask, customResourceDefinition } from '@agentfleet/protocol/api';
import { load, loadAll } from 'js-yaml';
import { moduleDir } from '../cluster/build/binaries.ts';
import { up } from '../cluster/index.ts';
import { podTemplate } from './operator/peer.ts';
import { poll } from './operator/subject.ts';
import { metricOf } from './operator/process.ts';
import { finishedTask } from './operator/scale/population.ts';
import { hasCondition } from '../cluster/base/api.ts';
import type { Row } from './report/table.ts';

/** Blocks of each kind, after one that warms up and does not count. */
const rounds = 9;
const writesOfBlock = 150;
/** A block lasts at least as long, and so does the block in which nothing is written. */
const blockMs = 3000;
const objects = 10;
const atOnce = 2;

type Schema = Readonly<Record<string, unknown>>;
interface Version {
  readonly name: string;
  readonly storage: boolean;
  readonly schema: { readonly openAPIV3Schema: Schema };
}
interface Definition {
  readonly spec: { readonly names: { readonly plural: string; readonly kind: string }; readonly versions: readonly Version[] };
}

/** A kind that is written. */
interface Subject {
  readonly name: string;
  readonly definition: Definition;
  readonly fenced?: boolean;
  readonly spec: object;
  /** Returns the status that others than the writer have written. */
  status(namespace: string): object | undefined;
  /** Returns the nth declaration of the writer. */
  written(n: number): object;
}

const named = (group: string, version: string, plural: string, kind: string, namespaced: boolean) =>
  defineResource<KubeObject & Readonly<Record<string, unknown>>>(`${group}/${version}`, kind, plural, namespaced);
const admission = 'admissionregistration.k8s.io';
const definitions = named('apiextensions.k8s.io', 'v1', 'customresourcedefinitions', 'CustomResourceDefinition', false);
const policies = named(admission, 'v1', 'validatingadmissionpolicies', 'ValidatingAdmissionPolicy', false);
const bindings = named(admission, 'v1', 'validatingadmissionpolicybindings', 'ValidatingAdmissionPolicyBinding', false);
const rbac = 'rbac.authorization.k8s.io';
const by = { fieldManager: 'bench' };
const crds = fileURLToPath(new URL('../../crds', import.meta.url));

/** A definition with another schema in the one version that is stored. */
function changed({ spec }: Definition, change: (schema: Schema) => Schema, more: object = {}): Definition {
  const stored = spec.versions.filter(({ storage }) => storage);
  const versions = stored.map((each) => ({ ...each, schema: { openAPIV3Schema: change(each.schema.openAPIV3Schema) }, ...more }));
  return { spec: { ...spec, versions } };
}

function shapeless(): Schema {
  const any = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return { type: 'object', properties: { spec: any, status: any } };
}

const digest = `sha256:${'ab'.repeat(32)}`;
const since = '2030-01-01T00:00:00Z';

function runAt(n: number): object {
  const usage = { tokensIn: 41_234 + n, tokensOut: 9876, toolCalls: n, cpuMillis: 81_234, wallSeconds: 611, candidates: 31, vetoes: 2 };
  return {
    attempt: 1,
    epoch: 1,
    progress: { done: n % 9, total: 9, message: `edits src/parser.ts, try ${n}` },
    snapshots: { initial: 's0000' },
    usage: { ...usage, backtracks: 1 },
    signals: { energy: '-1.25', pSuccess: '0.8' },
    experts: ['gen', 'value', 'policy'].map((name) => ({ role: 'Generalist', name, digest })),
    isolation: { level: 'Landlock', network: 'Enforced' },
  };
}

function taskSubject(name: string, definition: Definition, fenced = false): Subject {
  const { spec, status } = finishedTask('any', Date.parse(since)) as { spec: object; status: { assignment: object; conditions: object[] } };
  const { assignment, conditions } = status;
  return {
    name,
    definition,
    fenced,
    spec,
    status: (workerNamespace) => ({ phase: 'Running', conditions, assignment: { ...assignment, workerNamespace } }),
    written: (n) => ({ run: runAt(n) }),
  };
}

function peerSubject(name: string, definition: Definition, template: object): Subject {
  const condition = (type: string, n: number): object => {
    const message = `Pod is Ready; Service Exists (${n})`;
    return { type, status: 'True', reason: 'DependenciesReady', message, lastTransitionTime: since, observedGeneration: 1 };
  };
  return {
    name,
    definition,
    spec: { podTemplate: template },
    status: () => undefined,
    written: (n) => ({
      serviceFQDN: 'any.team.svc.cluster.local',
      service: 'any',
      selector: 'agents.x-k8s.io/sandbox-name-hash=0a1b2c3d',
      podIPs: ['10.0.0.1'],
      nodeName: 'node-0',
      conditions: ['Suspended', 'PodScheduled', 'Ready'].map((type) => condition(type, n)),
    }),
  };
}

async function subjects(): Promise<readonly Subject[]> {
  const read = async (path: string): Promise<Definition> => load(await readFile(path, 'utf8')) as Definition;
  const ours = await read(join(crds, 'agentfleet.dev_agenttasks.yaml'));
  // By version and hash of go.mod and go.sum beside the family.
  const theirs = await read(join(await moduleDir('agent-sandbox'), 'k8s', 'crds', 'agents.x-k8s.io_sandboxes.yaml'));
  const { rulesInPolicy: _, ...schemaOnly } = agentTask;
  const peer = changed(theirs, (schema) => schema);
  const resources = { requests: { cpu: '250m', memory: '512Mi' } };
  const container = { name: 'agent', image: 'registry.invalid/agent:1', resources };
  return [
    taskSubject('AgentTask', ours, true),
    taskSubject('with the rules of its spec in the schema', customResourceDefinition(schemaOnly) as unknown as Definition, true),
    taskSubject('without policies', ours),
    taskSubject('and without a schema', changed(ours, shapeless, { selectableFields: [] })),
    peerSubject('Sandbox with our pod', peer, podTemplate()),
    peerSubject('Sandbox of one container', peer, { spec: { containers: [container] } }),
  ];
}

/** A namespace with everything that is measured; gone afterwards. */
class Bed implements AsyncDisposable {
  readonly name = `status-writes-${randomBytes(3).toString('hex')}`;
  readonly admin: Transport;
  readonly #made: (() => Promise<unknown>)[] = [];

  constructor(admin: Transport) {
    this.admin = admin;
  }

  async make(resource: ReturnType<typeof named>, body: Declaration): Promise<KubeObject> {
    const client = new ResourceClient(this.admin, resource);
    const made = await client.apply(body, by);
    if (!resource.namespaced) this.#made.push(() => client.delete(body.metadata));
    return made;
  }

  /** The transport of an account in a pod that no node takes. */
  async writer(server: string): Promise<Transport> {
    const namespace = this.name;
    await this.make(named('', 'v1', 'namespaces', 'Namespace', false), { metadata: { name: namespace } });
    const account = { name: 'worker', namespace };
    const accounts = named('', 'v1', 'serviceaccounts', 'ServiceAccount', true);
    await this.make(accounts, { metadata: account });
    const containers = [{ name: 'worker', image: 'none.invalid/none:1' }];
    const spec = { serviceAccountName: account.name, nodeSelector: { 'bench.invalid/node': 'none' }, containers };
    const pod = await this.make(named('', 'v1', 'pods', 'Pod', true), { metadata: { name: 'w-0', namespace }, spec });
    const rules = [{ apiGroups: ['*'], resources: ['*/status'], verbs: ['get', 'patch'] }];
    const role = { name: 'worker', namespace };
    await this.make(named(rbac, 'v1', 'roles', 'Role', true), { metadata: role, rules });
    const roleRef = { apiGroup: rbac, kind: 'Role', name: role.name };
    const bound = { roleRef, subjects: [{ kind: 'ServiceAccount', ...account }] };
    await this.make(named(rbac, 'v1', 'rolebindings', 'RoleBinding', true), { metadata: role, ...bound });
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'w-0', uid: pod.metadata.uid };
    const wish = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 7200, boundObjectRef } };
    const given = await new ResourceClient(this.admin, accounts).createSubresource<{ status: { token: string } }>(account, 'token', wish);
    const { ca } = (await (await kubeconfigConfig({ file: server })).credentials(false)).tls;
    const tls = ca === undefined ? {} : { ca };
    const config = await kubeconfigConfig({ file: server });
    const credentials = () => Promise.resolve({ tls, authorization: `Bearer ${given.status.token}` });
    return createTransport({ server: config.server, credentials }, { userAgent: 'agentfleet-bench/1' });
  }

  /** Installs a copy of a kind and makes its objects. Returns how one of them is written. */
  async install(subject: Subject, at: number, writer: Transport): Promise<(n: number) => Promise<unknown>> {
    const { definition, fenced = false } = subject;
    const [group, namespace] = [`k${at}.${this.name}.invalid`, this.name];
    const { plural, kind } = definition.spec.names;
    const metadata = { name: `${plural}.${group}` };
    await this.make(definitions, { metadata, spec: { ...definition.spec, group, conversion: { strategy: 'None' } } });
    const client = new ResourceClient(this.admin, definitions);
    await poll(`${metadata.name} is served`, async () => hasCondition(await client.get(metadata), 'Established'), 30_000);
    if (fenced) {
      for (const file of ['agenttask-worker-fence.yaml', 'agenttask-spec.yaml']) {
        const text = await readFile(join(crds, 'policies', file), 'utf8');
        const [policy, binding] = loadAll(text.replaceAll('agentfleet.dev', group)) as KubeObject[];
        if (policy !== undefined) await this.make(policies, policy);
        if (binding !== undefined) await this.make(bindings, binding);
      }
    }
    const { name: version = '' } = definition.spec.versions.find(({ storage }) => storage) ?? {};
    const resource = named(group, version, plural, kind, true);
    const own = new ResourceClient(this.admin, resource);
    for (let index = 0; index < objects; index += 1) {
      const name = { name: `any-${index}`, namespace };
      await poll(`${kind} is taken`, () => own.apply({ metadata: name, spec: subject.spec }, by).then(Boolean), 30_000);
      const status = subject.status(namespace);
      if (status !== undefined) await own.applyStatus({ metadata: name, status }, { fieldManager: 'agentfleet-operator' });
    }
    const theirs = new ResourceClient(writer, resource);
    return (n) => {
      const body = { metadata: { name: `any-${n % objects}`, namespace }, status: subject.written(n) };
      return theirs.applyStatus(body, { fieldManager: 'agentfleet-worker' });
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const remove of this.#made.toReversed()) await remove();
  }
}

async function cpuSeconds(transport: Transport): Promise<number> {
  const { body } = await transport.stream({ method: 'GET', path: '/metrics', accept: 'text/plain' });
  let page = '';
  for await (const chunk of body) page += Buffer.from(chunk).toString('latin1');
  const seconds = metricOf(page, 'process_cpu_seconds_total');
  if (seconds === undefined) throw new Error('the API server does not report process_cpu_seconds_total');
  return seconds;
}

/** Seconds of CPU, and wall seconds, of a block of writes; without `write` nothing is written. */
async function block(admin: Transport, first: number, write?: (n: number) => Promise<unknown>): Promise<{ cpu: number; wall: number }> {
  const [before, began] = [await cpuSeconds(admin), performance.now()];
  if (write !== undefined) {
    const lanes = Array.from({ length: atOnce }, async (_, lane) => {
      for (let n = lane; n < writesOfBlock; n += atOnce) await write(first + n);
    });
    await Promise.all(lanes);
  }
  await delay(Math.max(0, blockMs - (performance.now() - began)));
  return { cpu: (await cpuSeconds(admin)) - before, wall: (performance.now() - began) / 1000 };
}

/** Milliseconds of CPU of each kind's write, in each round: idle first, then all kinds, every second time the other way round. */
async function measured(admin: Transport, writes: readonly ((n: number) => Promise<unknown>)[]): Promise<number[][]> {
  const taken: number[][] = writes.map(() => []);
  for (let round = 0; round <= rounds; round += 1) {
    const idle = await block(admin, 0);
    const order = [...writes.keys()];
    for (const at of round % 2 === 0 ? order : order.toReversed()) {
      const { cpu, wall } = await block(admin, round * writesOfBlock, writes[at]);
      if (round > 0) taken[at]?.push(((cpu - (idle.cpu * wall) / idle.wall) * 1000) / writesOfBlock);
    }
  }
  return taken;
}

const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Rows of all kinds but the last, each beside the last in the same round. Pure. */
function rowsOf(names: readonly string[], taken: readonly (readonly number[])[]): Row[] {
  const peer = taken.at(-1) ?? [];
  return taken.slice(0, -1).map((ours, at) => {
    const ratios = ours.map((each, round) => each / (peer[round] ?? Number.NaN));
    const { value, low, high } = bootstrap(ratios, median, { random: seeded(1) });
    const own = bootstrap(ours, median, { random: seeded(1) });
    const interval = `${own.low.toFixed(2)} to ${own.high.toFixed(2)} ms`;
    return {
      measure: `API server's CPU for a status write: ${names[at] ?? ''}`,
      ours: own.value,
      unit: 'ms',
      peer: { name: names.at(-1) ?? '', value: median(peer) },
      note: `${interval}; ${value.toFixed(2)} times the peer's (${low.toFixed(2)} to ${high.toFixed(2)}), medians of ${ours.length} blocks`,
    };
  });
}

/** Measures on the cluster that is up, or on a control plane that it starts. */
export async function statusWrites(): Promise<readonly Row[]> {
  const { kubeconfig } = await up({ tier: 'control-plane', log: () => undefined });
  const admin = createTransport(await kubeconfigConfig({ file: kubeconfig }), { userAgent: 'agentfleet-bench/1' });
  const all = await subjects();
  await using bed = new Bed(admin);
  const writer = await bed.writer(kubeconfig);
  const writes: ((n: number) => Promise<unknown>)[] = [];
  for (const [at, subject] of all.entries()) writes.push(await bed.install(subject, at, writer));
  const taken = await measured(admin, writes);
  await writer.close();
  return rowsOf(
    all.map(({ name }) => name),
    taken,
  );
}
