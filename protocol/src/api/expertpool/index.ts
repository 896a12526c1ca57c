/** ExpertPool: who does the work, where it may come from and what it may use. May import the rest of `api` and the layers below it. */
import type { Static } from 'typebox';
import { containerResources, sandboxTemplate } from '../agenttask/sandbox.ts';
import { ageColumn, conditionColumn, nameFitsLabel, type Kind } from '../crd/definition.ts';
import type { Resource } from '../base/meta.ts';
import {
  choice,
  flag,
  integer,
  labelName,
  listByKey,
  optional,
  reference,
  rule,
  struct,
  setOf,
  text,
  decimal,
  hostName,
  objectName,
  withRules,
} from '../schema/index.ts';
import { PoolTools, toolsRules } from '../base/tools.ts';
import { AllowedNamespaces, PoolLimits, PoolPolicy, spendingRules } from './access.ts';
import { chatRules, Gateway } from './chat.ts';
import { experts } from './experts.ts';
import { ExpertPoolStatus } from './status.ts';
import { ModelCache, weightsRules } from './weights.ts';
import { placementModes } from '../base/placement.ts';

export * from './access.ts';
export type { ChatEndpoint, Gateway } from './chat.ts';
export type { Harness, HarnessApi } from './harness.ts';
export * from './engines.ts';
export * from './experts.ts';
export * from './status.ts';
export * from './weights.ts';

/** `spec.workers`. */
export const Workers = struct(
  'The pods that run the loop of the agents.',
  {
    replicas: integer('Number of pods.', 0, 1000, 1),
    concurrency: integer('Tasks that one pod runs at once.', 1, 64, 8),
    resources: optional(containerResources('spec.workers.resources')),
  },
  { filled: true },
);
export type Workers = Static<typeof Workers>;

/** Sandboxes that wait in one namespace. */
export const WarmSandboxes = struct('Sandboxes of the template that wait ready; a task without a spec.sandbox of its own takes one.', {
  namespace: labelName('Namespace of the tasks, which the pool must allow.'),
  replicas: integer('Number of sandboxes that wait.', 0, 100),
  maxAgeSeconds: integer('Age at which one that nobody took is replaced.', 60, 604_800, 3600),
});
export type WarmSandboxes = Static<typeof WarmSandboxes>;

/** `spec.sandbox`. */
export const PoolSandbox = struct(
  'Shape and number of sandboxes.',
  {
    template: optional(sandboxTemplate('spec.sandbox.template')),
    snapshotEngine: choice(
      'Method that captures the tree. CAS: contents by hash, in every sandbox. Overlay: layers are switched, in namespaces that let a pod have SYS_ADMIN in a user namespace of its own. Auto: the fastest that needs no right.',
      ['Auto', 'CAS', 'Overlay'],
      'Auto',
    ),
    userNamespace: choice(
      'Whether sandboxes have users of their own (hostUsers: false). Auto: where every node that they may run on can, and where minIsolation UserNamespace demands it.',
      ['Auto', 'Always', 'Never'],
      'Auto',
    ),
    startTimeoutSeconds: integer(
      'Seconds in which the sandbox of a task has to answer. Then it is deleted, the slot is free, and the task is tried again after a pause.',
      10,
      3600,
      120,
    ),
    warm: optional(listByKey('Sandboxes that wait ready for tasks.', 'namespace', WarmSandboxes, { max: 64 })),
  },
  {
    filled: true,
    rules: [
      rule(
        "self.snapshotEngine != 'Overlay' || self.userNamespace != 'Never'",
        'spec.sandbox.userNamespace must not be Never beside spec.sandbox.snapshotEngine Overlay; set one of the two to Auto',
      ),
      rule(
        "self.snapshotEngine != 'Overlay' || !has(self.template) || !has(self.template.runtimeClassName)",
        'spec.sandbox.template.runtimeClassName must not be set beside spec.sandbox.snapshotEngine Overlay; remove it, or set the engine to Auto',
      ),
    ],
  },
);
export type PoolSandbox = Static<typeof PoolSandbox>;

const Apart = struct('Who shares no GPU with an expert.', {
  expert: labelName('The expert.'),
  from: setOf(
    'Names of experts; EnergyModel: the verifier of the pool; *: everybody, other pools too.',
    text('A name.', { max: 63, min: 1, pattern: '^([*]|EnergyModel|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)$' }),
    { max: 16, min: 1 },
  ),
});

/** `spec.placement`. It concerns experts whose resources have a slot or memory of a GPU. */
export const PoolPlacement = struct('Way by which experts get their GPUs.', {
  mode: choice('Auto: the first of DRA, Reservation and WholeGPU that can be used.', ['Auto', ...placementModes], 'Auto'),
  nvlink: choice(
    'Whether a draft and its target have to be joined by NVLink; Ignore: how GPUs are joined counts nothing.',
    ['Preferred', 'Required', 'Ignore'],
    'Preferred',
  ),
  antiAffinity: optional(listByKey('Pairs of experts that share no GPU.', 'expert', Apart, { max: 16 })),
});
export type PoolPlacement = Static<typeof PoolPlacement>;

