import type { Injections, ProbeAnswer } from '../model/index.ts';
import { createHash } from 'node:crypto';
import type { OwnerReference } from '@agentfleet/kube';
import { labels } from '@agentfleet/protocol/pool';
import { gpuRuntimeClass, gpuTolerations, hostname, type Injection } from '../../../placement/index.ts';
import type { Node, Pod } from '../../../runtime/resources.ts';
import { containerSecurity, podSecurity } from '../../../serving/index.ts';

/** Component and name of the one pod that looks whether a node hands out GPUs by environment. */
export const probeComponent = 'gpu-probe';
export const probeName = 'agentfleet-gpu-probe';

const nodeAnnotation = 'agentfleet.dev/probed-node';
const bootAnnotation = 'agentfleet.dev/probed-boot';

/** Seconds that the kubelet gives it. */
const deadlineSeconds = 120;
/** After which one that no kubelet has seen is given up, ms. */
const maxWaitMs = 180_000;
/** After which a node whose probe did not get on is asked again, ms. */
const silenceMs = 600_000;

/** Distinguishes one life of a node's kubelet and runtime from another one: an answer holds for one. Pure. */
export function bootOf({ status }: Node): string {
  const { bootID = '', kubeletVersion = '', containerRuntimeVersion = '' } = status?.nodeInfo ?? {};
  return createHash('sha256').update(`${bootID} ${kubeletVersion} ${containerRuntimeVersion}`).digest('hex').slice(0, 12);
}

/** Answers that count. `now` is wall time in ms. Pure. */
export function injectionsOf(answers: readonly ProbeAnswer[], nodes: readonly Node[], now: number): Injections {
  const boots = new Map(nodes.map((node) => [node.metadata.name, bootOf(node)]));
  const heard = answers.filter(({ node, answer, boot, at }) => {
    if (!boots.has(node)) return false;
    return answer !== 'Silent' || (boots.get(node) === boot && now - Date.parse(at) < silenceMs);
  });
  return {
    known: new Map(heard.map(({ node, answer }) => [node, answer])),
    stale: new Set(heard.filter(({ node, boot }) => boots.get(node) !== boot).map(({ node }) => node)),
  };
}

/** The word on several nodes: the worst; undefined while one has not answered. Pure. */
export function injectionOf(nodes: readonly string[], { known }: Injections): Injection | undefined {
  const answers = new Set(nodes.map((node) => known.get(node)));
  if (answers.has('Refused')) return 'Refused';
  if (answers.has('Silent')) return 'Silent';
  return answers.has(undefined) ? undefined : 'Works';
}

/** Returns the result of the probe; undefined while it is under way. */
function answerOf({ metadata, status }: Pod, now: number): Injection | undefined {
  const { phase } = status ?? {};
  if (phase === 'Failed') return 'Silent';
  if (phase === 'Succeeded') {
    const gpus = /^\{"gpus":(\d{1,3})\}$/.exec(status?.containerStatuses?.[0]?.state?.terminated?.message ?? '')?.[1];
    if (gpus === undefined) return 'Silent';
    return Number(gpus) > 0 ? 'Works' : 'Refused';
  }
  return now - Date.parse(metadata.creationTimestamp ?? '') > maxWaitMs ? 'Silent' : undefined;
}

/** Changes that are made to the probe. */
export interface ProbeChanges {
  /** The node that is asked now. */
  readonly make: Node | undefined;
  readonly end: Pod | undefined;
  /** All answers, when there is a new one. */
  readonly answers: readonly ProbeAnswer[] | undefined;
}

/** One node is asked at a time; a pod that has answered, or whose answer is not needed, goes. Pure. */
export function probeChanges(
  asked: readonly string[],
  pod: Pod | undefined,
  answers: readonly ProbeAnswer[],
  nodes: readonly Node[],
  now: number,
): ProbeChanges {
  const nothing: ProbeChanges = { make: undefined, end: undefined, answers: undefined };
  if (pod === undefined) {
    const [first] = nodes.filter(({ metadata }) => asked.includes(metadata.name)).sort(byName);
    return { ...nothing, make: first };
  }
  const { annotations = {}, deletionTimestamp, creationTimestamp = '' } = pod.metadata;
  const [node = '', boot = ''] = [annotations[nodeAnnotation], annotations[bootAnnotation]];
  const answer = answerOf(pod, now);
  const end = deletionTimestamp === undefined && (answer !== undefined || !asked.includes(node)) ? pod : undefined;
  const answered = answers.find((known) => known.node === node);
  const written = answered?.boot === boot && Date.parse(answered.at) >= Date.parse(creationTimestamp);
  if (answer === undefined || written || deletionTimestamp !== undefined) return { ...nothing, end };
  const at = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');
  const others = answers.filter((known) => known.node !== node && nodes.some(({ metadata }) => metadata.name === known.node));
  const all = [...others, { node, answer, boot, at }].sort((a, b) => (a.node < b.node ? -1 : 1));
  return { ...nothing, end, answers: all };
}

const byName = (a: Node, b: Node): number => (a.metadata.name < b.metadata.name ? -1 : 1);

/**
 * The pod that asks a node for its GPUs as tenants of a held GPU will, by environment and with no resource of a device plugin,
 * and counts what it sees. It ends by itself, uses no GPU and belongs to the book of names. Pure.
 */
export function probePod(node: Node, namespace: string, image: string, owner: OwnerReference): Pod {
  const { name } = node.metadata;
  const metadata = {
    name: probeName,
    namespace,
    labels: { [labels.component]: probeComponent },
    annotations: { [nodeAnnotation]: name, [bootAnnotation]: bootOf(node) },
    ownerReferences: [owner],
  };
  const container = {
    name: 'probe',
    image,
    args: ['probe-gpu'],
    // No uuid is known before something is held; a node refuses all values alike.
    env: [{ name: 'NVIDIA_VISIBLE_DEVICES', value: 'all' }],
    resources: { requests: { cpu: '5m', memory: '96Mi' }, limits: { memory: '96Mi' } },
    securityContext: containerSecurity,
  };
  const spec = {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    restartPolicy: 'Never',
    activeDeadlineSeconds: deadlineSeconds,
    terminationGracePeriodSeconds: 1,
    securityContext: podSecurity,
    runtimeClassName: gpuRuntimeClass,
    nodeSelector: { [hostname]: name },
    tolerations: gpuTolerations,
    containers: [container],
  };
  return { metadata, spec };
}
