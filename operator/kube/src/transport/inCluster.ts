import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KubeError } from '../runtime/errors.ts';
import type { ClusterConfig } from './types.ts';

/** Where the kubelet mounts the token of a pod's ServiceAccount. */
const serviceAccountRoot = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Configuration of a pod. Token and CA are read at every call of `credentials`, because the kubelet rotates both.
 * Throws AF_KUBE_CONFIG outside of a cluster.
 */
export async function inClusterConfig(env: NodeJS.ProcessEnv, root: string = serviceAccountRoot): Promise<ClusterConfig> {
  const host = env['KUBERNETES_SERVICE_HOST'];
  const port = env['KUBERNETES_SERVICE_PORT'];
  if (!host || !port) {
    throw new KubeError('AF_KUBE_CONFIG', {
      what: 'not inside a cluster',
      where: 'KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT',
      cure: 'Run in a pod with a ServiceAccount token, or name a kubeconfig',
    });
  }
  const read = (name: string): Promise<string> => readFile(join(root, name), 'utf8');
  const namespace = await read('namespace').catch(() => undefined);
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    ...(namespace === undefined ? {} : { namespace: namespace.trim() }),
    credentials: async () => ({ tls: { ca: await read('ca.crt') }, authorization: `Bearer ${(await read('token')).trim()}` }),
  };
}
