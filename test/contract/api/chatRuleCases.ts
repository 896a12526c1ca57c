// Rules of ExpertPool over chat models.
import { withValue, type Node } from './fields.ts';
import { minimalPool } from './poolExamples.ts';
import { change, member, type RuleCase } from './ruleCase.ts';

const engine = 'spec.experts[].engine';
const llm = { name: 'llm', secretRef: { name: 'llm', key: 'token' }, hosts: ['llm.example.com'] };
const store = { uri: 's3://agents', endpoint: 'https://llm.example.com' };

const engines = [
  ['OpenAI', 'api'],
  ['Anthropic', 'api'],
] as const;

/** A pool whose single expert is behind an API, and the field of its engine. */
function poolOf([type, name]: (typeof engines)[number]): { readonly pool: Node; readonly at: string; readonly path: string } {
  const endpoint = { baseURL: 'https://llm.example.com', model: 'm', credential: 'llm' };
  const experts = [{ name: 'gen', role: 'Generalist', engine: { type, [name]: endpoint } }];
  const pool = withValue(withValue(minimalPool, 'spec.experts', experts), 'spec.credentials', [llm]);
  return { pool, at: `spec.experts[0].engine.${name}`, path: `${engine}.${name}` };
}

const like = 'https://llm.example.com/v1';

function addressCases(one: (typeof engines)[number]): readonly RuleCase[] {
  const { pool, at, path } = poolOf(one);
  const free = withValue(pool, `${at}.credential`, undefined);
  const shape = (field: string, example: string): string =>
    `${path}.${field} must be http or https, a host in lower case or an IP address, and no more than that, a port and a path; write it like ${example}`;
  const closed = (field: string): string =>
    `${path}.${field} must not be localhost or an address in 0.0.0.0/8 or 169.254.0.0/16, which the gateway never reaches; name the host of the model`;
  const wrong = [
    'llm.example.com/v1',
    'ftp://llm.example.com',
    'https://me:key@llm.example.com',
    'https://llm.example.com/v1?a=b',
    'https://LLM.example.com',
    'https://10.0.0.256/v1',
    'https://llm.example.com:65536/v1',
  ];
  return [
    ...wrong.map((url) => change(free, `${at}.baseURL`, 'http://[fd00::1]:8080/v1/', url, shape('baseURL', like))),
    change(
      free,
      `${at}.baseURL`,
      'https://llm.example.com/openai/deployments/gpt-5.1?api-version=2025-04-01-preview',
      'https://llm.example.com/openai/deployments/gpt-5.1?api-version=2025-04-01-preview&key=x',
      shape('baseURL', like),
    ),
    ...['http://localhost:8000/v1', 'http://169.254.169.254'].map((url) =>
      change(free, `${at}.baseURL`, 'http://10.1.2.3:8000/v1', url, closed('baseURL')),
    ),
    change(pool, `${at}.proxyURL`, 'http://proxy:3128', 'http://proxy:3128/path', shape('proxyURL', 'http://proxy.example.com:3128')),
    change(pool, `${at}.proxyURL`, 'http://proxy:3128', 'http://localhost:3128', closed('proxyURL')),
  ];
}

