import { keyOf } from '@agentfleet/kube';
import type { ExpertPool, AgentTask, Sandbox, SandboxTemplate } from '@agentfleet/protocol/api';
import { type IsolationLevel, isolationLevels } from '@agentfleet/protocol/keeper';
import { type Caches, NodeAbilities } from '../../../runtime/context.ts';
import type { Node, Pod, RuntimeClass } from '../../../runtime/resources.ts';

/** Nodes and runtimes that the cluster can run sandboxes on, as of one moment. */
export interface ClusterCapabilities {
  readonly nodes: readonly Node[];
  readonly runtimeClasses: readonly RuntimeClass[];
  /** Labels of the namespaces, by name. */
  readonly namespaces?: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** Earlier decisions; without them each decision stands alone. */
  readonly abilities?: NodeAbilities;
}

/** Demands of a sandbox on a node, apart from room. */
export interface SandboxNeeds {
  readonly runtimeClassName?: string | undefined;
  readonly nodeSelector?: Readonly<Record<string, string>> | undefined;
}

/** Share of able nodes among those that a sandbox may run on; `Unknown` when none of them reports. */
export type Share = 'All' | 'Some' | 'None' | 'Unknown';

/** The RuntimeClass of a sandbox; null when it names one that does not exist, undefined when it names none. */
export function runtimeClassOf(
  { runtimeClasses }: ClusterCapabilities,
  { runtimeClassName }: SandboxNeeds,
): RuntimeClass | null | undefined {
  if (runtimeClassName === undefined) return undefined;
  return runtimeClasses.find(({ metadata }) => metadata.name === runtimeClassName) ?? null;
}

/**
 * Returns the share of nodes that can give a sandbox users of its own. Each kubelet reports it for every handler of its container runtime;
 * one that reports nothing is too old, and does not count as one that can. Pure.
 */
export function userNamespaces(capabilities: ClusterCapabilities, needs: SandboxNeeds): Share {
  return share(eligible(capabilities, needs), givesUsers(capabilities, needs));
}

/** Returns a function that reports whether a node can give a sandbox users of its own; undefined when the node does not report. */
function givesUsers(capabilities: ClusterCapabilities, needs: SandboxNeeds): (node: Node) => boolean | undefined {
  const handler = runtimeClassOf(capabilities, needs)?.handler ?? '';
  return ({ status }) => {
    const handlers = status?.runtimeHandlers;
    return handlers === undefined
      ? undefined
      : handlers.some(({ name = '', features }) => name === handler && features?.userNamespaces === true);
  };
}

/** Reports whether so many nodes have users for sandboxes that the others are left out. A node that does not report does not count. */
function mostGiveUsers(capabilities: ClusterCapabilities, needs: SandboxNeeds): boolean {
  const answers = eligible(capabilities, needs)
    .map(givesUsers(capabilities, needs))
    .filter((answer) => answer !== undefined);
  const able = answers.filter((answer) => answer).length;
  const key = JSON.stringify([needs.runtimeClassName ?? '', Object.entries(needs.nodeSelector ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))]);
  return (capabilities.abilities ?? new NodeAbilities()).used(key, able, answers.length);
}

/** Nodes that a sandbox with users of its own may be put on, or may not, by `kubernetes.io/hostname`. */
export interface NodeChoice {
  readonly operator: 'In' | 'NotIn';
  readonly values: readonly string[];
}

const hostname = 'kubernetes.io/hostname';

/** Returns the nodes that such a sandbox may run on: the shorter of two lists; undefined where every node can, or none reports. Pure. */
export function nodesWithUsers(capabilities: ClusterCapabilities, needs: SandboxNeeds): NodeChoice | undefined {
  const nodes = eligible(capabilities, needs);
  const gives = givesUsers(capabilities, needs);
  const namesOf = (some: readonly Node[]): readonly string[] => some.flatMap(({ metadata }) => metadata.labels?.[hostname] ?? []).sort();
  const able = nodes.filter((node) => gives(node) === true);
  if (able.length === 0 || able.length === nodes.length) return undefined;
  const [those, others] = [namesOf(able), namesOf(nodes.filter((node) => gives(node) !== true))];
  return others.length <= those.length ? { operator: 'NotIn', values: others } : { operator: 'In', values: those };
}

/** Returns the share of nodes that have a runtime behind the handler of a RuntimeClass. Pure. */
export function handlerOffered(capabilities: ClusterCapabilities, needs: SandboxNeeds, handler: string): Share {
  return share(eligible(capabilities, needs), ({ status }) => {
    const handlers = status?.runtimeHandlers;
    return handlers === undefined ? undefined : handlers.some(({ name = '' }) => name === handler);
  });
}

/** Nodes whose labels fit what the sandbox and its RuntimeClass select. Taints are left to the scheduler: they come and go. */
function eligible(capabilities: ClusterCapabilities, needs: SandboxNeeds): readonly Node[] {
  const selector = { ...runtimeClassOf(capabilities, needs)?.scheduling?.nodeSelector, ...needs.nodeSelector };
  return capabilities.nodes.filter(({ metadata }) => Object.entries(selector).every(([key, value]) => metadata.labels?.[key] === value));
}

function share(nodes: readonly Node[], can: (node: Node) => boolean | undefined): Share {
  const answers = nodes.map(can).filter((answer) => answer !== undefined);
  if (answers.length === 0) return 'Unknown';
  if (!answers.includes(true)) return 'None';
  return answers.length === nodes.length && !answers.includes(false) ? 'All' : 'Some';
}

/**
 * Reports whether a sandbox is made with `hostUsers: false`. A RuntimeClass takes the place of what the floor demands. The same input gives
 * the same answer again.
 */