/** Rules of the spec about its placement. */
export const placementRules = [
  rule(
    '!has(self.placement) || !has(self.placement.antiAffinity) || self.placement.antiAffinity.all(apart, self.experts.exists(expert, expert.name == apart.expert))',
    'spec.placement.antiAffinity[].expert must be the name of an entry of spec.experts; correct the name',
  ),
];

/** `spec.profiles[].compute`: when more is computed. */
export const Compute = struct(
  'Number of candidates that are compared, and the measures at which more computation is worth its price.',
  {
    entropyFastNats: decimal('Entropy of the proposals below which the fast path is taken, nats.', '2.5'),
    margin: decimal('Energy gap of the two best proposals above which the fast path is taken, nats.', '1.5'),
    kBase: integer('Candidates that are compared otherwise.', 1, 64, 2),
    kMax: integer('Most candidates that are ever compared.', 1, 64, 8),
  },
  {
    filled: true,
    rules: [rule('self.kBase <= self.kMax', 'spec.profiles[].compute.kBase must not be more than spec.profiles[].compute.kMax; lower it')],
  },
);
export type Compute = Static<typeof Compute>;

/** One profile of a pool. */
export const Profile = struct('A named way to compute; tasks name it in spec.profile.', {
  name: labelName('Name; the one called default serves tasks that name none.'),
  compute: Compute,
});
export type Profile = Static<typeof Profile>;

/** `spec.profiles`. */
export const profiles = listByKey('Ways to compute; default: one called default.', 'name', Profile, { max: 16 });

/** Parameters with which a pool without a profile of that name computes. */
export const defaultCompute: Compute = {
  entropyFastNats: '2.5',
  margin: '1.5',
  kBase: 2,
  kMax: 8,
};

const SecretKeyRef = struct('A key of a Secret in the namespace of the pool.', {
  name: objectName('Name of the Secret.'),
  key: text('Key inside the Secret.', { max: 253, min: 1, pattern: '^[-._a-zA-Z0-9]+$' }),
});

const repositories = setOf(
  'The only repositories that tasks may use it for, also to push and to open pull requests; default: all that it opens on its hosts.',
  text('Host and path. With a final slash all below it, else this repository alone.', {
    max: 512,
    min: 3,
    pattern: '^[a-z0-9][-.a-z0-9]*(/[-_.~+A-Za-z0-9]+)+/?$',
  }),
  { max: 64, min: 1 },
);

/** A credential of the pool; it is only ever sent to its hosts. */
export const Credential = struct('A credential and where it may be sent.', {
  name: labelName('Name that storage and tasks refer to.'),
  secretRef: SecretKeyRef,
  hosts: setOf('The only hosts that it is sent to; none for a key that is only used here.', hostName('Host name.'), { max: 32 }),
  repositories: optional(repositories),
});
export type Credential = Static<typeof Credential>;

/**
 * Reports whether a credential is for the repository at an address. Addresses that a server may read otherwise than they are written, such as
 * `team/..%2fother` or `team/..;/other`, are in no list. Pure.
 *
 * @example
 * isForRepository({ repositories: ['git.example.com/team/'] }, 'https://git.example.com/team/app.git'); // true
 */
export function isForRepository({ repositories: listed }: Pick<Credential, 'repositories'>, url: string): boolean {
  if (listed === undefined) return true;
  const { hostname, pathname } = new URL(url);
  const parts = pathname.replace(/\/$/, '').slice(1).split('/');
  const isAsWritten = url.replace(/^[a-z]+:\/\/[^/]*/i, '') === pathname;
  if (!isAsWritten || !parts.every((part) => /^[-_.~+A-Za-z0-9]+$/.test(part) && !/^\.+$/.test(part))) return false;
  const path = `${hostname}/${parts.join('/')}`;
  return listed.some((one) => (one.endsWith('/') ? path.startsWith(one) : bare(one) === bare(path)));
}

const bare = (path: string): string => path.replace(/\.git$/, '');

/** `spec.credentials`. */
export const credentials = listByKey('Credentials of the pool.', 'name', Credential, { max: 32 });

