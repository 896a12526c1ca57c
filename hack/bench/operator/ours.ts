import { createRequire } from 'node:module';
import { join } from 'node:path';
import {
  leases,
  microTimestamp,
  ResourceClient,
  type KubeObject,
  type Transport,
  defineResource,
  kubeconfigConfig,
} from '@agentfleet/kube';
import { resources } from '@agentfleet/operator/resources';
import { labels, workerLease } from '@agentfleet/protocol/pool';
import { freePort } from '../../cluster/base/ports.ts';
import { operatorBundle } from '../../images/parts.ts';
import { Measured, metricOf } from './process.ts';
import { type Place, type Running, type Subject, type Wishes, poll } from './subject.ts';
import { hasCondition } from '../../cluster/base/api.ts';
import { mkdir, writeFile } from 'node:fs/promises';

type Free = KubeObject & Readonly<Record<string, unknown>>;

const bindings = defineResource<Free>('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'clusterrolebindings', false);
const flows = defineResource<Free>('flowcontrol.apiserver.k8s.io/v1', 'FlowSchema', 'flowschemas', false);

const lifeSeconds = 86_400;
const by = { fieldManager: 'bench' };

/** Everything, and no turn to wait for: what the certificate of a kubeconfig may, which the peer has. */
async function grant({ transport, system: namespace }: Place, name: string): Promise<void> {
  const account = { name, namespace };
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
  const binding = { metadata: { name: `bench-${namespace}` }, roleRef, subjects: [{ kind: 'ServiceAccount', ...account }] };
  await new ResourceClient(transport, bindings).apply(binding, by);
  const every = ['*'];
  const rule = {
    subjects: [{ kind: 'ServiceAccount', serviceAccount: account }],
    resourceRules: [{ verbs: every, apiGroups: every, resources: every, namespaces: every, clusterScope: true }],
    nonResourceRules: [{ verbs: every, nonResourceURLs: every }],
  };
  const spec = { priorityLevelConfiguration: { name: 'exempt' }, matchingPrecedence: 2, rules: [rule] };
  await new ResourceClient(transport, flows).apply({ metadata: { name: `bench-${namespace}` }, spec }, by);
}

/**
 * Gives our operator a ServiceAccount as in a pod, and a folder like the one that a kubelet mounts: the library that reads
 * kubeconfigs is not in its image. Returns what its environment needs; `withdraw` takes the rights away.
 */
async function mountAccount(place: Place): Promise<{ readonly env: Record<string, string>; withdraw(): Promise<void> }> {
  const { transport, system: namespace } = place;
  const name = 'agentfleet-operator';
  await new ResourceClient(transport, resources.serviceAccounts).apply({ metadata: { name, namespace } }, by);
  await grant(place, name);
  const wish = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: lifeSeconds } };
  const given = await new ResourceClient(transport, resources.serviceAccounts).createSubresource<{
    readonly status: { readonly token: string };
  }>({ name, namespace }, 'token', wish);
  const { tls } = await (await kubeconfigConfig({ file: place.kubeconfig })).credentials(false);
  const folder = join(place.logs, `${namespace}-account`);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'token'), given.status.token, { mode: 0o600 });
  await writeFile(join(folder, 'ca.crt'), tls.ca ?? '');
  const { hostname, port } = new URL(`https://${transport.host}`);
  return {
    env: { AGENTFLEET_SERVICE_ACCOUNT: folder, KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
    withdraw: async () => {
      const own = { name: `bench-${namespace}` };
      for (const resource of [bindings, flows]) await new ResourceClient(transport, resource).delete(own);
    },
  };
}

const pool = 'bench';
/** Most tasks that one worker may run. */
const slots = 64;
export const images = { agent: 'none.invalid/agent:1', sandbox: 'none.invalid/sandbox:1', tools: 'none.invalid/tools:1' } as const;

/** Flags with which the image (operator/Dockerfile) starts a process, beside those that hide warnings. */
export const imageFlags = '--disable-sigusr1 --liftoff-only --max-semi-space-size=2 --heap-growing-percent=30';

/** The environment that the image gives it beside its version. */
export const imageEnv = { NODE_ENV: 'production', MALLOC_ARENA_MAX: '1' } as const;

/** The environment of a process, which nobody needs a token to measure. */
const operatorEnv = (
  namespace: string,
  index: number,
  ports: { readonly metricsPort: number; readonly probesPort: number },
): Readonly<Record<string, string>> => ({
  POD_NAMESPACE: namespace,
  POD_NAME: `operator-${index}`,
  AGENTFLEET_AGENT_IMAGE: images.agent,
  AGENTFLEET_INFERENCE_IMAGE: 'none.invalid/inference:1',
  AGENTFLEET_SANDBOX_IMAGE: images.sandbox,
  AGENTFLEET_TOOLS_IMAGE: images.tools,
  AGENTFLEET_METRICS_PORT: String(ports.metricsPort),
  AGENTFLEET_AUTHENTICATION: 'None',
  AGENTFLEET_PROBES_PORT: String(ports.probesPort),
  ...imageEnv,
});

function poolManifest(namespace: string, { objects, warm }: Wishes): Pick<KubeObject, 'metadata'> & { readonly spec: object } {
  return {
    metadata: { name: pool, namespace },
    spec: {
      // Object storage, so that no volume has to be provided for the workers.
      storage: { uri: 's3://none/bench', endpoint: 'https://none.invalid' },
      workers: { replicas: Math.ceil((objects + warm) / slots) + 1, concurrency: slots },
      experts: [{ name: 'gen', role: 'Generalist', engine: { type: 'Synth' } }],
      sandbox: warm === 0 ? {} : { warm: [{ namespace, replicas: warm }] },
    },
  };
}

