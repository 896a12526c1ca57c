/** ExpertPool: who does the work, where it may come from and what it may use. May import the rest of `api` and the layers below it. */
import type { Static } from 'typebox';
import { containerResources, sandboxTemplate } from '../agenttask/sandbox.ts';
import { ageColumn, conditionColumn, nameFitsLabel, type Kind } from '../crd/definition.ts';
import type { Resource } from '../base/meta.ts';
import { choice, flag, integer, labelName, listByKey, optional, reference, rule, struct } from '../schema/index.ts';
import { PoolTools, toolsRules } from '../base/tools.ts';
import { AllowedNamespaces, PoolLimits, PoolPolicy, spendingRules } from './access.ts';
import { chatRules, Gateway } from './chat.ts';
import { experts } from './experts.ts';
import { PoolPlacement, placementRules } from './placement.ts';
import { profiles } from './profiles.ts';
import { ExpertPoolStatus } from './status.ts';
import { credentials, Storage, storageRules } from './storage.ts';
import { ModelCache, weightsRules } from './weights.ts';

export * from './access.ts';
export type { ChatEndpoint, Gateway } from './chat.ts';
export type { Harness, HarnessApi } from './harness.ts';
export * from './engines.ts';
export * from './experts.ts';
export * from './placement.ts';
export * from './profiles.ts';
export * from './status.ts';
export * from './storage.ts';
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
