import { execa } from 'execa';
import type { ClusterAccess } from '../sandbox/index.ts';

interface HelmOptions {
  /** Becomes standard input, which `-f -` reads values from. */
  readonly values?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** Runs helm against one cluster and returns its output. Rejects with helm's own message. */
export async function helm(access: ClusterAccess, args: readonly string[], { values, signal }: HelmOptions = {}): Promise<string> {
  const where = [`--kubeconfig=${access.kubeconfig}`, `--kube-context=${access.context}`];
  const { stdout } = await execa(access.bin('helm'), [...args, ...where], {
    ...(values === undefined ? { stdin: 'ignore' } : { input: JSON.stringify(values) }),
    ...(signal === undefined ? {} : { cancelSignal: signal }),
  });
  return stdout;
}
