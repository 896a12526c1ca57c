// Rules of ExpertPool over engines with weights, of tools, and of rollouts.
import { withoutGateway } from './poolExamples.ts';
import { withValue, type Node } from './fields.ts';
import { change, member, type RuleCase } from './ruleCase.ts';
import { toolDefinitions } from '@agentfleet/protocol/chat';
import { fullPool, fullTask, workspaces } from './examples.ts';
import { fullPolicy } from './rolloutExamples.ts';

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

// Rules of RolloutPolicies.

const gate = (metric: string, more: Node = {}): readonly Node[] => [{ name: 'one', metric, ...more }];
const golden = { templateRef: { name: 'golden' } };

/** A list of one gate that passes, and one that is refused. */
const gates = (passes: readonly Node[], refused: readonly Node[], message: string): RuleCase =>
  change(fullPolicy, 'spec.gates', passes, refused, message);

const side = (field: string, other: string): string =>
  `spec.gates[].${field} must not be set for this metric, which is bounded from the other side; use ${other}`;
const share = 'spec.gates[].atLeast and atMost must not be negative, and not above 1 for a share; correct the bound';
const loss = 'spec.gates[].atMost must be between 0.005 and 0.5 for TaskLoss; correct it';
const samples = 'spec.gates[].minSamples must not be set for TaskLoss, whose test decides how many it takes, or Query; remove it';
const query = 'spec.gates[].query must be set exactly for the metric Query, with atLeast or atMost; set or remove it';
const template = 'spec.gates[].templateRef must be set exactly for the metric GoldenLoss; set or remove it';

/** Refusals of a RolloutPolicy. */
export const rolloutCases: readonly RuleCase[] = [
  gates(gate('AUC', { atLeast: '0.8' }), gate('ErrorRate', { atLeast: '0.8' }), side('atLeast', 'atMost')),
  gates(gate('ErrorRate', { atMost: '0.8' }), gate('AUC', { atMost: '0.8' }), side('atMost', 'atLeast')),
  gates(gate('LatencyRatio', { atMost: '1.5' }), gate('ErrorRate', { atMost: '1.5' }), share),
  gates(gate('AUC', { atLeast: '0' }), gate('AUC', { atLeast: '-0.1' }), share),
  gates(gate('TaskLoss', { atMost: '0.005' }), gate('TaskLoss', { atMost: '0.5' }), loss),
  gates(gate('ErrorRate', { minSamples: 1 }), gate('TaskLoss', { minSamples: 1 }), samples),
  gates(gate('Query', { query: 'up', atLeast: '1' }), gate('Query', { query: 'up' }), query),
  gates(gate('Query', { query: 'up', atMost: '-1' }), gate('ErrorRate', { query: 'up' }), query),
  gates(gate('GoldenLoss', golden), gate('GoldenLoss'), template),
  gates(gate('ErrorRate'), gate('ErrorRate', golden), template),
  change(
    fullPolicy,
    'spec.steps',
    [{ weight: 1 }, { weight: 1 }, { weight: 50 }],
    [{ weight: 50 }, { weight: 10 }],
    'spec.steps[].weight must not fall from step to step; correct the order',
  ),
  change(
    fullPolicy,
    'spec.steps',
    [{ weight: 1 }, { weight: 90 }],
    [{ weight: 1 }, { weight: 91 }],
    'spec.steps[].weight must not be above 90 beside a gate of the metric TaskLoss, LatencyRatio, EnergyShift, VetoRatio, ScoreDrift or MissedVeto, which needs tasks of the stable revision too; lower the weight, or remove the gate',
  ),
  change(
    fullPolicy,
    'spec.prometheus',
    { url: 'https://prometheus' },
    undefined,
    'spec.prometheus must be set beside a gate of the metric Query; name the server, or remove the gate',
  ),
  {
    base: fullPolicy,
    passes: { 'spec.gates': gate('ErrorRate') },
    refused: { 'spec.gates': gate('ErrorRate'), 'spec.strategy': 'Canary' },
    message: 'spec.shadow must not be set beside another strategy, which copies nothing; remove it, or use the strategy ShadowThenCanary',
  },
  {
    base: fullPolicy,
    passes: { 'spec.shadow': undefined },
    refused: { 'spec.shadow': undefined, 'spec.strategy': 'Canary' },
    message:
      'spec.strategy must be ShadowThenCanary beside a gate of the metric Agreement or FalseVeto, which only copies bring data for; use it, or remove the gate',
  },
  change(
    fullPolicy,
    'spec.gates',
    gate('ErrorRate'),
    undefined,
    'spec.gates must not be empty, or nothing would tell a bad revision; add one, for example of the metric TaskLoss, or use the strategy Recreate',
  ),
];

