import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startEnvironment } from '../../hack/environment/index.ts';

declare module 'vitest' {
  interface ProvidedContext {
    readonly environment: {
      readonly kubeconfig: string;
      readonly context: string;
      readonly bins: Readonly<Record<string, string>>;
      readonly images: Readonly<Record<string, string>>;
      /** Whether pods are reached from here by their addresses. */
      readonly direct: boolean;
      /** PEM of the key that signs the cluster's tokens; null for a foreign cluster. */
      readonly signingKey: string | null;
    };
  }
}

/** Prepares the cluster once for all files and passes its address to them. */
export default async function setup(project: TestProject): Promise<void> {
  const { cluster, images } = await startEnvironment();
  const bins: Record<string, string> = { kubectl: cluster.bin('kubectl') };
  project.provide('environment', {
    kubeconfig: cluster.kubeconfig,
    context: cluster.context,
    bins,
    images: Object.fromEntries(images.map((image) => [image.name, image.ref])),
    direct: cluster.provider === 'local',
    signingKey:
      cluster.provider === 'local' ? await readFile(join(dirname(cluster.kubeconfig), 'pki', 'service-accounts.key'), 'utf8') : null,
  });
}
