import type { Static } from 'typebox';
import { containerResources } from '../agenttask/sandbox.ts';
import { choice, integer, labelName, money, objectName, optional, rule, struct, text, withRules, type Rule } from '../schema/index.ts';

const engine = 'spec.experts[].engine';

const unreachable = "startsWith('169.254.') || url(self).getHostname().startsWith('0.') || url(self).getHostname() == 'localhost'";

/** Address of a server by http or https; `path` is the field's name in messages. */
function address(path: string, description: string, options: { readonly pattern: string; readonly like: string }) {
  const { pattern, like } = options;
  return withRules(
    text(description, { max: 512, min: 1 }),
    rule(
      `self.matches('${pattern}') && isURL(self) && url(self).getHostname() != ''`,
      `${path} must be http or https, a host in lower case or an IP address, and no more than that, a port and a path; write it like ${like}`,
    ),
    rule(
      `!isURL(self) || !(url(self).getHostname().${unreachable})`,
      `${path} must not be localhost or an address in 0.0.0.0/8 or 169.254.0.0/16, which the gateway never reaches; name the host of the model`,
    ),
  );
}

/** A name whose last label is no number: any other is an IPv4 address, or no address at all. */
const namePattern = '([-a-z0-9]+[.])*[-0-9]*[a-z][-a-z0-9]*[.]?';
const octetPattern = '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])';
const portPattern = '[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]';
const hostPattern = `^https?://(${namePattern}|(${octetPattern}[.]){3}${octetPattern}|\\\\[[0-9a-f:.]+\\\\])(:(${portPattern}))?`;

const Price = struct(
  'Price per million tokens, in the currency of the pool; default: none, and tasks with a budget of cost are not worked on.',
  {
    input: money('Of tokens of a request.'),
    cachedInput: optional(money('Of those that the provider read from a cache; default: as input.')),
    output: money('Of tokens of an answer.'),
  },
);

const CaBundle = struct('A key of a ConfigMap of the namespace with the authorities of the server, PEM; default: the usual ones.', {
  name: objectName('Name of the ConfigMap.'),
  key: text('Key inside the ConfigMap.', { max: 253, min: 1, pattern: '^[-._a-zA-Z0-9]+$' }),
});

const path = `${engine}.api`;

/** `spec.experts[].engine.api`: of the types OpenAI and Anthropic. */
export const Api = struct(
  'A model behind an API: the OpenAI chat API of any server that speaks it, or the Messages API of Anthropic.',
  {
    baseURL: address(
      `${path}.baseURL`,
      'Address of the API: of OpenAI with its path, as https://host/v1; of Anthropic without /v1, as https://api.anthropic.com; of a deployment of Azure as https://name.openai.azure.com/openai/deployments/gpt, where ?api-version=2024-10-21 may follow.',
      { pattern: `${hostPattern}(/[-._~a-zA-Z0-9/]*)?([?]api-version=[-a-z0-9]+)?$`, like: 'https://llm.example.com/v1' },
    ),
    model: text('Name of the model at the server.', { max: 256, min: 1 }),
    credential: optional(labelName('Entry of spec.credentials whose value is the key; the gateway alone has it. Default: none.')),
    caBundleRef: optional(CaBundle),
    proxyURL: optional(
      address(`${path}.proxyURL`, 'HTTP proxy between the gateway and the server; default: none.', {
        pattern: `${hostPattern}/?$`,
        like: 'http://proxy.example.com:3128',
      }),
    ),
    contextTokens: integer('Tokens of a request with its answer.', 1024, 16_777_216, 131_072),
    maxOutputTokens: optional(integer('Tokens of one answer; default: a quarter of contextTokens, at most 8192.', 16, 1_048_576)),
    toolCalls: choice('Native: the model calls tools. Json: it does not, and answers with one JSON object.', ['Native', 'Json'], 'Native'),
    price: optional(Price),
    requestsPerMinute: optional(integer('Requests that each replica of the gateway sends in a minute; default: any number.', 1, 1_000_000)),
    concurrency: integer('Requests that each replica of the gateway has under way at once.', 1, 1024, 32),
    timeoutSeconds: integer('Seconds in which an answer has to be complete.', 1, 3600, 300),
  },
  {
    rules: [
      rule(
        '!has(self.maxOutputTokens) || self.maxOutputTokens < self.contextTokens',
        `${path}.maxOutputTokens must be less than ${path}.contextTokens, which holds the request too; lower it`,
      ),
      rule(
        "!has(self.caBundleRef) || self.baseURL.startsWith('https://')",
        `${path}.caBundleRef must be set beside a baseURL of https only; remove it, or correct the address`,
      ),
    ],
  },
);

