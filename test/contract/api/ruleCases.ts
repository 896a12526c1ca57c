// Rules of AgentTask over one object, and of its common parts with pools.
import { fullPool, fullTask, minimalTask, workspaces } from './examples.ts';
import { withValue } from './fields.ts';
import { poolAndOrderCases } from './poolRuleCases.ts';
import { change, member, sandboxCases, templateCases, type RuleCase } from './ruleCase.ts';
import { toolCases } from './weightRuleCases.ts';

const git = fullTask(workspaces['Git']!);
const inline = fullTask(workspaces['Inline']!);
const configMap = fullTask(workspaces['ConfigMap']!);
const relative = "must be relative without empty, '.' or '..' parts; write it like src/lib";

function address(passes: string, refused: string, message: string): RuleCase {
  return change(git, 'spec.workspace.git.url', passes, refused, `spec.workspace.git.url ${message}`);
}

const scheme = 'must use https; write it like https://host/path';
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
  address('https://example.com:2222/a/b.git', 'git://example.com/a/b', scheme),
  address('https://example.com/a/b', 'ssh://git@example.com/a/b', scheme),
  address('https://example.com/a/b', 'http://example.com/a/b', scheme),
  address('https://example.com/a/b', 'file:///srv/b', scheme),
  address('https://example.com/a/b', 'git@example.com:a/b', scheme),
  address('https://example.com/a@b', 'https://token@example.com/a/b', credentials),
  address('https://example.com/a', 'https://me:secret@example.com/a', credentials),
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

const command = { name: 'a', command: ['true'] };
const artifact = { name: 'a', type: 'Artifact', path: 'out/a.json' };
const review = { name: 'a', type: 'Review' };

/** Schemas of all checks together have a bound too. */
const schemasCase: RuleCase = change(
  minimalTask,
  'spec.checks',
  ['a', 'b'].map((name) => ({ ...artifact, name, jsonSchema: `{}${' '.repeat(16_382)}` })),
  ['a', 'b', 'c'].map((name) => ({ ...artifact, name, jsonSchema: `{}${' '.repeat(11_000)}` })),
  'spec.checks[].jsonSchema may hold 32768 characters together; make the schemas shorter',
);

/** Cases on the fields that go with each type of check. */
const checkCases: readonly RuleCase[] = (
  [
    [artifact, { ...artifact, command: ['true'] }, 'command must be set exactly when spec.checks[].type is Command; set or remove it'],
    [command, { name: 'a' }, 'command must be set exactly when spec.checks[].type is Command; set or remove it'],
    [review, { ...review, path: 'x' }, 'path must be set exactly when spec.checks[].type is Artifact; set or remove it'],
    [command, { name: 'a', type: 'Artifact' }, 'path must be set exactly when spec.checks[].type is Artifact; set or remove it'],
    [artifact, { ...artifact, path: '../a' }, "path must be relative without empty, '.' or '..' parts; write it like src/lib"],
    [
      { ...command, timeoutSeconds: 9 },
      { ...review, timeoutSeconds: 9 },
      'timeoutSeconds must be set for checks of type Command only; remove it or set the type',
    ],
    ...(
      [
        ['minBytes', 1],
        ['contains', ['x']],
        ['jsonSchema', '{}'],
      ] as const
    ).map(
      ([field, value]) =>
        [
          { ...artifact, [field]: value },
          { ...command, [field]: value },
          `${field} must be set for checks of type Artifact only; remove it or set the type`,
        ] as const,
    ),
    [{ ...command, format: 'TAP' }, { ...artifact, format: 'TAP' }, 'format must be set for checks of type Command only; remove it'],
    [{ ...artifact, expect: 'Pass' }, { ...review, expect: 'Pass' }, 'expect must not be set for checks of type Review; remove it'],
  ] as const
).map(([passes, refused, message]) => change(minimalTask, 'spec.checks', [passes], [refused], `spec.checks[].${message}`));

