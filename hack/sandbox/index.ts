// hack, sandbox: one sandbox pod without an operator, for the demo, the tests and the benchmarks. Imports operator, keeper's client, protocol.
import { execa, type ResultPromise } from 'execa';
import { readdir, readFile } from 'node:fs/promises';
import { expertsAudience } from '@agentfleet/protocol/tokens';
import { randomBytes } from 'node:crypto';
import {
  jwksConfigMap,
  linkSecret,
  sandboxNetworkPolicy,
  keeperPort,
  sandboxPod,
  type SandboxPodInput,
} from '@agentfleet/operator/sandbox';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { KeeperClient } from '@agentfleet/keeper/client';

/** Connection of a kubectl call to one cluster. */
export interface ClusterAccess {
  readonly kubeconfig: string;
  readonly context: string;
  bin(name: string): string;
}

/** kubectl against one cluster, with JSON in and out. Rejects with kubectl's own words. */
export class Kubectl {
  readonly access: ClusterAccess;

  constructor(access: ClusterAccess) {
    this.access = access;
  }

  /** Starts kubectl and returns the running process. */
  spawn(args: readonly string[], input?: string): ResultPromise {
    const { kubeconfig, context } = this.access;
    const base = [`--kubeconfig=${kubeconfig}`, `--context=${context}`];
    return execa(this.access.bin('kubectl'), [...base, ...args], input === undefined ? { stdin: 'ignore' } : { input });
  }

  async text(args: readonly string[], input?: string): Promise<string> {
    return String((await this.spawn(args, input)).stdout);
  }

  async json<T>(args: readonly string[]): Promise<T> {
    return JSON.parse(await this.text([...args, '-o', 'json'])) as T;
  }

  /** Applies objects by server-side apply; strict: an unknown field is an error. */
  async apply(...objects: readonly object[]): Promise<void> {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
    await this.text(
      ['apply', '--server-side', '--force-conflicts', '--field-manager=agentfleet-hack', '--validate=strict', '-f', '-'],
      list,
    );
  }

  async waitReady(namespace: string, pod: string, seconds: number): Promise<void> {
    await this.text(['-n', namespace, 'wait', '--for=condition=Ready', `pod/${pod}`, `--timeout=${seconds}s`]);
  }
}

interface PodStatus {
  readonly status: { readonly containerStatuses: readonly { readonly name: string; readonly containerID: string }[] };
}

/** Container ids of a pod by container name. */
export async function runningContainers(
  kubectl: Kubectl,
  pod: { readonly namespace: string; readonly name: string },
): Promise<ReadonlyMap<string, string>> {
  const { status } = await kubectl.json<PodStatus>(['-n', pod.namespace, 'get', 'pod', pod.name]);
  return new Map(status.containerStatuses.map((container) => [container.name, container.containerID]));
}

/** Process ids on this node whose cgroup belongs to the container, its PID 1 among them. Local node only. */
export async function processesOf(containerID: string): Promise<readonly number[]> {
  const id = containerID.replace(/^containerd:\/\//, '');
  if (id === '') return [];
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const cgroup = await readFile(`/proc/${name}/cgroup`, 'utf8').catch(() => '');
    if (cgroup.includes(id)) found.push(Number(name));
  }
  return found;
}

/**
 * Kills all processes of a container, as the kernel does for a whole-container OOM. One that ends meanwhile, because its init did, is none.
 *
 * @throws Error no process of it runs on this machine
 */
export async function killProcessesOf(containerID: string): Promise<void> {
  const processes = await processesOf(containerID);
  if (processes.length === 0) throw new Error(`no process of container ${containerID} runs on this machine`);
  for (const pid of processes) kill(pid);
}

/** Kills a process. Returns false when it ended by itself before that. */
export function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/**
 * Returns a token that experts and verifiers of a namespace accept, in the name of the operator in its namespace; valid
 * for an hour.
 */
export function expertsToken(kubectl: Kubectl, system: string, namespace: string): Promise<string> {
  const audience = `--audience=${expertsAudience(namespace)}`;
  return kubectl.text(['-n', system, 'create', 'token', 'agentfleet-operator', audience, '--duration=1h']).then((text) => text.trim());
}

export const workerServiceAccount = 'agentfleet-worker';

