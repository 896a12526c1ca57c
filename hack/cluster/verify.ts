// hack, cluster: check of a running cluster with real pods. Of other folders imports hack/cache only.
import { dump } from 'js-yaml';
import { execa } from 'execa';
import { goFacts } from './build/binaries.ts';
import type { Cluster } from './base/cluster.ts';
import { ClusterError } from './base/errors.ts';
import { probeArchive } from './images/images.ts';
import { waitFor } from './base/wait.ts';

const namespace = 'agentfleet-verify';
const port = 8080;

const restricted = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

function pod(name: string, image: string, args: readonly string[], hostUsers: boolean): object {
  const readiness = args[0] === 'serve' ? { readinessProbe: { tcpSocket: { port }, periodSeconds: 1 } } : {};
  const resources = { requests: { cpu: '10m', memory: '16Mi' } };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { role: name } },
    spec: {
      hostUsers,
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'probe', image, imagePullPolicy: 'Never', args, resources, securityContext: restricted, ...readiness }],
    },
  };
}

function policy(name: string, spec: object): object {
  return { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name, namespace }, spec };
}

/** A server behind a default-deny that only `friend` may pass, and two pods that try. */
function scene(image: string): object[] {
  const address = `server.${namespace}.svc.cluster.local:${port}`;
  return [
    policy('default-deny', { podSelector: {}, policyTypes: ['Ingress'] }),
    policy('friend', {
      podSelector: { matchLabels: { role: 'server' } },
      policyTypes: ['Ingress'],
      ingress: [{ from: [{ podSelector: { matchLabels: { role: 'friend' } } }], ports: [{ port, protocol: 'TCP' }] }],
    }),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'server', namespace },
      spec: { selector: { role: 'server' }, ports: [{ port }] },
    },
    pod('server', image, ['serve', `:${port}`], false),
    pod('friend', image, ['dial', address, 'open'], true),
    pod('stranger', image, ['dial', address, 'closed'], true),
  ];
}

/** True when the pod's user 0 is another user on the host (user_namespaces(7), uid_map). */
export function hasOwnUsers(uidMap: string): boolean {
  const [, inside, outside] = /uid_map\s+(\d+)\s+(\d+)/.exec(uidMap) ?? [];
  return inside === '0' && outside !== undefined && outside !== '0';
}

type Kubectl = (args: readonly string[], input?: string) => Promise<string>;

function kubectlOf(cluster: Cluster): Kubectl {
  return async (args, input) => {
    const base = ['--kubeconfig', cluster.kubeconfig, '--context', cluster.context];
    const { stdout } = await execa(cluster.bin('kubectl'), [...base, ...args], input === undefined ? {} : { input });
    return stdout;
  };
}

function failed(what: string): ClusterError {
  return new ClusterError('AF_VERIFY_FAILED', {
    what,
    where: 'verification of the cluster',
    cure: 'Look at the logs of kubelet, kube-proxy and kube-router, or bring the cluster down and up',
  });
}

async function checkDialler(kubectl: Kubectl, name: string, claim: string): Promise<void> {
  const path = '{.status.phase}';
  const phase = async (): Promise<string | undefined> => {
    const now = await kubectl(['-n', namespace, 'get', 'pod', name, '-o', `jsonpath=${path}`]);
    return now === 'Succeeded' || now === 'Failed' ? now : undefined;
  };
  const outcome = await waitFor(`the end of pod ${name}`, phase, { timeoutMs: 60_000, intervalMs: 300, where: namespace });
  if (outcome === 'Failed') throw failed(`${claim}: ${(await kubectl(['-n', namespace, 'logs', name])).trim()}`);
}

async function checkScene(kubectl: Kubectl): Promise<void> {
  await kubectl(['-n', namespace, 'wait', '--for=condition=Ready', 'pod/server', '--timeout=60s']);
  const map = await kubectl(['-n', namespace, 'logs', 'server']);
  if (!hasOwnUsers(map)) throw failed(`a pod with hostUsers: false has no users of its own: ${map.trim()}`);
  await Promise.all([
    checkDialler(kubectl, 'friend', 'an allowed pod does not reach the server by name'),
    checkDialler(kubectl, 'stranger', 'a pod that no policy allows reaches the server'),
  ]);
}

/**
 * Proves with real pods that the node and DNS are Ready, a service is reachable by name, a default-deny NetworkPolicy
 * is enforced, and a pod gets its own user namespace. Takes about 10 s; removes everything it created. Rejects with
 * AF_VERIFY_FAILED, or with kubectl's message when an object does not become ready.
 */
export async function verifyCluster(cluster: Cluster): Promise<void> {
  const go = await goFacts();
  if (!go)
    throw new ClusterError('AF_GO_MISSING', { what: 'there is no Go', where: 'PATH', cure: 'Install Go; the probe is built with it' });
  const kubectl = kubectlOf(cluster);
  await kubectl(['wait', '--for=condition=Ready', `node/${cluster.nodeName}`, '--timeout=30s']);
  await kubectl(['-n', 'kube-system', 'wait', '--for=condition=Available', 'deployment/coredns', '--timeout=60s']);
  const probe = await probeArchive(go);
  await cluster.importImage(probe.path);
  await kubectl(['delete', 'namespace', namespace, '--ignore-not-found', '--wait']);
  await kubectl(['create', 'namespace', namespace]);
  try {
    const documents = scene(probe.name).map((object) => dump(object, { noRefs: true }));
    // The service account of a new namespace appears a moment after the namespace.
    const account = async (): Promise<boolean> =>
      (await kubectl(['-n', namespace, 'get', 'serviceaccount', 'default', '-o', 'name'])) !== '';
    await waitFor('the default service account', account, { timeoutMs: 20_000, intervalMs: 100, where: namespace });
    await kubectl(['apply', '-f', '-'], documents.join('---\n'));
    await checkScene(kubectl);
  } finally {
    await kubectl(['delete', 'namespace', namespace, '--wait=false']);
  }
}
