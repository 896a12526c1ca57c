import type { AgentTask, AgentTaskSpec, AgentTaskStatus } from '@agentfleet/protocol/api';
import { isClosingTaint, isPluginResource } from '../placement/index.ts';
import type { Namespace, NetworkPolicy, Node, Pod } from './resources.ts';

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

/** Fields of the spec that decisions look at as they are; tasks often have the same. */
const specFields = [
  'poolRef',
  'profile',
  'budget',
  'deadlineSeconds',
  'attempts',
  'sandbox',
  'rollback',
  'trace',
  'output',
  'retention',
  'ttlSecondsAfterFinished',
  'dependsOn',
  'tools',
] as const satisfies readonly (keyof AgentTaskSpec)[];

/** Keeps the fields that decisions read: neither goal nor checks, files or rules, which are most of a task. */
function slimSpec({ workspace, setup, policy, priority, suspend, cancel, ...spec }: AgentTaskSpec, { of }: Sharing): AgentTaskSpec {
  const kept = Object.fromEntries(specFields.flatMap((field) => (spec[field] === undefined ? [] : [[field, of(spec[field])]])));
  const { profile, network, minIsolation } = policy;
  return {
    ...kept,
    priority,
    suspend,
    cancel,
    workspace: of(placeOf(workspace)),
    policy: of({ profile, network, ...(minIsolation === undefined ? {} : { minIsolation }) }),
    ...(setup === undefined ? {} : { setup: of(setup.map(({ name, network }) => ({ name, network }))) }),
  } as unknown as AgentTaskSpec;
}

/** Keeps the parts of a workspace that have to be let in: a host with a credential, a ConfigMap. */
function placeOf(workspace: AgentTaskSpec['workspace']): object {
  const { type } = workspace;
  if (workspace.type === 'ConfigMap') return { type, configMap: { name: workspace.configMap.name } };
  if (workspace.type !== 'Git') return { type };
  const { url, credential } = workspace.git;
  return { type, git: { url, ...(credential === undefined ? {} : { credential }) } };
}

function slimStatus(status: AgentTaskStatus, { of }: Sharing): AgentTaskStatus {
  const { conditions, run, phase, finished, clock, ...rest } = status;
  const slim: Mutable<AgentTaskStatus> = rest;
  if (conditions !== undefined) slim.conditions = conditions.map((condition) => of(condition));
  if (phase !== undefined) slim.phase = of(phase);
  if (finished !== undefined) slim.finished = of(finished);
  if (clock !== undefined) slim.clock = of(clock);
  if (run === undefined) return slim;
  const { patch: _patch, signals: _signals, experts: _experts, artifacts: _artifacts, plan, ...report } = run;
  // Of the plan only the node that makes a phase.
  slim.run = plan === undefined ? report : { ...report, plan: plan.filter(({ id }) => id === 'verify') };
  return slim;
}

/** Merging of equal parts of objects into one; `of` as in `Shared`. */
export interface Sharing {
  readonly of: <T>(value: T) => T;
}

const apart: Sharing = { of: (value) => value };

/**
 * Drops what the worker reads or reports and no controller looks at: the goal, checks, contents of files, and of the
 * report most of the plan, the patch and what decisions were based on.
 */
export function slimTask(task: AgentTask, sharing: Sharing = apart): AgentTask {
  const { apiVersion, kind, metadata, spec, status } = slimAnnotations(task);
  const slim = { apiVersion: sharing.of(apiVersion), kind: sharing.of(kind), metadata, spec: slimSpec(spec, sharing) };
  return status === undefined ? slim : { ...slim, status: slimStatus(status, sharing) };
}

/** Keeps what `Pod` in objects.ts names; volumes, environments and probes of thousands of sandboxes are most of the memory. */
export function slimPod(pod: Pod): Pod {
  slimAnnotations(pod);
  const { nodeName, serviceAccountName, containers } = pod.spec ?? {};
  const spec = {
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(serviceAccountName === undefined ? {} : { serviceAccountName }),
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

/** Labels of a node, its GPUs, their MIG slices and what its runtimes can; images, addresses and conditions are most of one. */
export function slimNode(node: Node): Node {
  const { runtimeHandlers, nodeInfo } = node.status ?? {};
  const offered = Object.entries(node.status?.allocatable ?? {}).filter(([name]) => isPluginResource(name));
  const { kubeletVersion = '', containerRuntimeVersion = '', bootID = '' } = nodeInfo ?? {};
  const versions = { nodeInfo: { kubeletVersion, containerRuntimeVersion, bootID } };
  const { unschedulable = false, taints = [] } = node.spec ?? {};
  const closing = taints.filter(isClosingTaint).map(({ key, effect }) => ({ key, effect }));
  return {
    ...slimAnnotations(node),
    spec: { unschedulable, taints: closing },
    status: {
      ...versions,
      ...(offered.length === 0 ? {} : { allocatable: Object.fromEntries(offered) }),
      ...(runtimeHandlers === undefined ? {} : { runtimeHandlers }),
    },
  };
}

/** Keeps the selector of a policy and whether it lets anything through; its rules are most of one. */
export function slimNetworkPolicy(policy: NetworkPolicy): NetworkPolicy {
  const { podSelector, policyTypes, ingress = [], egress = [] } = policy.spec ?? {};
  const spec = { ...(podSelector === undefined ? {} : { podSelector }), ...(policyTypes === undefined ? {} : { policyTypes }) };
  return { ...slimAnnotations(policy), spec: { ...spec, ingress: ingress.map(() => ({})), egress: egress.map(() => ({})) } };
}

/** Any other object. */
export const slimObject = slimAnnotations;
