// For each rule over one object: a change that passes, a change that is refused, and the whole message.
import { fullModel, fullPool, fullSandbox, fullTask, minimalTask, orders, workspaces } from './examples.ts';
import { withValue, type Node } from './fields.ts';

export interface RuleCase {
  readonly message: string;
  readonly base: Node;
  readonly passes: Readonly<Record<string, unknown>>;
  readonly refused: Readonly<Record<string, unknown>>;
}

const git = fullTask(workspaces['Git']!);
const inline = fullTask(workspaces['Inline']!);
const configMap = fullTask(workspaces['ConfigMap']!);
const relative = "must be relative without empty, '.' or '..' parts; write it like src/lib";
const member = 'set the member that the type names and no other';

function change(base: Node, field: string, passes: unknown, refused: unknown, message: string): RuleCase {
  return { base, passes: { [field]: passes }, refused: { [field]: refused }, message };
}

function address(passes: string, refused: string, message: string): RuleCase {
  return change(git, 'spec.workspace.git.url', passes, refused, `spec.workspace.git.url ${message}`);
}

const scheme = 'must use https or ssh; write it like https://host/path or ssh://git@host/path';
const credentials = 'must not hold credentials; name credentials in the pool and remove them from the address';
const hostAndPath = 'must be a host and a path, without query, fragment or blanks; write it like https://host/path';

const workspaceCases: readonly RuleCase[] = [
  ...['git', 'inline', 'configMap'].map((name) => {
    const type = name.charAt(0).toUpperCase() + name.slice(1);
    const other = name === 'git' ? configMap : git;
    const value = (workspaces[type] as Record<string, unknown>)[name];
    const message = `spec.workspace.${name} must be set exactly when spec.workspace.type is ${type}; ${member}`;
    return { base: other, passes: {}, refused: { [`spec.workspace.${name}`]: value }, message };
  }),
  ...['Git', 'Inline', 'ConfigMap'].map((type) => {
    const name = type.charAt(0).toLowerCase() + type.slice(1);
    const message = `spec.workspace.${name} must be set exactly when spec.workspace.type is ${type}; ${member}`;
    return { base: fullTask(workspaces[type]!), passes: {}, refused: { [`spec.workspace.${name}`]: undefined }, message };
  }),
  address('ssh://git@example.com:2222/a/b.git', 'git://example.com/a/b', scheme),
  address('https://example.com/a/b', 'http://example.com/a/b', scheme),
  address('https://example.com/a/b', 'file:///srv/b', scheme),
  address('https://example.com/a/b', 'git@example.com:a/b', scheme),
  address('https://example.com/a@b', 'https://token@example.com/a/b', credentials),
  address('https://example.com/a', 'https://me:secret@example.com/a', credentials),
  address('ssh://git@example.com/a', 'ssh://git:secret@example.com/a', credentials),
  address('https://example.com:8443/a', 'https://example.com/a?access_token=x', hostAndPath),
  address('https://example.com/a', 'https://example.com/a#main', hostAndPath),
  address('https://example.com/a', 'https://example.com', hostAndPath),
  address('https://example.com/a', 'https:///a', hostAndPath),
  address('https://example.com/a', 'https://example.com/a b', hostAndPath),
  ...['a..b', 'a//b', 'heads/', 'main.lock'].map((ref) =>
    change(
      git,
      'spec.workspace.git.ref',
      'release/1.0',
      ref,
      "spec.workspace.git.ref must be the name of a branch, tag or commit; remove '..', '//', a final '/' or '.lock'",
    ),
  ),
  ...['/srv', 'a/../b', './a', 'a//b', '..'].map((path) =>
    change(git, 'spec.workspace.git.subPath', 'a/..b', path, `spec.workspace.git.subPath ${relative}`),
  ),
  ...['/etc/passwd', '../a', 'a/../../b', 'a/'].map((path) =>
    change(inline, 'spec.workspace.inline.files[0].path', '.github/a b.yml', path, `spec.workspace.inline.files[].path ${relative}`),
  ),
  change(
    inline,
    'spec.workspace.inline.files',
    [1, 2].map((n) => ({ path: `f${n}`, content: 'x'.repeat(262_144) })),
    [1, 2, 3].map((n) => ({ path: `f${n}`, content: 'x'.repeat(180_000) })),
    'spec.workspace.inline.files may hold 524288 characters together; use a Git workspace for more',
  ),
];

