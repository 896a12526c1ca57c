import type { AgentTask, ExpertPool, PoolPolicy, Sandbox } from '@agentfleet/protocol/api';
import type { ClusterCapabilities } from './nodeAbility.ts';

type PodFields = Pick<Sandbox, 'nodeSelector' | 'tolerations' | 'podMetadata'>;

/**
 * The template of the pool with what the task says of its own: a field of the task replaces that of the pool as a whole, but
 * node labels, tolerations, labels and annotations of the pool stay beside those of the task. Pure.
 */
export function mergedTemplate({ spec }: AgentTask, pool: ExpertPool): Sandbox {
  const { template = {} } = pool.spec.sandbox;
  const { sandbox = {} } = spec;
  return { ...template, ...sandbox, ...merged(template, sandbox) };
}

function merged(template: PodFields, sandbox: PodFields): PodFields {
  const [a, b] = [template.podMetadata, sandbox.podMetadata];
  const podMetadata = { ...members('labels', a?.labels, b?.labels), ...members('annotations', a?.annotations, b?.annotations) };
  const tolerations = [...(template.tolerations ?? []), ...(sandbox.tolerations ?? [])];
  return {
    ...members('nodeSelector', template.nodeSelector, sandbox.nodeSelector),
    ...(tolerations.length === 0 ? {} : { tolerations }),
    ...(a === undefined && b === undefined ? {} : { podMetadata }),
  };
}

type Words = Readonly<Record<string, string>>;

function members<K extends string>(
  name: K,
  ours: Words | undefined,
  theirs: Words | undefined,
): Partial<Record<K, Record<string, string>>> {
  if (ours === undefined && theirs === undefined) return {};
  return { [name]: { ...ours, ...theirs } } as Record<K, Record<string, string>>;
}

type Allowance = {
  readonly [K in keyof PoolPolicy]-?: K extends `allowed${string}`
    ? NonNullable<PoolPolicy[K]> extends readonly string[]
      ? K
      : never
    : never;
}[keyof PoolPolicy];

/** What a task asks for in one field, and the list of its pool that must name it. */
interface Asked {
  readonly field: string;
  readonly values: readonly string[];
  readonly list: Allowance;
}

/** A toleration without a key is for every taint; no list can name it. */
const everyTaint = 'every taint (a toleration without a key)';

function askedFor({ nodeSelector, tolerations, priorityClassName, podMetadata }: Sandbox): readonly Asked[] {
  const { labels, annotations } = podMetadata ?? {};
  return [
    { field: 'podMetadata.labels', values: Object.keys(labels ?? {}), list: 'allowedPodLabels' },
    { field: 'podMetadata.annotations', values: Object.keys(annotations ?? {}), list: 'allowedPodAnnotations' },
    { field: 'nodeSelector', values: Object.keys(nodeSelector ?? {}), list: 'allowedNodeLabels' },
    { field: 'tolerations', values: (tolerations ?? []).map(({ key }) => key ?? everyTaint), list: 'allowedTolerations' },
    { field: 'priorityClassName', values: priorityClassName === undefined ? [] : [priorityClassName], list: 'allowedPriorityClasses' },
  ];
}

/** Handlers whose kernel is known to be another one than the node's: no wall that a pool has without them is lower. */
const guestKernels = /^(runsc|gvisor|kata)/;

function weakerRuntime({ runtimeClassName }: Sandbox, pool: ExpertPool, capabilities: ClusterCapabilities): Asked | undefined {
  if (runtimeClassName === undefined || runtimeClassName === pool.spec.sandbox.template?.runtimeClassName) return undefined;
  const handler = capabilities.runtimeClasses.find(({ metadata }) => metadata.name === runtimeClassName)?.handler;
  // One that does not exist is refused as such.
  if (handler === undefined || guestKernels.test(handler)) return undefined;
  return { field: 'runtimeClassName', values: [runtimeClassName], list: 'allowedRuntimeClasses' };
}

/**
 * Why the pool does not let a task say this of its sandbox, in words that name field and cure; undefined when it does. Image,
 * resources, sizes and storage are every task's own; a RuntimeClass of gVisor or Kata always is. Pure.
 */
export function sandboxNotAllowed({ spec }: AgentTask, pool: ExpertPool, capabilities: ClusterCapabilities): string | undefined {
  const { sandbox } = spec;
  if (sandbox === undefined) return undefined;
  const runtime = weakerRuntime(sandbox, pool, capabilities);
  for (const { field, values, list } of [...askedFor(sandbox), ...(runtime === undefined ? [] : [runtime])]) {
    const value = values.find((asked) => pool.spec.policy[list]?.includes(asked) !== true);
    if (value === undefined) continue;
    const { namespace = '', name } = pool.metadata;
    const cure = value === everyTaint ? 'name the keys of the taints' : `add ${value} to spec.policy.${list} of the pool`;
    return `spec.sandbox.${field} has ${value}, which ExpertPool ${namespace}/${name} does not let tasks choose; create the task again without it, or ${cure}`;
  }
  return undefined;
}
