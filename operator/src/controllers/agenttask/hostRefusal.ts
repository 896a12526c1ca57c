import type { AgentTask, ExpertPool } from '@agentfleet/protocol/api';
import { createAddressJudge, literalAddress } from '@agentfleet/protocol/network';

interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Hosts that one message names. */
const shownHosts = 8;

const cure = 'create the task again with a host that may be reached, or add host and port to spec.policy.allowedHosts of the pool';

const judge = createAddressJudge();

const written = ({ host, port }: HostPort): string => `${host}:${port}`;

/**
 * Why the pool does not let the task reach what it names; undefined when it does. Names are resolved by the worker, which
 * judges their addresses; here only what is written counts. Pure.
 */
export function hostRefusal({ spec }: AgentTask, pool: ExpertPool): string | undefined {
  const of = `ExpertPool ${pool.metadata.namespace ?? ''}/${pool.metadata.name}`;
  const listed = pool.spec.policy.allowedHosts;
  const unlisted = (asked: HostPort): boolean => listed?.some((one) => written(one) === written(asked)) !== true;
  const hosts = (spec.policy.network.hosts ?? []).filter(unlisted);
  const [asked] = hosts;
  if (listed !== undefined && asked !== undefined) {
    const allowed = listed.length === 0 ? 'none' : listed.slice(0, shownHosts).map(written).join(', ');
    const more = listed.length > shownHosts ? ` and ${listed.length - shownHosts} more` : '';
    return `spec.policy.network.hosts has ${written(asked)}, and ${of} allows these: ${allowed}${more}; ${cure}`;
  }
  const closed = hosts.find(isClosed);
  if (closed !== undefined)
    return `spec.policy.network.hosts has ${written(closed)}, which is no public address, and ${of} does not list it; ${cure}`;
  const repository = repositoryOf(spec);
  if (repository === undefined || !unlisted(repository) || !isClosed(repository)) return undefined;
  return `spec.workspace.git.url leads to ${written(repository)}, which is no public address, and ${of} does not list it; ${cure}`;
}

function isClosed({ host }: HostPort): boolean {
  const address = literalAddress(host);
  return address !== null && judge(address) !== 'Public';
}

function repositoryOf({ workspace }: AgentTask['spec']): HostPort | undefined {
  if (workspace.type !== 'Git' || !workspace.git.url.startsWith('https://') || !URL.canParse(workspace.git.url)) return undefined;
  const { hostname, port } = new URL(workspace.git.url);
  return { host: hostname, port: port === '' ? 443 : Number(port) };
}
