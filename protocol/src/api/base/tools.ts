import type { Static } from 'typebox';
import { toolDefinitions } from '../../chat/definitions.ts';
import { flag, integer, labelName, listByKey, optional, rule, setOf, struct, text, withRules } from '../schema/index.ts';

const builtIn = toolDefinitions.map(({ name }) => name);
const builtInList = `[${builtIn.map((name) => `'${name}'`).join(', ')}]`;

const deny = setOf(
  'Names of tools that models do not have, beside those that the pool, or the task, denies.',
  text('Name of a tool.', { max: 100, min: 1, pattern: '^[a-z0-9_][-a-zA-Z0-9_.]*$' }),
  {
    max: 64,
    rules: [
      rule(
        `self.all(name, name in ${builtInList} || name.contains('__'))`,
        `spec.tools.deny[] must be one of ${builtIn.join(', ')}, or <server>__<tool> for a tool of an MCP server; correct the name`,
      ),
      rule("!('submit' in self)", 'spec.tools.deny[] must not be submit, without which no work is handed in; remove it'),
    ],
  },
);

const servers = 'spec.tools.mcpServers[]';

/** Names of servers are the first part of the names of their tools, which providers bound. */
const serverName = text('Name; its tools are called <name>__<tool>.', { max: 32, min: 1, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' });

const serverUrl = withRules(
  text('Address of its endpoint for streamable HTTP, as https://host/mcp.', { max: 512, min: 1 }),
  rule(
    "self.matches('^https?://([-.a-z0-9]+|\\\\[[0-9a-f:.]+\\\\])(:[0-9]+)?(/[-._~a-zA-Z0-9/]*)?$') && isURL(self) && url(self).getHostname() != ''",
    `${servers}.url must be http or https, a host in lower case, and no more than that, a port and a path; write it like https://mcp.example.com/mcp`,
  ),
  rule(
    `!isURL(self) || !(${['169.254.', '0.'].map((start) => `url(self).getHostname().startsWith('${start}')`).join(' || ')} || url(self).getHostname() == 'localhost')`,
    `${servers}.url must not be localhost or an address in 0.0.0.0/8 or 169.254.0.0/16, which are never opened; correct it`,
  ),
);

const Header = struct('A header of each request, whose value is secret.', {
  name: text('Name of the header.', { max: 64, min: 1, pattern: '^[A-Za-z0-9][-A-Za-z0-9]*$', default: 'Authorization' }),
  credential: labelName('Entry of spec.credentials whose value is sent, and whose hosts hold that of the server.'),
  prefix: text('Text before the value.', { max: 32, default: 'Bearer ', pattern: '^[ -~]*$' }),
});

const PoolServer = struct(
  'An MCP server that tasks of the pool may use. What its tools do is taken for an effect outside of the sandbox, whatever it says of them.',
  {
    name: serverName,
    url: serverUrl,
    headers: optional(listByKey('Headers of each request; default: none.', 'name', Header, { max: 4 })),
    timeoutSeconds: integer('Seconds in which it has to answer a call.', 1, 3600, 60),
    readOnly: flag('Whether its tools only read, as the owner of the pool knows: calls pass no gate, and may be repeated.', false),
  },
  {
    rules: [
      rule(
        "!has(self.headers) || size(self.headers) == 0 || self.url.startsWith('https://') || !isURL(self.url) || url(self.url).getHostname().endsWith('.svc')",
        `${servers}.headers must be sent by https, or to a Service of the cluster (<name>.<namespace>.svc); correct the url, or remove them`,
      ),
    ],
  },
);

const TaskServer = struct('An MCP server that the model may use.', {
  name: serverName,
  url: optional(serverUrl),
  required: flag('Whether the attempt fails, to be tried again, when it does not answer at the start; else the model does without.', false),
});

const mostServers = 8;

/** `spec.tools` of a pool. */
export const PoolTools = struct('Tools of models.', {
  deny: optional(deny),
  timeouts: optional(
    struct('Most seconds of one call.', { bash: optional(integer('Seconds of one command; 600 where nothing is set.', 1, 3600)) }),
  ),
  mcpServers: optional(
    listByKey('MCP servers that tasks may name; nobody has their tools by itself. Default: none.', 'name', PoolServer, {
      max: mostServers,
    }),
  ),
});
export type PoolTools = Static<typeof PoolTools>;

/** `spec.tools` of a task. */
export const TaskTools = struct('Tools of the model.', {
  deny: optional(deny),
  mcpServers: optional(
    listByKey(
      'MCP servers whose tools the model has: of the pool by their name, or with a url of a host of spec.policy.allowedHosts of the pool.',
      'name',
      TaskServer,
      { max: mostServers },
    ),
  ),
});
export type TaskTools = Static<typeof TaskTools>;

const ofHeader = (demand: string): string =>
  `!has(self.tools) || !has(self.tools.mcpServers) || self.tools.mcpServers.all(s, !has(s.headers) || s.headers.all(h, ${demand}))`;

/** Rules over the spec of a pool that tie servers to credentials. */
export const toolsRules = [
  rule(
    ofHeader('has(self.credentials) && self.credentials.exists(c, c.name == h.credential)'),
    `${servers}.headers[].credential must be the name of an entry of spec.credentials; add the entry or correct the name`,
  ),
  rule(
    ofHeader(
      '!has(self.credentials) || !isURL(s.url) || self.credentials.all(c, c.name != h.credential || url(s.url).getHostname() in c.hosts)',
    ),
    `spec.credentials[].hosts must hold the host of ${servers}.url, or the header is not sent there; add the host`,
  ),
];
