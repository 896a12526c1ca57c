// Rules of ExpertPool, AgentTaskOrder and EnergyModel over one object.
import { orders, rolloutOrder } from './examples.ts';
import { fullModel } from './modelExamples.ts';
import { fullPool, minimalPool, withoutGateway } from './poolExamples.ts';
import { withValue, type Node } from './fields.ts';
import { chatCases } from './chatRuleCases.ts';
import { rolloutCases, weightCases } from './weightRuleCases.ts';
import { change, member, resourceCases, type RuleCase } from './ruleCase.ts';

// Rules of ExpertPool and EnergyModel about GPUs.

/** Memory of an engine on its GPU at `path`, which messages call `label`. */
function memoryCases(base: Node, path: string, label: string): readonly RuleCase[] {
  const bounds = `${label}.budget must be Auto or between 1Mi and 1Ti; write an amount of bytes such as 9Gi`;
  const auto = `${label}.kvTokens must be set beside the budget Auto only; remove it, or set ${label}.budget to Auto`;
  return [
    change(base, path, { budget: '1Mi' }, { budget: '1023Ki' }, bounds),
    change(base, path, { budget: '1Ti' }, { budget: '1025Gi' }, bounds),
    change(base, path, { budget: 'Auto', kvTokens: 8192 }, { budget: '9Gi', kvTokens: 8192 }, auto),
  ];
}

const pair = ['dgx-1/gpu2', 'dgx-1/gpu3'] as const;
const engine = (more: Node): Node => ({ type: 'VLLM', vLLM: { image: 'vllm:1', ...more } });
const wide = { name: 'core', role: 'Specialist', engine: engine({ tensorParallel: 2 }), artifact: { uri: 'pvc://models/core' } } as const;
const gen = { name: 'gen', role: 'Generalist', engine: { type: 'Synth' } } as const;
const pool = withValue(minimalPool, 'spec.experts', [gen, wide]);
const wideOnes = (count: number): readonly Node[] => [
  gen,
  ...Array.from({ length: count }, (_, index) => ({ ...wide, name: `wide${index}`, engine: engine({ tensorParallel: 8 }) })),
];

/** An engine on several GPUs. */
const shardCases: readonly RuleCase[] = [
  ...[{}, { tensorParallel: 1 }, { tensorParallel: 3 }].map((shards) =>
    change(
      pool,
      'spec.experts[1].engine',
      engine({ slots: pair, tensorParallel: 2 }),
      engine({ slots: pair, ...shards }),
      'spec.experts[].engine.vLLM.slots must name as many GPUs as spec.experts[].engine.vLLM.tensorParallel says; correct one of the two',
    ),
  ),
  change(
    withValue(pool, 'spec.experts[1].engine.vLLM.slots', pair),
    'spec.experts[1].engine.vLLM.slots',
    pair,
    ['dgx-1/gpu2', 'dgx-2/gpu3'],
    'spec.experts[].engine.vLLM.slots must be of one node, as NVLink joins GPUs of one; name others',
  ),
  change(
    pool,
    'spec.experts[1]',
    { ...wide, resources: { memory: { budget: '9Gi' } } },
    { ...wide, resources: { slot: 'dgx-1/gpu2' } },
    'spec.experts[].resources.slot must not be set beside spec.experts[].engine.vLLM.tensorParallel above 1, which needs several; write spec.experts[].engine.vLLM.slots instead',
  ),
  change(
    pool,
    'spec.experts',
    wideOnes(3),
    wideOnes(4),
    'spec.experts[].engine.vLLM.tensorParallel must not come to more than 32 over all experts, where each other one counts 1; lower it',
  ),
];

