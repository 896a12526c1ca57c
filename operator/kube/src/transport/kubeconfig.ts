import { existsSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { KubeError } from '../runtime/errors.ts';
import { proxyOf } from './proxy.ts';
import type { ClusterConfig, Credentials, TlsIdentity } from './types.ts';
import type { KubeConfig } from '@kubernetes/client-node';

/** Folder in which the kubelet mounts the token of a pod's ServiceAccount. */
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

export interface KubeconfigOptions {
  /** Path; default `$KUBECONFIG`, then `~/.kube/config`. */
  readonly file?: string;
  /** Default: the current context. */
  readonly context?: string;
}

interface HttpsOptions extends TlsIdentity {
  headers?: Record<string, string>;
  auth?: string;
}

type Part = Pick<KubeConfig, 'clusters' | 'users' | 'contexts' | 'currentContext'>;

/** One of several files; kubectl passes over one that is missing or empty. */
function partOf(config: KubeConfig, path: string): Part {
  if (existsSync(path) && statSync(path).size > 0) config.loadFromFile(path);
  const { clusters = [], users = [], contexts = [], currentContext = '' } = config as Partial<Part>;
  return { clusters, users, contexts, currentContext };
}

/** Several files as kubectl puts them together: the first definition of a name holds, and the first current context. */
function merged(parts: readonly Part[]): Part {
  const first = <T extends { readonly name: string }>(of: (part: Part) => readonly T[]): T[] => [
    ...new Map(
      parts
        .flatMap(of)
        .map((one) => [one.name, one])
        .reverse() as [string, T][],
    ).values(),
  ];
  return {
    clusters: first(({ clusters }) => clusters),
    users: first(({ users }) => users),
    contexts: first(({ contexts }) => contexts),
    currentContext: parts.find(({ currentContext }) => currentContext)?.currentContext ?? '',
  };
}

/** Loaded only when a kubeconfig is used: importing the library costs 0.7 s and 60 MB, which a pod does not need. */
async function load(options: KubeconfigOptions): Promise<KubeConfig> {
  const library = await import('@kubernetes/client-node').catch((error: unknown) => {
    const cure = 'Run it in a pod, where its ServiceAccount is used, or from the sources';
    throw new KubeError('AF_KUBE_CONFIG', { what: 'this build reads no kubeconfig', where: 'its bundle', cure }, { cause: error });
  });
  const config = new library.KubeConfig();
  const several = (process.env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  if (options.file !== undefined) config.loadFromFile(options.file);
  else if (several.length > 1) config.loadFromOptions(merged(several.map((path) => partOf(new library.KubeConfig(), path))));
  else config.loadFromDefault();
  if (options.context !== undefined) config.setCurrentContext(options.context);
  return config;
}

function credentialsOf(https: HttpsOptions): Credentials {
  const { ca, cert, key, servername, rejectUnauthorized } = https;
  const basic = https.auth === undefined ? undefined : `Basic ${Buffer.from(https.auth).toString('base64')}`;
  const authorization = https.headers?.['Authorization'] ?? basic;
  return {
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(servername === undefined ? {} : { servername }),
      ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    },
    ...(authorization === undefined ? {} : { authorization }),
  };
}

/** Configuration from a kubeconfig: client certificates, token, token file, exec plugin, OIDC. Throws AF_KUBE_CONFIG. */
export async function kubeconfigConfig(options: KubeconfigOptions = {}): Promise<ClusterConfig> {
  let config = await load(options);
  const cluster = config.getCurrentCluster();
  if (cluster === null) {
    throw new KubeError('AF_KUBE_CONFIG', {
      what: `no cluster for context ${JSON.stringify(config.getCurrentContext())}`,
      where: options.file ?? 'the default kubeconfig',
      cure: 'Choose a context that the file has',
    });
  }
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace;
  const proxy = cluster.proxyUrl || proxyOf(cluster.server, process.env);
  return {
    server: cluster.server,
    ...(proxy === undefined ? {} : { proxy }),
    ...(namespace === undefined ? {} : { namespace }),
    credentials: async (force) => {
      // A plugin's token is remembered inside KubeConfig; a fresh one is the only way to ask it again.
      if (force) config = await load(options);
      const https: HttpsOptions = {};
      await config.applyToHTTPSOptions(https as Parameters<typeof config.applyToHTTPSOptions>[0]);
      return credentialsOf(https);
    },
  };
}

/** A server without TLS and login, for tests and `kubectl proxy`. */
export function plainConfig(server: string): ClusterConfig {
  return { server, credentials: () => Promise.resolve({ tls: {} }) };
}

/** In a pod its ServiceAccount, elsewhere the kubeconfig; `$KUBECONFIG` wins. */
export async function defaultConfig(env: NodeJS.ProcessEnv): Promise<ClusterConfig> {
  if (env['KUBERNETES_SERVICE_HOST'] && !env['KUBECONFIG']) return inClusterConfig(env);
  return kubeconfigConfig();
}
