import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { draDriverName } from '../../hack/cluster/index.ts';
import { startEnvironment } from '../../hack/environment/index.ts';
import { installFleet, uninstallFleet } from '../../hack/install/index.ts';
import { beginRecord, endRecord } from '../../hack/rbac/index.ts';
import { installStorage, type StorageAccess } from '../../hack/storage/index.ts';

declare module 'vitest' {
  interface ProvidedContext {
    readonly fleet: {
      readonly kubeconfig: string;
      readonly context: string;
      readonly provider: string;
      readonly bins: Readonly<Record<string, string>>;
      readonly images: Readonly<Record<string, string>>;
      readonly storage: StorageAccess;
      /** Namespace of the operator. */
      readonly system: string;
      /** Distinguishes the namespaces of this run. */
      readonly run: string;
    };
  }
}

const system = 'agentfleet-system';

/** Installs the fleet as its users do, once for all files, and takes it away at the end. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const environment = await startEnvironment();
  const mark = await beginRecord();
  const storage = await installStorage(environment);
  // Its devices are there only for files that ask for them.
  await installFleet(environment, { namespace: system, values: { gpu: { driver: draDriverName, deviceClass: draDriverName } } });
  project.provide('fleet', {
    kubeconfig: environment.cluster.kubeconfig,
    context: environment.cluster.context,
    provider: environment.cluster.provider,
    bins: { kubectl: environment.cluster.bin('kubectl') },
    images: Object.fromEntries(environment.images.map((image) => [image.name, image.ref])),
    storage,
    system,
    run: randomBytes(3).toString('hex'),
  });
  return async () => {
    // Before: an operator that loses its rights while it stops is no news.
    await endRecord('e2e', mark);
    await uninstallFleet(environment, { namespace: system });
  };
}