const gpuCases: readonly RuleCase[] = [
  ...memoryCases(fullPool, 'spec.experts[0].resources.memory', 'spec.experts[].resources.memory'),
  change(
    fullModel,
    'spec.resources.memory.budget',
    '1Mi',
    '1023Ki',
    'spec.resources.memory.budget must be between 1Mi and 1Pi; write an amount of bytes such as 2Gi',
  ),
  change(
    fullPool,
    'spec.placement.antiAffinity[0].expert',
    'py',
    'nobody',
    'spec.placement.antiAffinity[].expert must be the name of an entry of spec.experts; correct the name',
  ),
  ...shardCases,
];

const orderCases: readonly RuleCase[] = (
  [
    ['action', 'Approve or Reject or Answer for a task', 'Cancel', ['Approve', 'Reject', 'Answer']],
    ['message', 'Answer or Message', 'Reject', ['Answer', 'Message']],
  ] as const
).flatMap(([field, types, other, owners]) => {
  const message = `spec.${field} must be set exactly when spec.type is ${types}; set or remove it`;
  const value = (orders[owners[0]] as { spec: Record<string, unknown> }).spec[field];
  return [
    { base: orders[other]!, passes: {}, refused: { [`spec.${field}`]: value }, message },
    ...owners.map((owner) => ({ base: orders[owner]!, passes: {}, refused: { [`spec.${field}`]: undefined }, message })),
  ];
});

/** An order is about a task, or about a rollout. */
const targetCases: readonly RuleCase[] = [
  change(
    rolloutOrder,
    'spec.taskRef',
    undefined,
    { name: 'full' },
    'spec.taskRef or spec.rolloutRef must be set, and not both; name what the order is about',
  ),
  change(rolloutOrder, 'spec.type', 'Reject', 'Cancel', 'spec.type must be Approve or Reject beside spec.rolloutRef; correct it'),
  change(
    rolloutOrder,
    'spec.revision',
    'aaaaaaaaaa',
    undefined,
    'spec.revision must be set exactly beside spec.rolloutRef; set or remove it',
  ),
];

const blankCase: RuleCase = change(
  orders['Message']!,
  'spec.message',
  ' go on ',
  ' \n ',
  'spec.message must not be blank; write the answer or the message',
);

const snapshotCase: RuleCase = change(
  orders['Cancel']!,
  'spec.snapshot',
  undefined,
  's0003',
  'spec.snapshot must be set beside spec.type Message only; remove it, or correct spec.type',
);

const builtin = { type: 'Builtin' } as const;
const llama = { type: 'Llama', llama: {} } as const;
const synth = { type: 'Synth' } as const;
const single = withValue(withoutGateway, 'spec.experts', [{ name: 'gen', role: 'Generalist', engine: synth }]);

/** Fields that exclude the engine of layers. */
const layerCases: readonly RuleCase[] = [
  change(
    withValue(fullPool, 'spec.sandbox', { snapshotEngine: 'Overlay' }),
    'spec.sandbox.userNamespace',
    'Always',
    'Never',
    'spec.sandbox.userNamespace must not be Never beside spec.sandbox.snapshotEngine Overlay; set one of the two to Auto',
  ),
  change(
    withValue(fullPool, 'spec.sandbox', { snapshotEngine: 'Overlay' }),
    'spec.sandbox.template',
    {},
    { runtimeClassName: 'gvisor' },
    'spec.sandbox.template.runtimeClassName must not be set beside spec.sandbox.snapshotEngine Overlay; remove it, or set the engine to Auto',
  ),
];