function endpointCases(one: (typeof engines)[number]): readonly RuleCase[] {
  const { pool, at, path } = poolOf(one);
  const [type, name] = one;
  const plain = withValue(withValue(pool, `${at}.baseURL`, 'http://llm.example.com'), `${at}.caBundleRef`, undefined);
  return [
    ...addressCases(one),
    change(
      withValue(pool, `${at}.contextTokens`, 4096),
      `${at}.maxOutputTokens`,
      4095,
      4096,
      `${path}.maxOutputTokens must be less than ${path}.contextTokens, which holds the request too; lower it`,
    ),
    {
      base: plain,
      passes: { [`${at}.caBundleRef`]: { name: 'ca', key: 'ca.crt' }, [`${at}.baseURL`]: 'https://llm.example.com' },
      refused: { [`${at}.caBundleRef`]: { name: 'ca', key: 'ca.crt' } },
      message: `${path}.caBundleRef must be set beside a baseURL of https only; remove it, or correct the address`,
    },
    change(
      pool,
      'spec.experts[0].engine',
      (pool as { spec: { experts: readonly { engine: unknown }[] } }).spec.experts[0]?.engine,
      { type },
      `${path} must be set exactly when ${engine}.type is OpenAI or Anthropic; ${member}`,
    ),
    {
      base: withValue(pool, 'spec.policy', { maxBudget: { cost: '5' } }),
      passes: { [`${at}.price`]: { input: '1', output: '2' } },
      refused: { [`${at}.price`]: undefined },
      message: `${path}.price must be set beside spec.policy.maxBudget.cost, which counts by it; add it, or bound spec.policy.maxBudget.tokens instead`,
    },
    change(
      pool,
      `${at}.credential`,
      'llm',
      'other',
      `${path}.credential must be the name of an entry of spec.credentials; add the entry or correct the name`,
    ),
    change(
      pool,
      'spec.credentials[0].hosts',
      ['other.example.com', 'llm.example.com'],
      ['example.com'],
      `spec.credentials[].hosts must hold the host of ${engine}.${name}.baseURL, or the key is not sent there; add the host`,
    ),
    ...[
      { ...store, credential: 'llm' },
      { ...store, encryption: { credential: 'llm' } },
    ].map((refused) =>
      change(
        pool,
        'spec.storage',
        store,
        refused,
        `${path}.credential must not be that of spec.storage or spec.modelCache, which workers hold; add an entry of spec.credentials for the model`,
      ),
    ),
  ];
}

const { pool: chat } = poolOf(engines[0]);
const synth = { name: 'search', role: 'Specialist', engine: { type: 'Synth' } };
const spare = (fallback: string | undefined): Node => ({
  name: 'spare',
  role: 'Generalist',
  engine: { type: 'Replay', replay: { configMap: { name: 'chats' }, format: 'Chat' } },
  ...(fallback !== undefined && { fallback }),
});
const withSpare = withValue(withValue(chat, 'spec.experts[1]', spare(undefined)), 'spec.experts[2]', synth);
const onGpu = {
  name: 'core',
  role: 'Specialist',
  engine: { type: 'VLLM', vLLM: { image: 'vllm:1', toolCallParser: 'hermes' } },
  artifact: { uri: 'pvc://models/core' },
};
const withGpu = withValue(chat, 'spec.experts[1]', onGpu);
const models = 'OpenAI, Anthropic, Replay of the format Chat, VLLM with toolCallParser';

const harness = { command: ['mini', '{{goal}}'], model: 'gen' };
const withProgram = withValue(chat, 'spec.experts[1]', { name: 'program', role: 'Generalist', engine: { type: 'Harness', harness } });
const program = 'spec.experts[1].engine.harness';

