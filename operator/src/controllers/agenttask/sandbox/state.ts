import { isControlledBy, labelMatcher } from '@agentfleet/kube';
import { passedOn, type AgentTask, type Reason, type ExpertPool } from '@agentfleet/protocol/api';
import { briefKey, labels } from '@agentfleet/protocol/pool';
import { briefName } from '../../../pools/names.ts';
import type { Caches } from '../../../runtime/context.ts';
import type { ConfigMap, ContainerStatus, Pod, NetworkPolicy } from '../../../runtime/resources.ts';
import { mergedTemplate } from './capabilities.ts';
import { jwksConfigMap, sandboxNetworkPolicy } from './pod.ts';

/** Seconds after the end of its grace period in which a pod may still run although its node does not report. */
const graceSlackSeconds = 60;

/** State of a sandbox pod: `reason` for programs, `message` for people. */
export interface SandboxState {
  readonly ready: boolean;
  /** The user's own words for the image cannot be right: waiting does not help. */
  readonly invalid: boolean;
  readonly reason: Reason;
  readonly message: string;
}

/** Returns the latest time at which the last container can still run, in ms since the epoch. */
export function surelyEndedAt(pod: Pod): number {
  return Date.parse(pod.metadata.deletionTimestamp ?? '') + graceSlackSeconds * 1000;
}

