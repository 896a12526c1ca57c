import { randomBytes } from 'node:crypto';
import { KeeperClient } from '@agentfleet/keeper/client';
import { keeperPort, sandboxPod, type SandboxPodInput } from '@agentfleet/operator/sandbox';
import type { Kubectl } from './kubectl.ts';
import { workerServiceAccount } from './namespace.ts';
import { portForward } from './portForward.ts';

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