/** Cases on the engine that a role may have, and on the number of a role that there may be. */
const roleCases: readonly RuleCase[] = [
  ...(
    [
      ['Planner', builtin, synth],
      ['Embedder', builtin, llama],
      ['Policy', builtin, synth],
      ['Specialist', llama, builtin],
    ] as const
  ).map(([role, right, wrong]) =>
    change(
      single,
      'spec.experts[1]',
      { name: 'more', role, engine: right },
      { name: 'more', role, engine: wrong },
      'spec.experts[].engine.type must be Builtin exactly for the roles Planner, Embedder and Policy; correct the role or the engine',
    ),
  ),
  change(
    single,
    'spec.experts[1]',
    { name: 'draft', role: 'Draft', engine: llama },
    { name: 'draft', role: 'Draft', engine: synth },
    'spec.experts[].engine.type must be Llama for the role Draft, which weighs by likelihood; correct the role or the engine',
  ),
  ...(
    [
      ['Draft', llama],
      ['Planner', builtin],
      ['Embedder', builtin],
      ['Policy', builtin],
    ] as const
  ).map(([role, engine]) => ({
    base: withValue(single, 'spec.experts[1]', { name: 'one', role, engine }),
    passes: { 'spec.experts[2]': { name: 'two', role: 'Generalist', engine: synth } },
    refused: { 'spec.experts[2]': { name: 'two', role, engine } },
    message: `spec.experts must hold one ${role} at most; remove the others, and raise replicas for more of it`,
  })),
  ...[{ type: 'Llama' }, { type: 'Synth', llama: {} }].map((engine) =>
    change(
      fullPool,
      'spec.experts[0].engine',
      llama,
      engine,
      `spec.experts[].engine.llama must be set exactly when spec.experts[].engine.type is Llama; ${member}`,
    ),
  ),
];

const compute = 'spec.profiles[].compute';
const profileCases: readonly RuleCase[] = [
  ...(
    [
      [
        { kBase: 12, kMax: 12 },
        { kBase: 13, kMax: 12 },
      ],
      [{ kBase: 8 }, { kBase: 9 }],
      [{ kMax: 2 }, { kMax: 1 }],
    ] as const
  ).map(([passes, refused]) =>
    change(fullPool, 'spec.profiles[0].compute', passes, refused, `${compute}.kBase must not be more than ${compute}.kMax; lower it`),
  ),
  change(
    fullPool,
    'spec.policy.traceConsent',
    { default: 'Internal', most: 'Internal' },
    { default: 'Training', most: 'Internal' },
    'spec.policy.traceConsent.default must not be more than spec.policy.traceConsent.most; lower it',
  ),
  change(fullPool, 'spec.profiles[1]', { name: 'default' }, { name: 'careful' }, 'spec.profiles[1]: Duplicate value: {"name":"careful"}'),
  change(
    fullPool,
    'spec.sandbox.warm[1]',
    { namespace: 'team-b', replicas: 1 },
    { namespace: 'team-a', replicas: 1 },
    'spec.sandbox.warm[1]: Duplicate value: {"namespace":"team-a"}',
  ),
];