/** A model behind an API. */
export type ChatEndpoint = Static<typeof Api>;

/** `spec.gateway`. */
export const Gateway = struct('The pods between the workers and chat models; they alone hold keys and reach the hosts of models.', {
  replicas: integer('Number of pods.', 1, 32, 2),
  resources: optional(containerResources('spec.gateway.resources')),
});
export type Gateway = Static<typeof Gateway>;

const replays = (expert: string): string => `(has(${expert}.engine.replay) && ${expert}.engine.replay.format == 'Chat')`;

/** Returns the CEL test of whether an expert, a CEL expression, is a chat model without pods of its own. */
export const isBehindGateway = (expert: string): string => `(has(${expert}.engine.api) || ${replays(expert)})`;

const serves = (expert: string): string => `(has(${expert}.engine.vLLM) && has(${expert}.engine.vLLM.toolCallParser))`;

/** Returns the CEL test of whether an expert, a CEL expression, is asked by way of the gateway. */
export const isChat = (expert: string): string => `(${isBehindGateway(expert)} || ${serves(expert)})`;

/** Rules of one expert. */
export const chatExpertRules = [
  rule(
    `!${isBehindGateway('self')} || (self.replicas <= 1 && !has(self.resources))`,
    'spec.experts[].replicas must be 0 or 1 and spec.experts[].resources absent beside a model that has no pods; set spec.gateway.replicas and spec.gateway.resources',
  ),
  rule(
    `!${serves('self')} || !has(self.residency) || self.residency == 'Always'`,
    'spec.experts[].residency must be Always beside spec.experts[].engine.vLLM.toolCallParser, as the gateway asks the engine itself; write Always',
  ),
  rule(
    `!has(self.fallback) || ${isChat('self')}`,
    'spec.experts[].fallback must be set on chat models only (OpenAI, Anthropic, Replay of the format Chat, VLLM with toolCallParser); remove it',
  ),
];

/** A rule of the list of experts. */
export const fallbackRule = rule(
  `self.all(e, !has(e.fallback) || (e.fallback != e.name && self.exists(o, o.name == e.fallback && ${isChat('o')})))`,
  'spec.experts[].fallback must be the name of another expert of the pool that is a chat model; correct the name, or remove it',
);

function specRules(): readonly Rule[] {
  const at = 'e.engine.api';
  const every = (demand: string): string => `self.experts.all(e, !has(${at}) || !has(${at}.credential) || ${demand})`;
  const elsewhere = [
    `(has(self.storage) && has(self.storage.credential) && self.storage.credential == ${at}.credential)`,
    `(has(self.storage) && has(self.storage.encryption) && self.storage.encryption.credential == ${at}.credential)`,
    `(has(self.modelCache) && has(self.modelCache.hub) && has(self.modelCache.hub.credential) && self.modelCache.hub.credential == ${at}.credential)`,
  ].join(' || ');
  return [
    rule(
      every(`(has(self.credentials) && self.credentials.exists(c, c.name == ${at}.credential))`),
      `${path}.credential must be the name of an entry of spec.credentials; add the entry or correct the name`,
    ),
    rule(
      every(
        `!has(self.credentials) || !isURL(${at}.baseURL) || self.credentials.all(c, c.name != ${at}.credential || url(${at}.baseURL).getHostname() in c.hosts)`,
      ),
      `spec.credentials[].hosts must hold the host of ${path}.baseURL, or the key is not sent there; add the host`,
    ),
    rule(
      every(`!(${elsewhere})`),
      `${path}.credential must not be that of spec.storage or spec.modelCache, which workers hold; add an entry of spec.credentials for the model`,
    ),
    rule(
      `!has(self.policy.maxBudget) || !has(self.policy.maxBudget.cost) || self.experts.all(e, !has(${at}) || has(${at}.price))`,
      `${path}.price must be set beside spec.policy.maxBudget.cost, which counts by it; add it, or bound spec.policy.maxBudget.tokens instead`,
    ),
  ];
}

/** Rules over `spec` that tie chat models to credentials, budgets and the gateway. */
export const chatRules = [
  ...specRules(),
  rule(
    `!has(self.gateway) || self.experts.exists(e, ${isChat('e')})`,
    'spec.gateway must be set beside an expert that is a chat model (OpenAI, Anthropic, Replay of the format Chat, VLLM with toolCallParser) only; remove it, or add one',
  ),
];