const taskCases: readonly RuleCase[] = [
  ...checkCases,
  schemasCase,
  change(
    withValue(git, 'metadata.generateName', undefined),
    'metadata.name',
    'n'.repeat(63),
    'n'.repeat(64),
    'metadata.name may have 63 characters, because it becomes the value of labels; shorten it',
  ),
  ...(
    [
      [{ mode: 'Allowed', hosts: [{ host: 'a.example.com' }] }, { mode: 'Allowed' }],
      [{ mode: 'Loopback' }, { mode: 'Loopback', hosts: [{ host: 'a.example.com' }] }],
      [{ mode: 'None' }, { mode: 'None', hosts: [{ host: 'a.example.com' }] }],
    ] as const
  ).map(([passes, refused]) =>
    change(
      minimalTask,
      'spec.policy.network',
      passes,
      refused,
      'spec.policy.network.hosts must be set exactly when spec.policy.network.mode is Allowed; set or remove them',
    ),
  ),
  ...(['Loopback', 'None'] as const).map((mode) => ({
    base: git,
    passes: { 'spec.setup[0].network': 'Registries', 'spec.policy.network': { mode } },
    refused: { 'spec.setup[0].network': 'Allowed', 'spec.policy.network': { mode } },
    message: 'spec.setup[].network Allowed needs hosts; set spec.policy.network.mode to Allowed and list spec.policy.network.hosts',
  })),
  change(
    git,
    'spec.budget',
    { cost: '0.000001' },
    { cost: '0' },
    'spec.budget.cost must be more than 0; raise it, or leave it out for the bound of the pool',
  ),
  {
    base: inline,
    passes: {},
    refused: { 'spec.output': { git: {} } },
    message: 'spec.output.git needs a repository; set spec.workspace.type to Git, or remove spec.output',
  },
  ...['a..b', 'a//b', 'a/.b', 'a/', 'a.', 'a.lock'].map((name) =>
    change(
      git,
      'spec.output.git.branch',
      'fixes/a.b',
      name,
      "spec.output.git.branch must be the name of a branch; remove '..', '//', '/.', a final '/' or '.', or '.lock'",
    ),
  ),
  change(
    git,
    'spec.output.git.pullRequest.title',
    ' x ',
    '  ',
    'spec.output.git.pullRequest.title must not be blank; leave it out for the first line of spec.goal',
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
  ...['paths', 'except'].flatMap((list) =>
    ['/tests/**', 'a/../b'].map((path) =>
      change(
        git,
        `spec.protect.${list}`,
        ['**/*_test.go', 'a..b'],
        [path],
        `spec.protect.${list} must be relative and without '..'; write them like tests/**`,
      ),
    ),
  ),
  change(
    git,
    'spec.snapshots.policy',
    'RiskGated',
    'InitialOnly',
    'spec.rollback.whenFailed RestoreLastGreen needs later snapshots; set spec.snapshots.policy to RiskGated or EveryStep',
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

const stored = withValue(git, 'spec.sandbox', { storage: { storageClassName: 'fast', size: '10Gi' } });

/** Rules of the volume of a sandbox. */
const storageCases: readonly RuleCase[] = [
  change(
    stored,
    'spec.sandbox.storage.size',
    '1Mi',
    '1000k',
    'spec.sandbox.storage.size must be between 1Mi and 1Pi; write an amount of bytes such as 2Gi',
  ),
  change(
    stored,
    'spec.sandbox.workspaceSizeLimit',
    '9.5Gi',
    '10Gi',
    'spec.sandbox.storage.size must be more than spec.sandbox.workspaceSizeLimit, because the keeper stores its snapshots there too; raise the size',
  ),
];

export const ruleCases: readonly RuleCase[] = [
  ...storageCases,
  ...workspaceCases,
  ...duplicateCases,
  ...taskCases,
  ...sandboxCases(git, 'spec.sandbox'),
  ...poolAndOrderCases,
  ...toolCases,
  ...templateCases(fullPool, 'spec.sandbox.template'),
];