const synth = { type: 'Synth' } as const;
const single = withValue(withoutGateway, 'spec.experts', [{ name: 'gen', role: 'Generalist', engine: synth }]);
const vllm = { type: 'VLLM', vLLM: { image: 'vllm:1' } } as const;
const weights = { uri: 'pvc://models/core' } as const;
const onGpu = { name: 'core', role: 'Generalist', engine: vllm, artifact: weights };
const withGpu = withValue(single, 'spec.experts[1]', onGpu);

/** Engines with their own weights, and the weights' places. */
export const weightCases: readonly RuleCase[] = [
  ...[
    { name: 'core', role: 'Generalist', engine: vllm },
    { name: 'core', role: 'Generalist', engine: synth, artifact: weights },
  ].map((expert) =>
    change(
      single,
      'spec.experts[1]',
      onGpu,
      expert,
      'spec.experts[].artifact must be set exactly beside the engines VLLM and Adapter, which have weights of their own; add or remove it',
    ),
  ),
  ...(
    [
      ['speculative', { draft: weights }],
      ['residency', 'Always'],
      ['warmup', { timeoutSeconds: 60 }],
    ] as const
  ).map(([field, value]) =>
    change(
      single,
      'spec.experts[1]',
      { ...onGpu, [field]: value },
      { name: 'core', role: 'Generalist', engine: synth, [field]: value },
      `spec.experts[].${field} must be set beside the engine VLLM only; remove it, or correct the engine`,
    ),
  ),
  change(
    withGpu,
    'spec.experts[2]',
    { name: 'js', role: 'Specialist', engine: { type: 'Adapter', adapter: { base: 'core' } }, artifact: weights },
    { name: 'js', role: 'Specialist', engine: { type: 'Adapter', adapter: { base: 'gen' } }, artifact: weights },
    'spec.experts[].engine.adapter.base must be the name of an expert of the pool with the engine VLLM; add it or correct the name',
  ),
  change(
    withValue(withGpu, 'spec.experts[2]', {
      name: 'js',
      role: 'Specialist',
      engine: { type: 'Adapter', adapter: { base: 'core' } },
      artifact: weights,
    }),
    'spec.experts[1].residency',
    'Always',
    'Sleep',
    'spec.experts[].residency must not be Sleep for the base of an adapter, which is asked past it; write Always',
  ),
  ...(
    [
      ['vLLM', 'VLLM'],
      ['adapter', 'Adapter'],
    ] as const
  ).flatMap(([name, type]) =>
    [{ type }, { type: 'Synth', [name]: type === 'VLLM' ? { image: 'a' } : { base: 'core' } }].map((engine) =>
      change(
        withGpu,
        'spec.experts[1].engine',
        vllm,
        engine,
        `spec.experts[].engine.${name} must be set exactly when spec.experts[].engine.type is ${type}; ${member}`,
      ),
    ),
  ),
  change(
    withGpu,
    'spec.experts[1].engine.vLLM.kvCacheBytes',
    '1Gi',
    '1Ki',
    'spec.experts[].engine.vLLM.kvCacheBytes must be between 1Mi and 1Pi; write an amount of bytes such as 2Gi',
  ),
  ...['spec.experts[1].artifact.uri', 'spec.experts[1].speculative'].map((path) => {
    const value = (uri: string): unknown => (path.endsWith('uri') ? uri : { draft: { uri } });
    return change(
      withGpu,
      path,
      value('pvc://models/a'),
      value('pvc://models/../a'),
      'spec.experts[].artifact.uri must not have . or .. between its slashes; write the folder itself',
    );
  }),
  ...['spec.experts[1].artifact.uri', 'spec.experts[1].speculative'].map((path) => {
    const value = (uri: string): unknown => (path.endsWith('uri') ? uri : { draft: { uri } });
    return change(
      withValue(withGpu, 'spec.modelCache', undefined),
      path,
      value('pvc://models/a'),
      value('hf://a/b@main'),
      'spec.modelCache must be set beside weights of s3:// or hf://, which are fetched into it; add it, or name a pvc:// or oci://',
    );
  }),
  change(
    withValue(withGpu, 'spec.storage', undefined),
    'spec.experts[1].artifact.uri',
    'pvc://models/a',
    's3://models/a',
    'spec.storage must be set beside weights of s3://, as it says where buckets are; add it, or name another place',
  ),
  change(
    fullPool,
    'spec.modelCache.size',
    '2Gi',
    '1Ki',
    'spec.modelCache.size must be between 1Mi and 1Pi; write an amount of bytes such as 2Gi',
  ),
  change(
    fullPool,
    'spec.modelCache.hub.credential',
    'hub',
    'store',
    'spec.modelCache.hub.credential must be the name of an entry of spec.credentials whose hosts hold spec.modelCache.hub.host; add or correct it',
  ),
];