const duplicateCases: readonly RuleCase[] = [
  change(
    inline,
    'spec.workspace.inline.files',
    [
      { path: 'a', content: '' },
      { path: 'b', content: '' },
    ],
    [
      { path: 'a', content: '' },
      { path: 'a', content: 'x' },
    ],
    'spec.workspace.inline.files[1]: Duplicate value: {"path":"a"}',
  ),
  ...['checks', 'setup'].map((list) => {
    const named = (...names: string[]): unknown => names.map((name) => ({ name, command: ['true'] }));
    return change(minimalTask, `spec.${list}`, named('a', 'b'), named('a', 'a'), `spec.${list}[1]: Duplicate value: {"name":"a"}`);
  }),
];

const taskCases: readonly RuleCase[] = [
  change(
    withValue(git, 'metadata.generateName', undefined),
    'metadata.name',
    'n'.repeat(63),
    'n'.repeat(64),
    'metadata.name may have 63 characters, because it becomes the value of labels; shorten it',
  ),
  change(git, 'spec.goal', ' x ', ' \n\t ', 'spec.goal must not be blank; say what must become true'),
  ...['setup', 'checks'].map((list) => ({
    base: git,
    passes: { 'spec.deadlineSeconds': 600, [`spec.${list}[0].timeoutSeconds`]: 600 },
    refused: { 'spec.deadlineSeconds': 600, [`spec.${list}[0].timeoutSeconds`]: 601 },
    message: `spec.${list}[].timeoutSeconds must not be more than spec.deadlineSeconds; lower it or raise the deadline`,
  })),
  ...['setup', 'checks'].map((list) =>
    change(
      git,
      `spec.${list}[0].command`,
      ['a', ''],
      ['', 'a'],
      `spec.${list}[].command[0] must name a program; write it like [npm, test]`,
    ),
  ),
  ...['/tests/**', 'a/../b'].map((path) =>
    change(
      git,
      'spec.protect.paths',
      ['**/*_test.go', 'a..b'],
      [path],
      "spec.protect.paths must be relative and without '..'; write them like tests/**",
    ),
  ),
  change(
    git,
    'spec.snapshots.policy',
    'RiskGated',
    'InitialOnly',
    'spec.rollback.whenFailed RestoreLastGreen needs later snapshots; set spec.snapshots.policy to RiskGated or EveryStep',
  ),
  change(
    git,
    'spec.attempts.backoff.capSeconds',
    5,
    4,
    'spec.attempts.backoff.capSeconds must not be less than spec.attempts.backoff.seconds; raise capSeconds',
  ),
  ...['InvalidInput', 'DeadlineExceeded'].map((name) =>
    change(
      git,
      'spec.attempts.rules',
      [
        { class: name, action: 'Fail' },
        { class: 'Stuck', action: 'Retry' },
      ],
      [{ class: name, action: 'Retry' }],
      'spec.attempts.rules[].action must be Fail for the classes InvalidInput and DeadlineExceeded, which a further attempt cannot mend',
    ),
  ),
];

function resourceCases(base: Node, path: string, label: string): readonly RuleCase[] {
  const amounts = { cpu: ['1500m', 2, '2001m'], memory: ['1Gi', '1024Mi', '1025Mi'], 'ephemeral-storage': ['1Gi', '1Gi', '1.5Gi'] };
  return Object.entries(amounts).map(([name, [low, limit, high]]) => ({
    base,
    passes: { [path]: { requests: { [name]: low }, limits: { [name]: limit } } },
    refused: { [path]: { requests: { [name]: high }, limits: { [name]: limit } } },
    message: `${label}.requests.${name} must not be more than ${label}.limits.${name}; raise the limit`,
  }));
}