/** Renews the Leases of all workers, as they would: the pods of workers run on nodes that are none. */
function beat(transport: Transport, namespace: string): () => Promise<void> {
  const pods = new ResourceClient(transport, resources.pods);
  const client = new ResourceClient(transport, leases);
  const stopping = new AbortController();
  const renew = async ({ metadata: { name } }: KubeObject): Promise<unknown> => {
    const lease = { metadata: { name, namespace, labels: { [labels.component]: 'worker' } } };
    const spec = { holderIdentity: name, leaseDurationSeconds: workerLease.duration, renewTime: microTimestamp(Date.now()) };
    return client.apply({ ...lease, spec }, { fieldManager: 'bench' });
  };
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const workers = await pods.list({ namespace, labelSelector: `${labels.component}=worker`, resourceVersion: '0' });
      // Each by itself, as they are many: one after the other would be late where the server is slow.
      await Promise.all(workers.map(renew));
      const wait = workers.length === 0 ? 200 : workerLease.renew * 1000;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, wait);
        stopping.signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
      });
    }
  };
  const running = loop();
  running.catch(() => undefined);
  return async () => {
    stopping.abort();
    await running;
  };
}

/** Options for the start of the operator's processes. */
interface OurOptions {
  readonly nodeFlags: readonly string[];
  /** Folder for a CPU profile of each. */
  readonly profile?: string | undefined;
}

interface Process extends Measured {
  /** Addresses of its metrics, and of its servers of probes. */
  readonly metrics: string;
  readonly probes: string;
}

interface ProcessOptions extends OurOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly log: string;
}

/** Starts a process of the operator as the image does, made of the sources as they are. @param system its namespace */
export async function startProcess(
  system: string,
  index: number,
  { profile, nodeFlags, env: more, log }: ProcessOptions,
): Promise<Process> {
  const [metricsPort, probesPort] = [await freePort(), await freePort()];
  const env = { ...operatorEnv(system, index, { metricsPort, probesPort }), ...more };
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const args = ['--disable-warning=ExperimentalWarning', ...nodeFlags, ...profiling, (await operatorBundle()).code.file];
  const addresses = { metrics: `http://127.0.0.1:${metricsPort}/metrics`, probes: `http://127.0.0.1:${probesPort}` };
  return Object.assign(new Measured(process.execPath, args, { env, log }), addresses);
}

async function warmReady(place: Place, count: number): Promise<boolean> {
  const pods = await new ResourceClient(place.transport, resources.pods).list({
    namespace: place.namespace,
    labelSelector: `${labels.warm}=true`,
  });
  return pods.filter((pod) => hasCondition(pod, 'Ready')).length >= count;
}

async function start(place: Place, wishes: Wishes, options: OurOptions): Promise<Running> {
  const processes: Process[] = [];
  await new ResourceClient(place.transport, resources.expertPools).create(poolManifest(place.namespace, wishes) as never);
  const stopBeat = beat(place.transport, place.namespace);
  const account = await mountAccount(place);
  // The times that recovery is measured with; a leader without a standby renews as it does by default.
  const election: Record<string, string> = wishes.replicas > 1 ? { AGENTFLEET_ELECTION: '6/4/1' } : {};
  for (let index = 0; index < wishes.replicas; index += 1) {
    const log = join(place.logs, `${place.namespace}-operator-${index}.log`);
    processes.push(await startProcess(place.system, index, { ...options, env: { ...account.env, ...election }, log }));
    await poll('our operator leads', () => leads(place), 30_000);
  }
  if (wishes.warm > 0) await poll('sandboxes wait', () => warmReady(place, wishes.warm), 120_000);
  return {
    processes,
    loopLagMs: async () => {
      const leader = processes.find(({ alive }) => alive);
      if (leader === undefined) return undefined;
      const page = await (await fetch(leader.metrics)).text();
      const seconds = metricOf(page, 'nodejs_eventloop_lag_p99_seconds');
      return seconds === undefined ? undefined : seconds * 1000;
    },
    stop: async () => {
      await Promise.all(processes.map((one) => one.end()));
      await stopBeat();
      await account.withdraw();
    },
  };
}

/** Reports whether any process holds a lease in the controller's namespace. */
export async function leads({ transport, system }: Place): Promise<boolean> {
  const all = await new ResourceClient(transport, leases).list({ namespace: system });
  return all.some(({ spec }) => (spec?.holderIdentity ?? '') !== '');
}

/** Our operator, as its image starts it. Ready is what it derives from the pod alone: the condition SandboxReady. */
export function ourSubject(options: OurOptions): Subject {
  const { version } = createRequire(import.meta.url)('../../../operator/package.json') as { version: string };
  const subject: Subject = {
    name: `agentfleet ${version}`,
    agent: 'agentfleet-operator/',
    resource: resources.agentTasks,
    manifest: (name, namespace) => ({
      metadata: { name, namespace },
      spec: {
        poolRef: { name: pool },
        goal: 'Make the failing tests pass.',
        workspace: { type: 'Inline', inline: { files: [{ path: 'a.txt', content: 'a\n' }] } },
        checks: [{ name: 'unit', command: ['true'] }],
      },
    }),
    isReady: (object) => hasCondition(object, 'SandboxReady'),
    start: (place, wishes) => start(place, wishes, options),
    warm: () => subject,
  };
  return subject;
}
