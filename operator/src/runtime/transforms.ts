import type { AgentTask } from '@agentfleet/protocol/api';
import type { Namespace, Node, Pod } from './objects.ts';

/** kubectl's copy of the whole object. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function slimAnnotations<T extends { readonly metadata: { readonly annotations?: Readonly<Record<string, string>> } }>(object: T): T {
  const { annotations } = object.metadata;
  if (annotations?.[lastApplied] === undefined) return object;
  const { [lastApplied]: _, ...kept } = annotations;
  (object.metadata as Mutable<T['metadata']>).annotations = kept;
  return object;
}

/**
 * Drops what the worker reads or reports and no controller looks at: contents of inline files, and of the report
 * most of the plan, the patch and what decisions were based on. The object was just parsed and nobody else holds it, so it is changed.
 */
export function slimTask(task: AgentTask): AgentTask {
  slimAnnotations(task);
  const { workspace } = task.spec;
  if (workspace.type === 'Inline') for (const file of workspace.inline.files) (file as Mutable<typeof file>).content = '';
  const run: Mutable<NonNullable<NonNullable<AgentTask['status']>['run']>> | undefined = task.status?.run;
  if (run === undefined) return task;
  for (const field of ['patch', 'signals', 'experts', 'artifacts'] as const) delete run[field];
  // Of the plan only the node that makes a phase.
  if (run.plan !== undefined) run.plan = run.plan.filter(({ id }) => id === 'verify');
  return task;
}

/** Keeps what `Pod` in objects.ts names; volumes, environments and probes of thousands of sandboxes are most of the memory. */
export function slimPod(pod: Pod): Pod {
  slimAnnotations(pod);
  const { nodeName, containers } = pod.spec ?? {};
  const spec = {
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(containers === undefined
      ? {}
      : { containers: containers.map(({ name, image }) => ({ name, ...(image === undefined ? {} : { image }) })) }),
  };
  return { ...pod, spec };
}

/** Labels and life of a namespace. */
export function slimNamespace(namespace: Namespace): Namespace {
  return { ...slimAnnotations(namespace), ...(namespace.status?.phase === undefined ? {} : { status: { phase: namespace.status.phase } }) };
}

/** Labels of a node and what its runtimes can; images, addresses and conditions are most of one. */
export function slimNode(node: Node): Node {
  const { runtimeHandlers, nodeInfo } = node.status ?? {};
  const { kubeletVersion = '', containerRuntimeVersion = '' } = nodeInfo ?? {};
  const versions = { nodeInfo: { kubeletVersion, containerRuntimeVersion } };
  return { ...slimAnnotations(node), status: { ...versions, ...(runtimeHandlers === undefined ? {} : { runtimeHandlers }) } };
}

/** Any other object. */
export const slimObject = slimAnnotations;