export function hasOwnUsers(
  mode: 'Auto' | 'Always' | 'Never',
  floor: IsolationLevel,
  capabilities: ClusterCapabilities,
  needs: SandboxNeeds,
): boolean {
  if (mode !== 'Auto') return mode === 'Always';
  return (floor === 'UserNamespace' && needs.runtimeClassName === undefined) || mostGiveUsers(capabilities, needs);
}

/** Layers need users of the pod's own; that a pool may not say Never beside them is a rule of its schema. Pure. */
export function userMode(sandbox: ExpertPool['spec']['sandbox']): 'Auto' | 'Always' | 'Never' {
  return sandbox.snapshotEngine === 'Overlay' ? 'Always' : sandbox.userNamespace;
}

/**
 * Reports whether every node that a sandbox may run on can mount an image as a volume and run programs from it. Kubelets from 1.36 on
 * always can, and so can the API server then, which is never older; containerd from 2.1 on lets programs of such a volume run, of other
 * runtimes it is not known. Pure.
 */
export function imageVolumes(capabilities: ClusterCapabilities, needs: SandboxNeeds): boolean {
  if (needs.runtimeClassName !== undefined) return false;
  const nodes = eligible(capabilities, needs);
  return (
    nodes.length > 0 &&
    nodes.every(({ status }) => {
      const { kubeletVersion = '', containerRuntimeVersion = '' } = status?.nodeInfo ?? {};
      return (
        isFrom(/^v(\d+)\.(\d+)\./.exec(kubeletVersion), 1, 36) &&
        isFrom(/^containerd:\/\/v?(\d+)\.(\d+)\./.exec(containerRuntimeVersion), 2, 1)
      );
    })
  );
}

function isFrom(found: RegExpExecArray | null, major: number, minor: number): boolean {
  if (found === null) return false;
  const [ours, below] = [Number(found[1]), Number(found[2])];
  return ours > major || (ours === major && below >= minor);
}

/** As the caches show it. */
export function capabilitiesOf({
  nodes,
  runtimeClasses,
  namespaces,
  abilities,
}: Pick<Caches, 'nodes' | 'runtimeClasses' | 'namespaces' | 'abilities'>): ClusterCapabilities {
  return {
    abilities,
    nodes: [...nodes.lister.values()],
    runtimeClasses: [...runtimeClasses.lister.values()],
    namespaces: new Map([...namespaces.lister.values()].map(({ metadata }) => [metadata.name, metadata.labels ?? {}])),
  };
}

/** Reports whether nothing changed that decisions look at; kubelets write their Node every few minutes. */
export function sameAbility(old: Node, node: Node): boolean {
  const abilityOf = ({ metadata, spec, status }: Node): string =>
    JSON.stringify([metadata.labels, spec?.unschedulable === true, status?.runtimeHandlers, status?.nodeInfo]);
  return abilityOf(old) === abilityOf(node);
}

/**
 * Returns what reports whether a sandbox is on a cordoned node. It works as before, and may for hours; but as a rule a drain follows, which
 * costs a task what it did since its last checkpoint. So one that waits there is replaced elsewhere, and is taken only where none waits on
 * another node: where nothing else is there, it is still better than none. What a task has taken stays with it.
 */
export function cordonedBy({ nodes }: { readonly nodes: Pick<Caches['nodes'], 'lister'> }): (pod: Pod) => boolean {
  return ({ spec }) => spec?.nodeName !== undefined && nodes.lister.get(spec.nodeName)?.spec?.unschedulable === true;
}

/** The template of the pool with the task's own fields: a field of the task replaces that of the pool as a whole. Pure. */
export function mergedTemplate({ spec }: AgentTask, pool: ExpertPool): SandboxTemplate & Pick<Sandbox, 'storage'> {
  return { ...pool.spec.sandbox.template, ...spec.sandbox };
}

/** Handlers whose kernel is known to be another one than the node's: no wall that a pool has without them is lower. */
const guestKernels = /^(runsc|gvisor|kata)/;

/**
 * Returns the reason for which the pool does not let a task have its RuntimeClass, in words that name field and cure; undefined when it
 * does. Image, resources, sizes and storage are every task's own; a RuntimeClass of gVisor or Kata always is. Pure.
 */
export function sandboxNotAllowed({ spec }: AgentTask, pool: ExpertPool, capabilities: ClusterCapabilities): string | undefined {
  const { runtimeClassName } = spec.sandbox ?? {};
  if (runtimeClassName === undefined || runtimeClassName === pool.spec.sandbox.template?.runtimeClassName) return undefined;
  const handler = capabilities.runtimeClasses.find(({ metadata }) => metadata.name === runtimeClassName)?.handler;
  // One that does not exist is refused as such.
  if (handler === undefined || guestKernels.test(handler)) return undefined;
  return `spec.sandbox.runtimeClassName has ${runtimeClassName}, which ExpertPool ${keyOf(pool)} does not let tasks choose; create the task again without it, or for a pool that has ${runtimeClassName} in spec.sandbox.template`;
}

const rank = (level: IsolationLevel): number => isolationLevels.indexOf(level);

/** The stronger of what the pool and the task demand. */
export function isolationFloor({ task }: { readonly task: AgentTask }, pool: ExpertPool): IsolationLevel {
  const own = task.spec.policy.minIsolation ?? 'Container';
  return rank(own) > rank(pool.spec.policy.minIsolation) ? own : pool.spec.policy.minIsolation;
}

export function meetsFloor(level: IsolationLevel, floor: IsolationLevel): boolean {
  return rank(level) >= rank(floor);
}
