import { execa } from 'execa';
import type { Provider } from '../base/cluster.ts';

/** Inputs of the choice of a provider. */
interface ProviderFacts {
  /** `--context NAME`, when given. */
  readonly context: string | undefined;
  /** Provider of a cluster that is up already. */
  readonly recorded: Provider | undefined;
  /** kind is installed and a Docker engine answers. */
  readonly kindWorks: boolean;
}

/**
 * Chooses a provider: a named context first; a running cluster keeps its provider; else kind where it works; else local
 * daemons.
 */
export function chooseProvider(facts: ProviderFacts): Provider {
  if (facts.context !== undefined) return 'context';
  if (facts.recorded !== undefined) return facts.recorded;
  return facts.kindWorks ? 'kind' : 'local';
}

/** Reports whether kind is installed and the Docker engine answers within three seconds. */
export async function kindWorks(): Promise<boolean> {
  const options = { reject: false, timeout: 3000 } as const;
  const { exitCode } = await execa('kind', ['version'], options);
  if (exitCode !== 0) return false;
  return (await execa('docker', ['info', '--format', '{{.ServerVersion}}'], options)).exitCode === 0;
}