/** `spec.storage`. */
export const Storage = struct('Object storage for event logs, checkpoints and artifacts; default: a volume of the pool.', {
  uri: text('Bucket and prefix: s3://bucket/prefix.', {
    max: 1024,
    min: 8,
    pattern: '^s3://[a-z0-9][-.a-z0-9]{1,61}[a-z0-9](/[-_.A-Za-z0-9]+)*/?$',
  }),
  endpoint: withRules(
    text('Address of the S3 API: https://host or https://host:port.', { max: 512, min: 1 }),
    rule(
      "self.matches('^https?://[-.a-z0-9]+(:[0-9]+)?/?$') && isURL(self) && url(self).getHostname() != ''",
      'spec.storage.endpoint must be http or https, a host and perhaps a port; write it like https://s3.example.com',
    ),
  ),
  region: text('Region that requests are signed for.', { max: 63, min: 1, default: 'us-east-1', pattern: '^[a-z0-9-]+$' }),
  forcePathStyle: flag('Whether the bucket is in the path and not in the host name.', false),
  encryption: optional(
    struct('Encryption of checkpoints and event logs, before they leave the worker.', {
      credential: labelName(
        'Entry of spec.credentials, without hosts, whose value is the base64 of 32 random bytes, one a line: the first encrypts, the others read what they have encrypted.',
      ),
    }),
  ),
  credential: optional(labelName('Entry of spec.credentials whose value is the access key id, a colon and the secret key; default: none.')),
});
export type Storage = Static<typeof Storage>;

const encrypted = 'has(self.storage) && has(self.storage.encryption)';

/** Rules over `spec` that tie storage to credentials. */
export const storageRules = [
  rule(
    `!(${encrypted}) || (has(self.credentials) && self.credentials.exists(c, c.name == self.storage.encryption.credential))`,
    'spec.storage.encryption.credential must be the name of an entry of spec.credentials; add the entry or correct the name',
  ),
  rule(
    `!(${encrypted}) || !has(self.credentials) || self.credentials.all(c, c.name != self.storage.encryption.credential || size(c.hosts) == 0)`,
    'spec.credentials[].hosts must be empty for the entry that spec.storage.encryption.credential names, because a key is sent nowhere; write hosts: []',
  ),
  rule(
    '!has(self.storage) || !has(self.storage.credential) || (has(self.credentials) && self.credentials.exists(c, c.name == self.storage.credential))',
    'spec.storage.credential must be the name of an entry of spec.credentials; add the entry or correct the name',
  ),
  rule(
    `!has(self.storage) || !has(self.storage.credential) || !has(self.credentials) || !isURL(self.storage.endpoint)
|| self.credentials.all(c, c.name != self.storage.credential || url(self.storage.endpoint).getHostname() in c.hosts)`.replaceAll('\n', ' '),
    'spec.credentials[].hosts must hold the host of spec.storage.endpoint, or the credential is not sent there; add the host',
  ),
];

/** `ExpertPool.spec`. Everything may change at any time; running tasks keep what they started with. */
export const ExpertPoolSpec = struct(
  'Experts, workers, sandboxes and their bounds.',
  {
    default: flag('Whether tasks that name no pool come here, in the namespaces that are allowed.', false),
    allowedNamespaces: AllowedNamespaces,
    experts,
    workers: Workers,
    gateway: optional(Gateway),
    sandbox: PoolSandbox,
    policy: PoolPolicy,
    tools: optional(PoolTools),
    storage: optional(Storage),
    modelCache: optional(ModelCache),
    credentials: optional(credentials),
    limits: optional(PoolLimits),
    energyModelRef: optional(reference('The EnergyModel of the namespace that ranks proposals and judges acts; default: none.')),
    profiles: optional(profiles),
    rolloutPolicyRef: optional(
      reference('The RolloutPolicy of the namespace by which another revision comes into use; default: pods are replaced at once.'),
    ),
    placement: optional(PoolPlacement),
  },
  { rules: [...storageRules, ...weightsRules, ...placementRules, ...chatRules, ...toolsRules, ...spendingRules] },
);
export type ExpertPoolSpec = Static<typeof ExpertPoolSpec>;

/** An ExpertPool as the API server returns it: defaults are filled in. */
export type ExpertPool = Resource<'ExpertPool', ExpertPoolSpec, ExpertPoolStatus>;

export const expertPool: Kind = {
  kind: 'ExpertPool',
  plural: 'expertpools',
  shortName: 'afp',
  description: 'The experts, workers and sandboxes that do the work of tasks.',
  spec: ExpertPoolSpec,
  status: ExpertPoolStatus,
  rules: [nameFitsLabel],
  columns: [
    conditionColumn('Ready', 'Ready', 'status'),
    { name: 'Workers', type: 'integer', jsonPath: '.status.workers.ready', description: 'Workers that are ready.' },
    { name: 'Running', type: 'integer', jsonPath: '.status.running', description: 'Tasks that run.' },
    { name: 'Queued', type: 'integer', jsonPath: '.status.queued', description: 'Tasks that wait.' },
    ageColumn,
    { name: 'Default', type: 'boolean', jsonPath: '.spec.default', description: 'Default pool of its namespaces.', priority: 1 },
    conditionColumn('Reason', 'Ready', 'reason', 1),
    conditionColumn('Message', 'Ready', 'message', 1),
  ],
  selectable: [],
  scale: {
    specReplicasPath: '.spec.workers.replicas',
    statusReplicasPath: '.status.workers.replicas',
    labelSelectorPath: '.status.workers.selector',
  },
};
