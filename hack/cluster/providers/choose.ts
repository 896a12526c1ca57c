import { execa } from 'execa';
import type { Provider } from '../base/cluster.ts';

/** What the choice of a provider depends on. */
export interface ProviderFacts {
  /** `--context NAME`, when given. */
  readonly context: string | undefined;
  /** Provider of a cluster that is up already. */
  readonly recorded: Provider | undefined;
  /** kind is installed and a Docker engine answers. */
  readonly kindWorks: boolean;
}

/** A named context wins; a cluster that is up keeps its provider; else kind where it works; else our own daemons. */
export function chooseProvider(facts: ProviderFacts): Provider {
  if (facts.context !== undefined) return 'context';
  if (facts.recorded !== undefined) return facts.recorded;
  return facts.kindWorks ? 'kind' : 'local';
}

/** Whether kind is installed and the Docker engine answers within three seconds. */
export async function kindWorks(): Promise<boolean> {
  const options = { reject: false, timeout: 3000 } as const;
  const { exitCode } = await execa('kind', ['version'], options);
  if (exitCode !== 0) return false;
  return (await execa('docker', ['info', '--format', '{{.ServerVersion}}'], options)).exitCode === 0;
}