/**
 * Makes a namespace as the operator will keep it for sandboxes: Pod Security (*restricted*), the
 * network wall, the token signing keys, the link key, and a worker's ServiceAccount. Returns the issuer of the
 * cluster's tokens.
 */
export async function prepareNamespace(
  kubectl: Kubectl,
  namespace: string,
  level: 'restricted' | 'baseline' | 'privileged' = 'restricted',
): Promise<string> {
  const [jwks, discovery] = await Promise.all([
    kubectl.text(['get', '--raw', '/openid/v1/jwks']),
    kubectl.text(['get', '--raw', '/.well-known/openid-configuration']),
  ]);
  const enforced = { 'pod-security.kubernetes.io/enforce': level, 'pod-security.kubernetes.io/enforce-version': 'latest' };
  await kubectl.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: enforced } });
  await kubectl.apply(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: workerServiceAccount, namespace } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: jwksConfigMap, namespace }, data: { 'jwks.json': jwks } },
    sandboxNetworkPolicy(namespace, [namespace]),
  );
  // An existing one stays: keepers and runners use it.
  const there = await kubectl.text(['-n', namespace, 'get', 'secret', linkSecret.name, '--ignore-not-found', '-o', 'name']);
  const stringData = { [linkSecret.key]: randomBytes(32).toString('base64url') };
  if (there === '')
    await kubectl.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: linkSecret.name, namespace }, immutable: true, stringData });
  await kubectl.text(['-n', namespace, 'wait', '--for=create', 'serviceaccount/default', '--timeout=30s']);
  return (JSON.parse(discovery) as { issuer: string }).issuer;
}

/** Deletes a namespace and waits until all of it is gone. */
export async function deleteNamespace(kubectl: Kubectl, namespace: string): Promise<void> {
  await kubectl.text(['delete', 'namespace', namespace, '--ignore-not-found', '--timeout=300s']);
}