function containersOf(pod: Pod): readonly ContainerStatus[] {
  return [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
}

/**
 * Reports whether nothing of a pod that is being deleted runs any more: all containers have terminated, it never got a node, or its grace
 * period is over for so long that a node which still ran it would have been fenced by the epoch.
 */
export function hasEnded(pod: Pod, now: number): boolean {
  if (pod.metadata.deletionTimestamp === undefined) return false;
  if (pod.spec?.nodeName === undefined) return true;
  if (pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded') return true;
  const containers = containersOf(pod);
  if (containers.length > 0 && containers.every(({ state }) => state?.terminated !== undefined)) return true;
  return now >= surelyEndedAt(pod);
}

/** Returns the reason for which the pod cannot be worked in any more, in words; undefined while it can. */
export function lossOf(pod: Pod | undefined, name: string): string | undefined {
  if (pod === undefined) return `the sandbox pod ${name} is gone`;
  if (pod.metadata.deletionTimestamp !== undefined) return `the sandbox pod ${name} is being deleted`;
  const { phase, reason, message } = pod.status ?? {};
  if (phase !== 'Failed' && phase !== 'Succeeded') return undefined;
  return `the sandbox pod ${name} has ended: ${[reason ?? phase, message].filter(Boolean).join(': ')}`;
}

/** The pods of this very task that can be worked in, oldest name first. */
export function usablePods(task: AgentTask, pods: readonly Pod[]): readonly Pod[] {
  return pods
    .filter((pod) => isControlledBy(pod, task) && lossOf(pod, pod.metadata.name) === undefined)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

const notReady = (reason: Reason, message: string, invalid = false): SandboxState => ({ ready: false, invalid, reason, message });

/** Reasons of waiting containers that mean trouble rather than a start under way. */
const troubles: ReadonlySet<string> = new Set<Reason | 'ErrImagePull'>([
  'CrashLoopBackOff',
  'CreateContainerConfigError',
  'CreateContainerError',
  'ErrImageNeverPull',
  'ErrImagePull',
  'ImageInspectError',
  'ImagePullBackOff',
  'InvalidImageName',
  'RunContainerError',
]);

/**
 * Returns the state of the pod, from its status. Once `wasReady`, only the keeper counts: the container of the tools is restarted for a
 * clean verification, and a sandbox whose tools are not ready is not a dead one.
 */
export function sandboxState(pod: Pod, wasReady: boolean): SandboxState {
  const { name } = pod.metadata;
  const statuses = pod.status?.containerStatuses ?? [];
  const keeper = statuses.find((status) => status.name === 'keeper')?.ready === true;
  if (isSilent(pod)) return notReady(silentReason, `node ${pod.spec?.nodeName ?? ''} of pod ${name} does not report`);
  if (keeper && (wasReady || statuses.every((status) => status.ready))) {
    return { ready: true, invalid: false, reason: 'Ready', message: `pod ${name} answers` };
  }
  const trouble = containerTrouble(pod, wasReady) ?? placeTrouble(pod);
  if (trouble !== undefined) return trouble;
  if (!wasReady) return notReady('Starting', `pod ${name} starts`);
  return notReady('KeeperNotReady', `the keeper of pod ${name} does not answer; it is restarted`);
}

/** Reason of a sandbox whose node does not report. */
export const silentReason = 'NodeNotReady';

/**
 * The containers of a node that is lost stay ready, as nobody reports about them: Kubernetes takes back the condition of the pod alone, and
 * gives no reason, as a kubelet does.
 */
function isSilent({ status }: Pod): boolean {
  const { conditions = [], containerStatuses = [] } = status ?? {};
  const said = conditions.find(({ type }) => type === 'Ready');
  const isTakenBack = said !== undefined && said.status !== 'True' && (said.reason ?? '') === '';
  return isTakenBack && containerStatuses.length > 0 && containerStatuses.every(({ ready }) => ready);
}

function containerTrouble(pod: Pod, wasReady: boolean): SandboxState | undefined {
  const bad = containersOf(pod).find(({ name, state }) => troubles.has(state?.waiting?.reason ?? '') && (!wasReady || name === 'keeper'));
  const waiting = bad?.state?.waiting?.reason;
  if (bad === undefined || waiting === undefined) return undefined;
  const reason = waiting === 'ErrImagePull' ? 'ImagePullBackOff' : waiting;
  // The image of the tools is the user's; every other one is the administrator's, who can mend it.
  const invalid = reason === 'InvalidImageName' && bad.name === 'tools';
  const message = `container ${bad.name} of pod ${pod.metadata.name}: ${bad.state?.waiting?.message || reason}`;
  return notReady(passedOn(reason), message, invalid);
}

function placeTrouble({ metadata, status }: Pod): SandboxState | undefined {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status !== 'False') return undefined;
  const message = `pod ${metadata.name} has no node: ${scheduled.message ?? 'no reason given'}`;
  return notReady(passedOn(scheduled.reason ?? 'Unschedulable'), message);
}

/** Reason of a task whose wall a NetworkPolicy of another owner opens, and the type of its condition. */
export const networkOpened = 'NetworkOpened';

/** A NetworkPolicy that lets more in or out of a sandbox than its wall. */
export interface Opening {
  readonly policy: string;
  readonly adds: 'ingress' | 'egress' | 'ingress and egress';
}

const wall = sandboxNetworkPolicy('', []).metadata?.name;

/** Labels that the pod of a task has, or will have. */
function labelsOf(task: AgentTask, pool: ExpertPool | undefined, pods: readonly Pod[]): readonly Readonly<Record<string, string>>[] {
  if (pods.length > 0) return pods.map(({ metadata }) => metadata.labels ?? {});
  if (pool === undefined) return [];
  const own = mergedTemplate(task, pool).podMetadata?.labels;
  return [{ ...own, [labels.component]: 'sandbox', [labels.task]: task.metadata.name, [labels.pool]: pool.metadata.name }];
}

/**
 * The policies of a namespace that open the sandbox of a task: what NetworkPolicies allow adds up, so that each one that
 * selects the pod and has a rule is a way past the wall. One without rules takes nothing away and adds nothing. Pure.
 */
export function openingsOf(
  policies: readonly NetworkPolicy[],
  { task, pool, pods }: { readonly task: AgentTask; readonly pool: ExpertPool | undefined; readonly pods: readonly Pod[] },
): readonly Opening[] {
  if (policies.length === 0) return [];
  const sandboxes = labelsOf(task, pool, pods).map((own) => ({ metadata: { name: '', labels: own } }));
  return policies
    .flatMap(({ metadata, spec }): Opening[] => {
      const isWall = metadata.name === wall;
      const selects = labelMatcher(spec?.podSelector ?? {});
      if (isWall && !sandboxes.every(selects)) return [{ policy: metadata.name, adds: 'ingress and egress' }];
      const adds = added(isWall ? beyondWall(spec) : spec);
      return adds === undefined || !sandboxes.some(selects) ? [] : [{ policy: metadata.name, adds }];
    })
    .sort((a, b) => (a.policy < b.policy ? -1 : 1));
}

/**
 * The rules of the wall that are not the operator's, which has one for the door of workers and none that leads out: what somebody else
 * put there stays, as an apply takes away only what its own manager has set.
 */
function beyondWall(spec: NetworkPolicy['spec']): NetworkPolicy['spec'] {
  return { ...spec, ingress: (spec?.ingress ?? []).slice(1) };
}

function added(spec: NetworkPolicy['spec']): Opening['adds'] | undefined {
  const { ingress = [], egress = [], policyTypes = [] } = spec ?? {};
  // Rules of a direction that the policy does not speak of do not count.
  const speaksOf = (type: 'Ingress' | 'Egress'): boolean => policyTypes.length === 0 || policyTypes.includes(type);
  const [inward, outward] = [ingress.length > 0 && speaksOf('Ingress'), egress.length > 0 && speaksOf('Egress')];
  if (inward && outward) return 'ingress and egress';
  if (inward) return 'ingress';
  return outward ? 'egress' : undefined;
}

const named = 3;

/** Returns the message that names the policies that open the wall, and the way to close it. */
export function openedMessage({ metadata: { namespace = '' } }: AgentTask, openings: readonly Opening[]): string {
  const first = openings.slice(0, named).map(({ policy, adds }) => `${namespace}/${policy} (${adds})`);
  const more = openings.length > named ? ` and ${openings.length - named} more` : '';
  if (openings.some(({ policy }) => policy === wall))
    return `NetworkPolicy ${first.join(', ')}${more} opens the wall of the sandbox; delete ${namespace}/${wall ?? ''}, which is made again without the rules of others, or set spec.policy.allowUnenforcedNetwork of the pool`;
  return `NetworkPolicy ${first.join(', ')}${more} selects the sandbox and opens its wall; let spec.podSelector.matchExpressions have {key: ${labels.component}, operator: NotIn, values: [sandbox]}, or set spec.policy.allowUnenforcedNetwork of the pool`;
}

/** Reports whether the pool's controllers have made ready what sandboxes and workers need in a namespace. */
export class Preparations {
  readonly #configMaps: Caches['configMaps'];
  readonly #briefs = new WeakMap<ConfigMap, ReadonlySet<string>>();

  constructor({ configMaps }: Pick<Caches, 'configMaps'>) {
    this.#configMaps = configMaps;
  }

  /** Returns what reports it for namespaces at one moment. */
  of(pool: ExpertPool): (namespace: string) => boolean {
    const { lister } = this.#configMaps;
    const brief = lister.get(`${pool.metadata.namespace ?? ''}/${briefName(pool.metadata.name)}`);
    if (brief === undefined) return () => false;
    const known = this.#briefs.get(brief) ?? namespacesOf(brief);
    this.#briefs.set(brief, known);
    return (namespace) => known.has(namespace) && lister.get(`${namespace}/${jwksConfigMap}`) !== undefined;
  }
}

/** A brief that cannot be read names no namespace: its pool's controller will write it again. */
function namespacesOf({ data }: ConfigMap): ReadonlySet<string> {
  try {
    const { namespaces } = JSON.parse(data?.[briefKey] ?? '{}') as { readonly namespaces?: readonly string[] };
    return new Set(namespaces);
  } catch {
    return new Set();
  }
}
