import type { AgentTask, ExpertPool } from '@agentfleet/protocol/api';
import { usualBounds } from '@agentfleet/protocol/chat';

/** Why the pool does not let the task have the tools that it names; undefined when it does. Pure. */
export function toolsRefusal({ spec }: AgentTask, pool: ExpertPool): string | undefined {
  const of = `ExpertPool ${pool.metadata.namespace ?? ''}/${pool.metadata.name}`;
  for (const tool of ['bash', 'fetch'] as const) {
    const asked = spec.tools?.timeouts?.[tool];
    const most = pool.spec.tools?.timeouts?.[tool] ?? usualBounds[tool];
    if (asked === undefined || asked <= most) continue;
    return `spec.tools.timeouts.${tool} is ${asked}, and ${of} allows ${most} at most; create the task again with less, or raise spec.tools.timeouts.${tool} of the pool`;
  }
  return serverRefusal(spec.tools?.mcpServers ?? [], pool, of);
}

type Server = NonNullable<NonNullable<AgentTask['spec']['tools']>['mcpServers']>[number];

/** A server is one of the pool's, or at a host that the pool lists; its addresses are the worker's to judge. */
function serverRefusal(servers: readonly Server[], { spec }: ExpertPool, of: string): string | undefined {
  const listed = spec.tools?.mcpServers ?? [];
  for (const { name, url } of servers) {
    const known = listed.find((one) => one.name === name);
    if (known !== undefined && (url === undefined || url === known.url)) continue;
    if (known !== undefined)
      return `spec.tools.mcpServers[] ${name} has the url ${url}, and that of ${of} is ${known.url}; create the task again without url, or under another name`;
    const names = listed.map((one) => one.name).join(', ') || 'none';
    if (url === undefined)
      return `spec.tools.mcpServers[] ${name} has no url, and ${of} has these servers: ${names}; create the task again with one of them, or add it to spec.tools.mcpServers of the pool`;
    const at = hostAndPort(url);
    if ((spec.policy.allowedHosts ?? []).some(({ host, port }) => `${host}:${port}` === at)) continue;
    return `spec.tools.mcpServers[] ${name} is at ${at}, which ${of} does not list; add it to spec.tools.mcpServers or spec.policy.allowedHosts of the pool, or create the task again without it`;
  }
  return undefined;
}

function hostAndPort(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname.replace(/^\[(.*)\]$/, '$1')}:${port || (protocol === 'https:' ? 443 : 80)}`;
}