function sandboxCases(base: Node, path: string): readonly RuleCase[] {
  const keys = 'must have keys like name or example.com/name';
  const own = 'must not have keys of agentfleet.dev, which the operator sets; choose another prefix';
  const at = (field: string, passes: unknown, refused: unknown, message: string): RuleCase =>
    change(withValue(base, path, fullSandbox), `${path}.${field}`, passes, refused, `${path}.${message}`);
  const shape = 'tolerations needs a key with Equal and no value with Exists';
  return [
    ...resourceCases(base, `${path}.resources`, `${path}.resources`),
    at('workspaceSizeLimit', '1048576', '1000k', 'workspaceSizeLimit must be between 1Mi and 1Pi; write an amount of bytes such as 2Gi'),
    at('workspaceSizeLimit', '1Pi', '1.1Pi', 'workspaceSizeLimit must be between 1Mi and 1Pi; write an amount of bytes such as 2Gi'),
    at('nodeSelector', { 'kubernetes.io/arch': 'amd64' }, { 'a/b/c': 'x' }, `nodeSelector ${keys}`),
    at('tolerations', [{ operator: 'Exists' }], [{ operator: 'Exists', key: 'a', value: 'b' }], shape),
    at('tolerations', [{ key: 'a' }], [{ value: 'b' }], shape),
    at(
      'tolerations',
      [{ key: 'a', effect: 'NoExecute', tolerationSeconds: 1 }],
      [{ key: 'a', effect: 'NoSchedule', tolerationSeconds: 1 }],
      'tolerations[].tolerationSeconds needs effect NoExecute; set the effect or remove the seconds',
    ),
    ...['labels', 'annotations'].flatMap((map) => [
      at(`podMetadata.${map}`, { 'a.example/b': 'x' }, { '-a': 'x' }, `podMetadata.${map} ${keys}`),
      at(`podMetadata.${map}`, { 'notagentfleet.dev/task': 'x' }, { 'agentfleet.dev/task': 'x' }, `podMetadata.${map} ${own}`),
      at(`podMetadata.${map}`, { 'agentfleet.device/task': 'x' }, { 'x.agentfleet.dev/task': 'x' }, `podMetadata.${map} ${own}`),
    ]),
  ];
}

const orderCases: readonly RuleCase[] = [
  ...(
    [
      ['action', 'Approve or Reject', 'Cancel', ['Approve', 'Reject']],
      ['snapshot', 'Restore', 'Approve', ['Restore']],
      ['message', 'Message', 'Restore', ['Message']],
    ] as const
  ).flatMap(([field, types, other, owners]) => {
    const message = `spec.${field} must be set exactly when spec.type is ${types}; set or remove it`;
    const value = (orders[owners[0]] as { spec: Record<string, unknown> }).spec[field];
    return [
      { base: orders[other]!, passes: {}, refused: { [`spec.${field}`]: value }, message },
      ...owners.map((owner) => ({ base: orders[owner]!, passes: {}, refused: { [`spec.${field}`]: undefined }, message })),
    ];
  }),
];

const poolCases: readonly RuleCase[] = [
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
  ...(
    [
      [
        { key: 'a', operator: 'NotIn', values: ['b'] },
        { key: 'a', operator: 'In' },
      ],
      [
        { key: 'a', operator: 'Exists' },
        { key: 'a', operator: 'DoesNotExist', values: ['b'] },
      ],
    ] as const
  ).map(([passes, refused]) =>
    change(
      fullPool,
      'spec.allowedNamespaces.selector.matchExpressions[0]',
      passes,
      refused,
      'spec.allowedNamespaces.selector.matchExpressions[].values must be set exactly for the operators In and NotIn; set or remove them',
    ),
  ),
  change(
    fullPool,
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
];

const modelCases: readonly RuleCase[] = [
  change(
    fullModel,
    'spec.thresholds.vetoBelowProbability',
    '0.20',
    '0.21',
    'spec.thresholds.vetoBelowProbability must not be more than spec.thresholds.warnBelowProbability; lower it',
  ),
];

export const ruleCases: readonly RuleCase[] = [
  ...workspaceCases,
  ...duplicateCases,
  ...taskCases,
  ...sandboxCases(git, 'spec.sandbox'),
  ...orderCases,
  ...poolCases,
  ...sandboxCases(fullPool, 'spec.sandbox.template'),
  ...modelCases,
];