/** Fields that fit an agent program. */
const harnessCases: readonly RuleCase[] = [
  change(
    withProgram,
    'spec.experts[1].role',
    'Generalist',
    'Specialist',
    'spec.experts[].role must be Generalist beside the engine Harness, which runs whole attempts; correct the role or the engine',
  ),
  change(
    withProgram,
    'spec.experts[1].replicas',
    0,
    2,
    'spec.experts[].replicas must be 0 or 1 and spec.experts[].resources absent beside the engine Harness, which runs in the sandbox; set spec.sandbox.template.resources',
  ),
  change(
    withProgram,
    'spec.experts[2]',
    synth,
    { name: 'second', role: 'Generalist', engine: { type: 'Harness', harness } },
    'spec.experts must hold one expert with the engine Harness at most, as it runs the attempts; remove the others',
  ),
  change(
    withProgram,
    `${program}.model`,
    'gen',
    'nobody',
    `${engine}.harness.model must be the name of an expert of the pool that is a chat model (${models}); add it or correct the name`,
  ),
  {
    base: withProgram,
    passes: { [program]: { command: ['mini', '{{goal}}'], api: 'None' } },
    refused: { [program]: { command: ['mini', '{{goal}}'] } },
    message: `${engine}.harness.model must name the chat model that answers the program, and must be absent exactly with ${engine}.harness.api None; set it, or remove it`,
  },
  {
    base: withProgram,
    passes: { [`${program}.command`]: ['mini'], [`${program}.input`]: 'Stdin' },
    refused: { [`${program}.command`]: ['mini'] },
    message: `${engine}.harness.command must hold {{goal}} or {{goalFile}}, or ${engine}.harness.input must be Stdin: the program has to get its goal; add one of them`,
  },
  {
    base: withProgram,
    passes: { [program]: { ...harness, acts: 'Tools' } },
    refused: { [program]: { command: ['mini', '{{goal}}'], api: 'None', acts: 'Tools' } },
    message: `${engine}.harness.acts must be Own beside ${engine}.harness.api None: a program without a model calls no tools; set the api, or remove acts`,
  },
  ...['command', 'install.command'].map((field) =>
    change(
      withProgram,
      program,
      { ...harness, install: { command: ['pip', 'install', 'mini'] } },
      field === 'command' ? { ...harness, command: [' ', '{{goal}}'] } : { ...harness, install: { command: [' '] } },
      `${engine}.harness.${field}[0] must name a program; write it like [mini, --yolo]`,
    ),
  ),
  {
    base: withProgram,
    passes: { 'spec.experts[1].engine': { type: 'Harness', harness } },
    refused: { 'spec.experts[1].engine': { type: 'Harness' } },
    message: `${engine}.harness must be set exactly when ${engine}.type is Harness; ${member}`,
  },
];

/** Fields that fit a chat model, and those that it needs. */
export const chatCases: readonly RuleCase[] = [
  ...harnessCases,
  ...engines.flatMap(endpointCases),
  ...[{ replicas: 2 }, { resources: { limits: { cpu: '1' } } }].map((refused) => ({
    base: chat,
    passes: { 'spec.experts[0].replicas': 0 },
    refused: Object.fromEntries(Object.entries(refused).map(([field, value]) => [`spec.experts[0].${field}`, value])),
    message:
      'spec.experts[].replicas must be 0 or 1 and spec.experts[].resources absent beside a model that has no pods; set spec.gateway.replicas and spec.gateway.resources',
  })),
  change(
    withGpu,
    'spec.experts[1].residency',
    'Always',
    'Sleep',
    'spec.experts[].residency must be Always beside spec.experts[].engine.vLLM.toolCallParser, as the gateway asks the engine itself; write Always',
  ),
  change(
    withGpu,
    'spec.experts[1].engine.vLLM.maxModelLen',
    1024,
    1023,
    `${engine}.vLLM.maxModelLen must be at least 1024 beside ${engine}.vLLM.toolCallParser; raise it`,
  ),
  {
    base: withSpare,
    passes: { 'spec.experts[0].fallback': 'spare' },
    refused: { 'spec.experts[2].fallback': 'spare' },
    message: `spec.experts[].fallback must be set on chat models only (${models}); remove it`,
  },
  ...['gen', 'search', 'nobody'].map((refused) =>
    change(
      withSpare,
      'spec.experts[0].fallback',
      'spare',
      refused,
      'spec.experts[].fallback must be the name of another expert of the pool that is a chat model; correct the name, or remove it',
    ),
  ),
  {
    base: chat,
    passes: { 'spec.gateway': { replicas: 1 } },
    refused: { 'spec.gateway': { replicas: 1 }, 'spec.experts[0].engine': { type: 'Synth' } },
    message: `spec.gateway must be set beside an expert that is a chat model (${models}) only; remove it, or add one`,
  },
];
