import { toolDefinitions } from '@agentfleet/protocol/chat';
import { fullPool, fullTask, workspaces } from './examples.ts';
import { withValue, type Node } from './fields.ts';
import { change, type RuleCase } from './ruleCase.ts';

const builtIn = toolDefinitions.map(({ name }) => name).join(', ');

/** Rules of `spec.tools`, which pools and tasks share. */
function shared(base: Node): readonly RuleCase[] {
  return [
    change(
      base,
      'spec.tools.deny',
      ['bash', 'docs__search'],
      ['bash', 'shell'],
      `spec.tools.deny[] must be one of ${builtIn}, or <server>__<tool> for a tool of an MCP server; correct the name`,
    ),
    change(
      base,
      'spec.tools.deny',
      ['undo'],
      ['undo', 'submit'],
      'spec.tools.deny[] must not be submit, without which no work is handed in; remove it',
    ),
    ...['https://Mcp.example.com', 'https://me:pw@mcp.example.com/mcp', 'stdio:server', 'https://mcp.example.com/mcp?key=1'].map((url) =>
      change(
        base,
        'spec.tools.mcpServers[0].url',
        'https://mcp.example.com:8443/mcp/v1',
        url,
        'spec.tools.mcpServers[].url must be http or https, a host in lower case, and no more than that, a port and a path; write it like https://mcp.example.com/mcp',
      ),
    ),
    change(
      base,
      'spec.tools.mcpServers[1]',
      { name: 'more', url: 'https://mcp.example.com' },
      { name: 'more', url: 'http://169.254.169.254/mcp' },
      'spec.tools.mcpServers[].url must not be localhost or an address in 0.0.0.0/8 or 169.254.0.0/16, which are never opened; correct it',
    ),
    change(
      base,
      'spec.tools.mcpServers[1]',
      { name: 'more', url: 'https://mcp.example.com' },
      { name: 'docs', url: 'https://mcp.example.com' },
      'spec.tools.mcpServers[1]: Duplicate value: {"name":"docs"}',
    ),
  ];
}

const server = 'spec.tools.mcpServers[0]';

const poolCases: readonly RuleCase[] = [
  change(
    withValue(fullPool, 'spec.credentials[4].hosts', ['mcp.example.com', 'mcp.team.svc']),
    `${server}.url`,
    'http://mcp.team.svc:8080/mcp',
    'http://mcp.example.com/mcp',
    'spec.tools.mcpServers[].headers must be sent by https, or to a Service of the cluster (<name>.<namespace>.svc); correct the url, or remove them',
  ),
  change(
    fullPool,
    `${server}.headers[0].credential`,
    'docs',
    'other',
    'spec.tools.mcpServers[].headers[].credential must be the name of an entry of spec.credentials; add the entry or correct the name',
  ),
  change(
    fullPool,
    `${server}.url`,
    'https://mcp.example.com/v2',
    'https://mcp.example.org/mcp',
    'spec.credentials[].hosts must hold the host of spec.tools.mcpServers[].url, or the header is not sent there; add the host',
  ),
];

export const toolCases: readonly RuleCase[] = [...[fullPool, fullTask(workspaces['Git']!)].flatMap(shared), ...poolCases];
