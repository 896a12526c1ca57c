// A provider of models in a pod: what tests and the browser's chapter of the demo put behind a pool.
import { join } from 'node:path';
import { build } from 'esbuild';
import type { Kubectl } from '../../hack/sandbox/index.ts';

/** The program that plays recorded conversations. */
export const recordedServer = join(import.meta.dirname, 'recordedServer.ts');

/** The key of the model that the Secret `llm` holds. */
export const key = 'k-of-the-model';

const host = (namespace: string): string => `provider.${namespace}.svc`;

export interface Provider {
  /** Path of a program that serves the chat API on port 8080; its arguments are a folder, the key, and `args`. */
  readonly program: string;
  /** Content of that folder, by name. */
  readonly files: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

/** Place where it runs; `image` has our Node. */
export interface Site {
  readonly kubectl: Kubectl;
  readonly namespace: string;
  readonly image: string;
}

/** A pod of our image, which is fit for the level restricted. */
export function plainPod(name: string, labels: Readonly<Record<string, string>>, image: string, command: readonly string[]): object {
  const security = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'it',
          image,
          imagePullPolicy: 'IfNotPresent',
          command: ['/usr/local/bin/node', ...command],
          resources: { requests: { cpu: '10m', memory: '32Mi' }, limits: { memory: '256Mi' } },
          securityContext: security,
        },
      ],
    },
  };
}

/** Starts a provider in a pod, and writes the key into the Secret that pools name. */
export async function startProvider({ kubectl, namespace, image }: Site, { program, files, args = [] }: Provider): Promise<void> {
  const bundled = await build({ entryPoints: [program], bundle: true, platform: 'node', format: 'cjs', minify: true, write: false });
  const data = { 'server.cjs': bundled.outputFiles[0]?.text ?? '', ...files };
  await kubectl.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'provider', namespace }, data });
  await kubectl.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'llm', namespace }, stringData: { token: key } });
  const pod = plainPod('provider', { app: 'provider' }, image, ['/provider/server.cjs', '/provider', key, ...args]) as {
    readonly spec: { readonly containers: readonly object[] };
  };
  const [container] = pod.spec.containers;
  const mounted = { ...container, volumeMounts: [{ name: 'provider', mountPath: '/provider' }] };
  const volumes = [{ name: 'provider', configMap: { name: 'provider' } }];
  await kubectl.apply({
    ...pod,
    metadata: { name: 'provider', labels: { app: 'provider' }, namespace },
    spec: { ...pod.spec, containers: [mounted], volumes },
  });
  const ports = [{ port: 8080, targetPort: 8080 }];
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'provider', namespace },
    spec: { selector: { app: 'provider' }, ports },
  });
  await kubectl.waitReady(namespace, 'provider', 120);
}

/** The fields of an expert that asks this provider. */
export function apiOf({ namespace }: Pick<Site, 'namespace'>): object {
  return {
    baseURL: `http://${host(namespace)}:8080/v1`,
    model: 'recorded',
    credential: 'llm',
    contextTokens: 64_000,
    maxOutputTokens: 4096,
    price: { input: '2', cachedInput: '1', output: '8' },
  };
}

/** The entry of `spec.credentials` for it. */
export const credentialOf = ({ namespace }: Pick<Site, 'namespace'>): object => ({
  name: 'llm',
  secretRef: { name: 'llm', key: 'token' },
  hosts: [host(namespace)],
});
