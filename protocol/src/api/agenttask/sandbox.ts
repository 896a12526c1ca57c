import { Type, type Static } from 'typebox';
import {
  atomicList,
  byteQuantity,
  choice,
  mapOf,
  objectName,
  optional,
  resourceQuantity,
  rule,
  struct,
  text,
  type Rule,
} from '../schema/index.ts';
import { gpuMemory, slotName } from '../base/placement.ts';

const names = ['cpu', 'memory', 'ephemeral-storage'] as const;

type Amounts = Partial<Record<(typeof names)[number], string | number>>;

/** A ResourceList of Kubernetes, of what a container of ours can have. */
function amounts(path: string, description: string) {
  const known = rule(
    `self.all(name, name in [${names.map((name) => `'${name}'`).join(', ')}])`,
    `${path} must have no other names than ${names.join(', ')}; remove them`,
  );
  const amount = resourceQuantity('Cores such as 500m, or bytes such as 512Mi.');
  return Type.Unsafe<Amounts>(mapOf(`${description} Names: ${names.join(', ')}.`, amount, { max: names.length, rules: [known] }));
}

const amountsOf = (path: string) => ({
  requests: optional(amounts(`${path}.requests`, 'Amounts that are set aside for it.')),
  limits: optional(amounts(`${path}.limits`, 'Amounts that it may use at most.')),
});

function withinLimits(path: string): readonly Rule[] {
  const compare = 'quantity(string(self.requests[name])).compareTo(quantity(string(self.limits[name]))) <= 0';
  return [
    rule(
      `!has(self.requests) || !has(self.limits) || self.requests.all(name, !(name in self.limits) || ${compare})`,
      `${path}.requests must not be more than ${path}.limits of the same name; raise the limit`,
    ),
  ];
}

/** Requests and limits of a container. `path` is the field's name in messages. */
export function containerResources(path: string) {
  return struct('Requests and limits of the container.', amountsOf(path), { rules: withinLimits(path) });
}

/** The same for a container whose engine may sit on a GPU. */
export function engineResources(path: string) {
  const own = {
    ...amountsOf(path),
    slot: optional(slotName('The GPU that it is on; default: wherever it fits.')),
    memory: optional(gpuMemory(`${path}.memory`)),
  };
  return struct('Requests and limits of the container, and the GPU of its engine.', own, { rules: withinLimits(path) });
}

const keyRule = (path: string): Rule =>
  rule(
    "self.all(key, key.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",
    `${path} must have keys like name or example.com/name`,
  );

const ownKeysRule = (path: string): Rule =>
  rule(
    "self.all(key, !key.matches('^([^/]*[.])?agentfleet[.]dev/'))",
    `${path} must not have keys of agentfleet.dev, which the operator sets; choose another prefix`,
  );

const labelValue = text('Value.', { max: 63, pattern: '^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$' });

function podMetadata(path: string) {
  const labels = `${path}.labels`;
  const annotations = `${path}.annotations`;
  return struct('Labels and annotations of the pod besides our own.', {
    labels: optional(mapOf('Labels.', labelValue, { max: 32, rules: [keyRule(labels), ownKeysRule(labels)] })),
    annotations: optional(
      mapOf('Annotations.', text('Value.', { max: 4096 }), { max: 32, rules: [keyRule(annotations), ownKeysRule(annotations)] }),
    ),
  });
}

function toleration(path: string) {
  return struct(
    'A taint that the pod may live with.',
    {
      key: optional(text('Key of the taint; absent with operator Exists: every taint.', { max: 317, min: 1 })),
      operator: choice('Operator that compares the value.', ['Equal', 'Exists'], 'Equal'),
      value: optional(text('Value of the taint.', { max: 63 })),
      effect: optional(choice('Effect of the taint; absent: every effect.', ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])),
    },
    {
      rules: [
        rule("self.operator == 'Exists' ? !has(self.value) : has(self.key)", `${path} needs a key with Equal and no value with Exists`),
      ],
    },
  );
}

/** Returns the fields of a sandbox that pools and tasks have in common. */
function commonFields(path: string) {
  return {
    image: optional(
      text('Image with the tools; nothing of ours needs to be in it.', { max: 512, min: 1, pattern: '^[A-Za-z0-9][-_.:/@A-Za-z0-9]*$' }),
    ),
    resources: optional(containerResources(`${path}.resources`)),
    workspaceSizeLimit: optional(byteQuantity('Bytes that workspace and home may hold together.', `${path}.workspaceSizeLimit`)),
    runtimeClassName: optional(objectName('RuntimeClass of the pod.')),
  };
}

/** Returns the schema of a pool's sandbox. `path` names the field in messages. The pool alone sets where pods run and what they carry. */
export function sandboxTemplate(path: string) {
  return struct('The sandbox pod.', {
    ...commonFields(path),
    nodeSelector: optional(mapOf('Labels that the node must have.', labelValue, { max: 16, rules: [keyRule(`${path}.nodeSelector`)] })),
    tolerations: optional(atomicList('Taints that the pod may live with.', toleration(`${path}.tolerations`), { max: 16 })),
    priorityClassName: optional(objectName('PriorityClass of the pod.')),
    podMetadata: optional(podMetadata(`${path}.podMetadata`)),
  });
}
export type SandboxTemplate = Static<ReturnType<typeof sandboxTemplate>>;

/** `spec.sandbox.storage`: the tree and what the keeper stores outlive the pod, and are not on the node. */
export const SandboxStorage = struct('A volume of the sandbox, instead of the disk of its node. It is deleted with the task.', {
  storageClassName: objectName('StorageClass of the volume.'),
  size: byteQuantity('Bytes of the volume: workspace, home and what the keeper stores.', 'spec.sandbox.storage.size'),
  volumeSnapshotClassName: optional(
    objectName(
      'VolumeSnapshotClass. When it is set, the volume of a suspended or ended task becomes a VolumeSnapshot, from which the task goes on.',
    ),
  ),
});
export type SandboxStorage = Static<typeof SandboxStorage>;

const withStorage = { ...commonFields('spec.sandbox'), storage: optional(SandboxStorage) };

/** `spec.sandbox`. */
export const Sandbox = struct(
  'The sandbox pod. Fields that are left out are as in the pool; labels, annotations, nodes, tolerations and priority always are.',
  withStorage,
  {
    rules: [
      rule(
        '!has(self.storage) || !has(self.workspaceSizeLimit) || quantity(self.storage.size).compareTo(quantity(self.workspaceSizeLimit)) > 0',
        'spec.sandbox.storage.size must be more than spec.sandbox.workspaceSizeLimit, because the keeper stores its snapshots there too; raise the size',
      ),
    ],
  },
);
export type Sandbox = Static<typeof Sandbox>;