/** A local port that leads to a port of a pod. */
export interface PortForward {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Opens a port-forward and resolves when kubectl reports that it listens. kubectl exits when its container is gone; it
 * is started again on the same local port until `close`.
 */
export async function portForward(kubectl: Kubectl, namespace: string, pod: string, port: number): Promise<PortForward> {
  const stop = new AbortController();
  const start = (local: number | ''): Forward => forward(kubectl, namespace, pod, `${local}:${port}`);
  let current = start('');
  const local = await current.listening;
  const kept = (async () => {
    while (!stop.signal.aborted) {
      await current.ended;
      if (stop.signal.aborted) return;
      await sleep(restartMs);
      current = start(local);
      await current.listening.catch(() => undefined);
    }
  })();
  return {
    url: `http://127.0.0.1:${local}`,
    close: async () => {
      stop.abort();
      current.kill();
      await kept;
    },
  };
}

const restartMs = 200;

interface Forward {
  /** Resolves with the local port; rejects with kubectl's words when it ends before that. */
  readonly listening: Promise<number>;
  readonly ended: Promise<string>;
  kill(): void;
}

function forward(kubectl: Kubectl, namespace: string, pod: string, ports: string): Forward {
  const child = kubectl.spawn(['-n', namespace, 'port-forward', `pod/${pod}`, ports]);
  const ended = child.then(
    () => 'ended',
    (error: Error) => error.message,
  );
  const failed = ended.then((why) => {
    throw new Error(`port-forward to ${namespace}/${pod}: ${why}`);
  });
  const listening = Promise.race([listeningPort(child.stdout as Readable), failed]);
  failed.catch(() => undefined); // after it listened, the loop above sees the end
  return { listening, ended, kill: () => void child.kill('SIGTERM') };
}

/** Reads kubectl's words up to the port. The pipe stays open: kubectl dies when it cannot print. */
function listeningPort(stdout: Readable): Promise<number> {
  return new Promise((resolve, reject) => {
    let seen = '';
    stdout.setEncoding('utf8');
    stdout.on('data', (text: string) => {
      seen = (seen + text).slice(-4096);
      const match = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(seen);
      if (match?.[1] !== undefined) resolve(Number(match[1]));
    });
    stdout.on('end', () => reject(new Error(`port-forward named no port: ${seen}`)));
  });
}

/** A sandbox pod that runs, and a client that reaches its keeper from this machine. */
export interface Sandbox {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly url: string;
  readonly client: KeeperClient;
  /** A client with another epoch or token. */
  clientWith(options: { readonly epoch?: number; readonly token?: string }): KeeperClient;
  /** A fresh token of the worker's ServiceAccount for this sandbox, or for another audience or life time. */
  token(options?: { readonly audience?: string; readonly seconds?: number; readonly serviceAccount?: string }): Promise<string>;
  /** Closes the connections and leaves the pod. */
  detach(): Promise<void>;
  /** Closes the connections and deletes the pod; with `wait: false` the pod may go later. */
  close(options?: { readonly wait?: boolean }): Promise<void>;
}

export type SandboxOptions = Pick<SandboxPodInput, 'sandboxImage' | 'toolsImage' | 'issuer'> &
  Partial<Omit<SandboxPodInput, 'clients'>> & {
    readonly namespace: string;
    readonly readySeconds?: number;
    /**
     * Reaches the pod by its address, from its own node. A connection that the keeper resets ends all others of a
     * port-forward, and a runtime with a separate network stack cannot be port-forwarded to.
     */
    readonly direct?: boolean;
  };

/** Creates one sandbox pod in a prepared namespace and waits until it is ready. */
export async function openSandbox(kubectl: Kubectl, options: SandboxOptions): Promise<Sandbox> {
  const { namespace } = options;
  const name = options.name ?? `sandbox-${randomBytes(3).toString('hex')}`;
  const pod = sandboxPod({
    ...options,
    name,
    task: options.task ?? name,
    clients: [`system:serviceaccount:${namespace}:${workerServiceAccount}`],
  });
  await kubectl.apply(withSmallRequests(pod));
  await kubectl.waitReady(namespace, name, options.readySeconds ?? 180);
  const live = await kubectl.json<{ metadata: { uid: string }; status: { podIP: string } }>(['-n', namespace, 'get', 'pod', name]);
  const forward =
    options.direct === true
      ? { url: `http://${live.status.podIP}:${keeperPort}`, close: () => Promise.resolve() }
      : await portForward(kubectl, namespace, name, keeperPort);
  return connect(kubectl, namespace, name, live.metadata.uid, forward);
}

/**
 * Sets CPU requests so small that many sandboxes fit on a node of two cores, whatever their limits: a limit without a
 * request would be requested whole. Returns the pod.
 */
function withSmallRequests(pod: ReturnType<typeof sandboxPod>): ReturnType<typeof sandboxPod> {
  for (const container of [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])])
    container.resources = Object.assign({}, container.resources, { requests: { ...container.resources?.requests, cpu: '5m' } });
  return pod;
}

async function connect(
  kubectl: Kubectl,
  namespace: string,
  name: string,
  uid: string,
  forward: Awaited<ReturnType<typeof portForward>>,
): Promise<Sandbox> {
  const token = tokenSource(kubectl, namespace, uid);
  const first = await token();
  const clients: KeeperClient[] = [];
  const clientWith: Sandbox['clientWith'] = (wish) => {
    const client = new KeeperClient({ baseUrl: forward.url, epoch: wish.epoch ?? 1, token: () => wish.token ?? first });
    clients.push(client);
    return client;
  };
  const detach = async (): Promise<void> => {
    await Promise.all(clients.map((client) => client.close()));
    await forward.close();
  };
  const close: Sandbox['close'] = async ({ wait = true } = {}) => {
    const how = wait ? '--timeout=60s' : '--wait=false';
    const deleted = kubectl.text(['-n', namespace, 'delete', 'pod', name, '--ignore-not-found', '--grace-period=1', how]);
    // Side by side: a connection closes when its command has ended, and that ends with the pod.
    const [, outcome] = await Promise.allSettled([detach(), deleted]);
    if (outcome.status === 'rejected') throw outcome.reason;
  };
  return { namespace, name, uid, url: forward.url, client: clientWith({}), clientWith, token, detach, close };
}

/** Tokens by TokenRequest: by default of the worker's ServiceAccount, for this pod, for an hour. */
function tokenSource(kubectl: Kubectl, namespace: string, uid: string): Sandbox['token'] {
  return ({ audience = uid, seconds = 3600, serviceAccount = workerServiceAccount } = {}) =>
    kubectl.text(['-n', namespace, 'create', 'token', serviceAccount, `--audience=${audience}`, `--duration=${seconds}s`]);
}
