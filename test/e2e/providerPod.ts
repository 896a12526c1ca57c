import { join } from 'node:path';
import { build } from 'esbuild';
import { plainPod } from './askingPods.ts';
import { storageOf, type Fleet } from './fleet.ts';

/** The key of the model that the Secret `llm` holds. */
export const key = 'k-of-the-model';

const host = (namespace: string): string => `provider.${namespace}.svc`;

interface Provider {
  /** A program of this folder, which serves the chat API on port 8080; its arguments are a folder and the key. */
  readonly program: string;
  /** What that folder holds, by name. */
  readonly files: Readonly<Record<string, string>>;
}

/** Starts a provider in a pod of the fleet's namespace, and writes the key into the Secret that pools name. */
export async function startProvider({ kubectl, namespace }: Fleet, { program, files }: Provider): Promise<void> {
  const entryPoints = [join(import.meta.dirname, program)];
  const bundled = await build({ entryPoints, bundle: true, platform: 'node', format: 'cjs', write: false });
  const data = { 'server.cjs': bundled.outputFiles[0]?.text ?? '', ...files };
  await kubectl.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'provider', namespace }, data });
  await kubectl.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'llm', namespace }, stringData: { token: key } });
  const pod = plainPod('provider', { app: 'provider' }) as { readonly spec: { readonly containers: readonly object[] } };
  const [container] = pod.spec.containers;
  const mounted = {
    ...container,
    command: ['/usr/local/bin/node', '/provider/server.cjs', '/provider', key],
    volumeMounts: [{ name: 'provider', mountPath: '/provider' }],
  };
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
export function apiOf({ namespace }: Fleet): object {
  return {
    baseURL: `http://${host(namespace)}:8080/v1`,
    model: 'recorded',
    credential: 'llm',
    contextTokens: 64_000,
    maxOutputTokens: 4096,
    price: { input: '2', cachedInput: '1', output: '8' },
  };
}

/** Makes a pool with experts that ask this provider, and waits for it. */
export async function providerPool(fleet: Fleet, name: string, spec: object): Promise<void> {
  const { storage, credentials } = storageOf();
  const llm = { name: 'llm', secretRef: { name: 'llm', key: 'token' }, hosts: [host(fleet.namespace)] };
  await fleet.apply('ExpertPool', name, { storage, credentials: [...credentials, llm], ...spec });
  await fleet.run('wait', '--for=condition=Ready', `expertpool/${name}`, '--timeout=400s');
}
