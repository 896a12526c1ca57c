// operator, pools: names of the child objects of pools and energy models. May import runtime, placement, rollout, kube and protocol.
import { createHash } from 'node:crypto';

/** Longest name of a child: what Deployments and Services append (hashes, `-<port>`) still fits the 63 characters of a label. */
const longest = 52;

/**
 * Joins parts to the name of a child object by `-`: a DNS label of RFC 1035, which every kind takes, also a Service.
 * What must be changed for that (over 52 characters, a dot, a digit in front) is kept apart from names that are like
 * that by themselves: 8 hex digits of the SHA-256 of the whole follow. Pure.
 */
export function childName(...parts: readonly string[]): string {
  const whole = parts.join('-');
  const label = whole.replaceAll('.', '-').replace(/^(?=[0-9])/, 'p');
  if (label === whole && whole.length <= longest) return whole;
  const digest = createHash('sha256').update(whole).digest('hex').slice(0, 8);
  return `${label.slice(0, longest - 9).replace(/-+$/, '')}-${digest}`;
}

/** Name of the workers' Deployment, of their PodDisruptionBudget and of the ConfigMap with their brief. */
export const workersName = (pool: string): string => childName(pool, 'workers');

/**
 * Name of the workers' Deployment by that of one of their pods: Kubernetes cuts `<deployment>-<hash>-` to 58 characters and appends
 * five. As `childName` gives 52 at most, the dash before the hash is never cut off. Undefined: it is no name of such a pod.
 */
export function workersOfPod(pod: string): string | undefined {
  return /^(.+)-[^-]+-?[^-]{5}$/.exec(pod)?.[1];
}

/** ConfigMap that holds the PoolBrief. */
export const briefName = (pool: string): string => workersName(pool);

/** ServiceAccount that the workers of a pool run as; their tokens have the subject `system:serviceaccount:<namespace>:<this>`. */
export const workerServiceAccount = (pool: string): string => childName(pool, 'worker');

/** ConfigMap with the signing keys that workers, experts and gateways of a pool check tokens by. */
export const poolKeysName = (pool: string): string => childName(pool, 'token-keys');

/** ConfigMap with those that the pods of an EnergyModel check tokens by. */
export const modelKeysName = (model: string): string => childName(model, 'verifier', 'token-keys');

/** ServiceAccount of the golden sets of a pool, where their template names none. */
export const goldenServiceAccount = (pool: string): string => childName(pool, 'golden');

/** Deployment and Service of one expert; `revision` distinguishes those that stand side by side. */
export const expertName = (pool: string, expert: string, revision?: string): string =>
  revision === undefined ? childName(pool, 'expert', expert) : childName(pool, 'expert', expert, revision);

/** Deployment, Service, NetworkPolicy, PodDisruptionBudget and ConfigMap of the gateway to chat models; `revision` as above. */
export const gatewayName = (pool: string, revision?: string): string =>
  revision === undefined ? childName(pool, 'gateway') : childName(pool, 'gateway', revision);

/** Deployment and Service of the pods of an EnergyModel, and their NetworkPolicy; `revision` distinguishes those that stand side by side. */
export const verifierName = (model: string, revision?: string): string =>
  revision === undefined ? childName(model, 'verifier') : childName(model, 'verifier', revision);

/** ControllerRevision that holds what a revision of a pool serves. */
export const revisionRecordName = (owner: string, kind: 'pool' | 'model', revision: string): string => childName(owner, kind, revision);

/** ConfigMap that counts the tasks of a rollout. */
export const rolloutLedgerName = (owner: string, kind: 'pool' | 'model'): string => childName(owner, kind, 'rollout');

/** ConfigMap that holds what the tasks of a pool have spent. */
export const spendingName = (pool: string): string => childName(pool, 'spending');

/** Job that runs a golden set against a revision; `hash` distinguishes both, `run` their Jobs. */
export const goldenJobName = (owner: string, kind: 'pool' | 'model', hash: string, run: number): string =>
  childName(owner, kind, 'golden', hash, String(run));

/** PersistentVolumeClaim of a pool without object storage. */
export const artifactsClaim = (pool: string): string => childName(pool, 'artifacts');

/** PersistentVolumeClaim of fetched weights, and the NetworkPolicy of the jobs that fetch. */
export const modelsClaim = (pool: string): string => childName(pool, 'models');

/** Job that reads the weights of an item, `<expert>` or `<expert>/draft`; `hash` is of what is asked for. */
export const weightsJobName = (pool: string, item: string, hash: string): string =>
  childName(pool, 'weights', item.replaceAll('/', '-'), hash);

/** NetworkPolicy of pods that hold GPUs for a pool, or for a model. */
export const holdersName = (owner: string, kind: 'pool' | 'model'): string =>
  kind === 'pool' ? childName(owner, 'holders') : childName(owner, 'verifier', 'holders');

/** NetworkPolicy of all experts of a pool. */
export const expertsName = (pool: string): string => childName(pool, 'experts');

/**
 * RoleBinding of a pool's workers in a namespace whose tasks they run. Its parts are separated by dots, which no
 * namespace has, so that pools of different namespaces cannot meet.
 */
export const accessName = (pool: { readonly namespace: string; readonly name: string }): string =>
  `agentfleet.${pool.namespace}.${pool.name}`;