const poolCases: readonly RuleCase[] = [
  ...['169.254.169.254', '0.0.0.0', 'localhost'].map((host) =>
    change(
      fullPool,
      'spec.policy.allowedHosts[0].host',
      '127.0.0.1',
      host,
      'spec.policy.allowedHosts[].host must not be localhost or an address in 0.0.0.0/8 or 169.254.0.0/16, which are never opened; remove it',
    ),
  ),
  change(
    fullPool,
    'spec.storage.credential',
    'store',
    'other',
    'spec.storage.credential must be the name of an entry of spec.credentials; add the entry or correct the name',
  ),
  change(
    fullPool,
    'spec.credentials[0].hosts',
    ['a.example.com', 's3.example.com'],
    ['a.example.com'],
    'spec.credentials[].hosts must hold the host of spec.storage.endpoint, or the credential is not sent there; add the host',
  ),
  change(
    fullPool,
    'spec.storage.encryption.credential',
    'seal',
    'other',
    'spec.storage.encryption.credential must be the name of an entry of spec.credentials; add the entry or correct the name',
  ),
  change(
    fullPool,
    'spec.credentials[1].hosts',
    [],
    ['s3.example.com'],
    'spec.credentials[].hosts must be empty for the entry that spec.storage.encryption.credential names, because a key is sent nowhere; write hosts: []',
  ),
  ...['Same', 'All'].map((from) =>
    change(
      fullPool,
      'spec.allowedNamespaces',
      { from },
      { from, selector: {} },
      'spec.allowedNamespaces.selector must be set exactly when spec.allowedNamespaces.from is Selector; set or remove it',
    ),
  ),
  change(
    fullPool,
    'spec.allowedNamespaces',
    { from: 'Selector', selector: {} },
    { from: 'Selector' },
    'spec.allowedNamespaces.selector must be set exactly when spec.allowedNamespaces.from is Selector; set or remove it',
  ),
  change(
    minimalPool,
    'spec.experts[0].role',
    'Generalist',
    'Specialist',
    'spec.experts must hold a Generalist, which answers where no Specialist does; add one',
  ),
  change(fullPool, 'spec.experts[1].name', 'js', 'gen', 'spec.experts[1]: Duplicate value: {"name":"gen"}'),
  ...[{ type: 'Replay' }, { type: 'Synth', replay: { configMap: { name: 'a' } } }].map((engine) =>
    change(
      fullPool,
      'spec.experts[0].engine',
      { type: 'Synth' },
      engine,
      `spec.experts[].engine.replay must be set exactly when spec.experts[].engine.type is Replay; ${member}`,
    ),
  ),
  ...resourceCases(fullPool, 'spec.experts[0].resources', 'spec.experts[].resources'),
  ...resourceCases(fullPool, 'spec.workers.resources', 'spec.workers.resources'),
  ...resourceCases(fullPool, 'spec.gateway.resources', 'spec.gateway.resources'),
  ...['s3.example.com', 'ftp://s3.example.com', 'https://s3.example.com/path', 'https://me@s3.example.com'].map((endpoint) =>
    change(
      fullPool,
      'spec.storage.endpoint',
      'http://s3.example.com:9000',
      endpoint,
      'spec.storage.endpoint must be http or https, a host and perhaps a port; write it like https://s3.example.com',
    ),
  ),
  change(fullPool, 'spec.limits.perNamespace', 10, 11, 'spec.limits.perNamespace must not be more than spec.limits.maxRunning; lower it'),
  change(
    fullPool,
    'spec.limits.spending',
    { windowSeconds: 60, cost: '1' },
    { windowSeconds: 60 },
    'spec.limits.spending must hold tokens, cost, or one of them in perNamespace; add it, or remove spec.limits.spending',
  ),
  ...(['tokens', 'cost'] as const).map((unit) => ({
    base: withValue(fullPool, 'spec.limits.spending', { perNamespace: { [unit]: unit === 'tokens' ? 5 : '5' } }),
    passes: { 'spec.policy.maxBudget': { tokens: 1, cost: '1' } },
    refused: { 'spec.policy.maxBudget': unit === 'tokens' ? { cost: '1' } : { tokens: 1 } },
    message: `spec.policy.maxBudget.${unit} must be set beside a cap of ${unit} in spec.limits.spending: it is the budget of tasks that name none; add it`,
  })),
];

const modelCases: readonly RuleCase[] = [
  ...resourceCases(fullModel, 'spec.resources.container', 'spec.resources.container'),
  change(fullModel, 'spec.heads[1]', { name: 'Shell' }, { name: 'Code' }, 'spec.heads[1]: Duplicate value: {"name":"Code"}'),
  change(
    fullModel,
    'spec.thresholds.vetoBelowProbability',
    '0.20',
    '0.21',
    'spec.thresholds.vetoBelowProbability must not be more than spec.thresholds.warnBelowProbability; lower it',
  ),
  change(
    fullModel,
    'spec.calibration',
    {},
    undefined,
    'spec.thresholds.source: Calibration needs spec.calibration, which says what a calibration has to be; write `calibration: {}`',
  ),
];

export const poolAndOrderCases: readonly RuleCase[] = [
  ...orderCases,
  ...targetCases,
  blankCase,
  snapshotCase,
  ...poolCases,
  ...layerCases,
  ...roleCases,
  ...weightCases,
  ...profileCases,
  ...chatCases,
  ...gpuCases,
  ...rolloutCases,
  ...modelCases,
];
