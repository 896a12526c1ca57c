import { type WeightsItem, draftOf, nameBeside, weightsOf } from '../../../operands/index.ts';
import type { Expert, ExpertPool, ExpertPoolStatus, Reason } from '@agentfleet/protocol/api';
import { labels, expertPort } from '@agentfleet/protocol/pool';
import { weightsReportOf, type WeightsReport } from '@agentfleet/protocol/weights';
import { type ConditionValue, type Pod, resources } from '../../../runtime/resources.ts';
import {
  podTrouble,
  podlessBecause,
  originOf,
  type AskInfo,
  containerSecurity,
  podSecurity,
  operatorPeer,
  tcp,
} from '../../../serving/index.ts';
import { cut, deadline, type Clock } from '@agentfleet/kube';
import type { V1Container, V1EnvVar, V1JobSpec, V1Volume } from '@kubernetes/client-node';
import { modelsClaim, weightsJobName } from '../../../pools/names.ts';
import type { Images } from '../../../runtime/context.ts';
import { shortHash } from '../../../revisions/index.ts';
import { objectWith, type OperandSettings } from '../../../runtime/settings.ts';
import { kept, owned, ownedBy, poolLabels, type Manifest } from '../../../operands/manifest.ts';

/** One entry of `status.artifacts`. */
export type ArtifactState = NonNullable<ExpertPoolStatus['artifacts']>[number];

/** Facts that are known about the weights of a pool. */
export interface WeightsView {
  readonly item: WeightsItem;
  readonly state: ArtifactState;
  /** Job that fetches them where they have to be, and reads them. */
  readonly job: Manifest;
  /** Reason why they cannot be used until an owner changes something. */
  readonly fault: { readonly reason: Reason; readonly message: string } | undefined;
  /** Reason why the job does not get on, which may go by itself. */
  readonly trouble?: string | undefined;
}

/** Reports whether the status describes what is asked for now. */
function stillTrue(state: ArtifactState, { weights }: WeightsItem): boolean {
  const { uri, digest } = weights;
  return state.phase === 'Ready' && state.uri === uri && (digest === undefined || state.digest === digest);
}

/** The last report of the pods of a job, the newest pod first. */
function reportOf(pods: readonly Pod[]): WeightsReport | undefined {
  const newest = [...pods].sort((a, b) => ((a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? 1 : -1));
  for (const { status } of newest) {
    const { state } = status?.containerStatuses?.find(({ name }) => name === 'weights') ?? {};
    const report = weightsReportOf(state?.terminated?.message);
    if (report !== undefined) return report;
  }
  return undefined;
}

const unfinished = ({ status }: Pod): boolean => status?.phase !== 'Succeeded' && status?.phase !== 'Failed';

/** Returns the state of the weights that were found, where they are what the item demands. */
function readyOf({ name, weights }: WeightsItem, report: WeightsReport | undefined): ArtifactState | undefined {
  if (report === undefined || 'fault' in report) return undefined;
  const { digest, weightBytes, architecture, tokenizerHash } = report;
  if (weights.digest !== undefined && weights.digest !== digest) return undefined;
  return {
    name,
    uri: weights.uri,
    phase: 'Ready' as const,
    digest,
    weightBytes,
    ...(architecture === null ? {} : { architecture }),
    ...(tokenizerHash === null ? {} : { tokenizerHash }),
  };
}

/** Returns the reason why weights cannot be used. A job of several items leaves their digests to be compared here. */
function faultOf({ weights }: WeightsItem, report: WeightsReport): NonNullable<WeightsView['fault']> {
  if ('fault' in report) return { reason: `Weights${report.fault}`, message: report.message };
  const message = `the files are ${report.digest}, and artifact.digest is ${weights.digest}: correct the digest or the uri`;
  return { reason: 'WeightsDigestMismatch', message };
}

function viewOf(
  item: WeightsItem,
  pods: readonly Pod[],
  reported: ArtifactState | undefined,
  progress: FetchProgress | undefined,
  podless: string | undefined,
): Omit<WeightsView, 'job'> {
  const base = { name: item.name, uri: item.weights.uri };
  const report = reportOf(pods);
  // The newest word first: another item of the same folder may have had it fetched again.
  const ready = readyOf(item, report) ?? reported;
  if (ready !== undefined) return { item, state: ready, fault: undefined };
  if (report === undefined || ('fault' in report && report.fault === 'Unreachable' && pods.some(unfinished))) {
    const trouble =
      pods
        .filter(unfinished)
        .map(podTrouble)
        .find((words) => words !== undefined) ?? podless;
    const message = trouble ?? (progress === undefined ? undefined : `${progress.bytesDone} of ${progress.bytesTotal} bytes are there`);
    const state = { ...base, phase: 'Resolving' as const, ...(message === undefined ? {} : { message: cut(message, 512) }) };
    return { item, state, fault: undefined, trouble };
  }
  const fault = faultOf(item, report);
  return { item, state: { ...base, phase: 'Failed', message: cut(fault.message, 512) }, fault };
}

/** A draft guesses the tokens of its target: with another tokenizer its guesses mean something else. */
function matched(views: readonly WeightsView[]): readonly WeightsView[] {
  const tokenizers = new Map(views.map(({ item, state }) => [`${item.owner} ${item.name}`, state.tokenizerHash]));
  return views.map((view) => {
    const { item, state } = view;
    const target = tokenizers.get(`${item.owner} ${item.expert}`);
    const alike = target === undefined || state.tokenizerHash === undefined || state.tokenizerHash === target;
    if (item.name !== draftOf(item.expert) || alike) return view;
    const message = `the draft has the tokenizer ${state.tokenizerHash} and expert ${item.expert} has ${target}: use a draft of the same family`;
    return { ...view, fault: { reason: 'WeightsTokenizerMismatch', message } };
  });
}

interface WeightsFacts {
  readonly pool: ExpertPool;
  /** Experts of other revisions. */
  readonly others: readonly Expert[];
  readonly pods: readonly Pod[];
  /** Progress of fetches, by the names of their pods. */
  readonly progress: ReadonlyMap<string, FetchProgress>;
  /** Events about pods and Jobs, by their names; default: none. */
  readonly notes?: ReadonlyMap<string, string>;
  /** Those of the jobs. */
  readonly images: Pick<Images, 'agent'>;
  /** Settings of the administrator for all operands; default: nothing. */
  readonly settings?: OperandSettings | undefined;
}

const keyOf = ({ name, hash }: WeightsItem): string => `${name} ${hash}`;

/** Weights of the spec, and those that other revisions of the pool were made from, each with its name in the status. */
function namedItems(pool: ExpertPool, others: readonly Expert[]): readonly (readonly [string, WeightsItem])[] {
  const own = weightsOf(pool);
  const known = new Set(own.map(keyOf));
  const more = new Map(
    weightsOf(pool, others)
      .filter((item) => !known.has(keyOf(item)))
      .map((item) => [keyOf(item), item]),
  );
  return [...own.map((item) => [item.name, item] as const), ...[...more.values()].map((item) => [nameBeside(item), item] as const)];
}

/** The item that the job of a folder is made from: the first one, with the digest that all of them demand. */
function inFolder(items: readonly WeightsItem[], { weights: { uri } }: WeightsItem): WeightsItem {
  const [first, ...more] = items.filter(({ weights }) => weights.uri === uri) as [WeightsItem, ...WeightsItem[]];
  const { digest } = first.weights;
  return more.every(({ weights }) => weights.digest === digest) ? first : { ...first, weights: { uri } };
}

/** Returns the state that the status reports of an item: also that of the same weights under another name. */
function reportedOf({ status }: ExpertPool, item: WeightsItem): ArtifactState | undefined {
  const known = status?.artifacts?.filter((state) => stillTrue(state, item)) ?? [];
  return known.find(({ name }) => name.replace(/@.*$/, '') === item.name) ?? known[0];
}

/**
 * Returns the facts about all weights that the spec asks for, in its order, then about those of `others`. Items of one uri have
 * one folder, and one job. Pure.
 */
export function weightsViews({
  pool,
  others,
  pods,
  progress,
  notes = new Map(),
  images,
  settings = {},
}: WeightsFacts): readonly WeightsView[] {
  const named = namedItems(pool, others);
  const items = named.map(([, item]) => item);
  const views = named.map(([name, item]) => {
    const job = weightsJob(pool, images.agent, inFolder(items, item), settings);
    const own = pods.filter(({ metadata }) => metadata.labels?.[weightsLabel] === job.object.metadata.labels[weightsLabel]);
    const now = own.map(({ metadata }) => progress.get(metadata.name)).find((known) => known !== undefined);
    const view = viewOf(item, own, reportedOf(pool, item), now, podlessBecause(job.object.metadata.name, notes));
    return { ...view, job, state: { ...view.state, name } };
  });
  return matched(views);
}

/** Returns the facts about one item. Pure. */
export function viewOfItem(views: readonly WeightsView[], item: WeightsItem): WeightsView | undefined {
  return views.find((view) => keyOf(view.item) === keyOf(item));
}

/** Reports whether all of these weights were found and read. Pure. */
export function weightsReady(views: readonly WeightsView[], items: readonly WeightsItem[]): boolean {
  return items.every((item) => {
    const view = viewOfItem(views, item);
    return view?.state.phase === 'Ready' && view.fault === undefined;
  });
}

/** `ArtifactsReady`; undefined for a pool without weights. Pure. */
export function artifactsCondition(views: readonly WeightsView[]): ConditionValue | undefined {
  if (views.length === 0) return undefined;
  const faults = views.flatMap(({ state, fault }) =>
    fault === undefined ? [] : [{ ...fault, message: `${state.name}: ${fault.message}` }],
  );
  const [first] = faults;
  if (first !== undefined)
    return { status: 'False', reason: first.reason, message: faults.map(({ message }) => message).join('; '), stalled: true };
  const troubles = views.flatMap(({ state, trouble }) => (trouble === undefined ? [] : [`${state.name}: ${trouble}`]));
  if (troubles.length > 0) return { status: 'False', reason: 'PodsNotReady', message: troubles.join('; ') };
  const open = views.filter(({ state }) => state.phase !== 'Ready').map(({ state }) => state.name);
  if (open.length === 0) return { status: 'True', reason: 'Found', message: 'all weights were found and read' };
  return { status: 'False', reason: 'Resolving', message: `weights of ${open.join(', ')} are being fetched or read` };
}

/** Progress of a fetch of weights. */
export interface FetchProgress {
  readonly bytesDone: number;
  readonly bytesTotal: number;
}

/** After which a fetch is asked again how far it is, ms. */
export const progressPollMs = 5_000;

const timeLimitMs = 2_000;

export const isFetching = ({ metadata, status }: Pod): boolean =>
  metadata.labels?.[labels.component] === 'weights' && status?.phase === 'Running' && status.podIP !== undefined;

/** Returns the progress of fetches, by pod name. Takes two seconds at most and never rejects: a pod that does not report is left out. */
export async function readProgress(
  pods: readonly Pod[],
  ask: AskInfo,
  clock: Clock,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, FetchProgress>> {
  using limit = deadline(clock, timeLimitMs, signal);
  const answers = await Promise.all(
    pods.filter(isFetching).map(async (pod) => {
      const origin = originOf(pod);
      const answer =
        origin === undefined ? undefined : await ask(origin, limit.signal, pod.metadata.namespace ?? '').catch(() => undefined);
      return [pod.metadata.name, progressOf(answer)] as const;
    }),
  );
  return new Map(answers.filter((answer): answer is readonly [string, FetchProgress] => answer[1] !== undefined));
}

/** Returns the progress that an answer holds; undefined when it holds none, and while there is nothing to fetch. */
function progressOf(answer: unknown): FetchProgress | undefined {
  const { bytesDone, bytesTotal } = (answer ?? {}) as Record<string, unknown>;
  const counts = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
  return counts(bytesDone) && counts(bytesTotal) && bytesTotal > 0 ? { bytesDone, bytesTotal } : undefined;
}

/** Label of a job and its pod: a hash of what it does. */
export const weightsLabel = 'agentfleet.dev/weights';

const credentialDir = '/etc/agentfleet/credential';

function environment(pool: ExpertPool, { weights, place }: WeightsItem): readonly V1EnvVar[] {
  const { storage, modelCache } = pool.spec;
  const { uri, digest } = weights;
  const variables: Readonly<Record<string, string | undefined>> = {
    AGENTFLEET_WEIGHTS_URI: uri,
    AGENTFLEET_WEIGHTS_FOLDER: place.folder,
    AGENTFLEET_WEIGHTS_DIGEST: digest,
    ...(uri.startsWith('s3:') && {
      AGENTFLEET_S3_ENDPOINT: storage?.endpoint,
      AGENTFLEET_S3_REGION: storage?.region,
      AGENTFLEET_S3_PATH_STYLE: String(storage?.forcePathStyle ?? false),
    }),
    ...(uri.startsWith('hf:') && modelCache?.hub !== undefined && { AGENTFLEET_HUB: `https://${modelCache.hub.host}` }),
    ...(credentialOf(pool, uri) !== undefined && { AGENTFLEET_CREDENTIAL_FILE: `${credentialDir}/value` }),
  };
  return Object.entries(variables).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]));
}

/** The Secret that what is fetched is asked for with. */
function credentialOf({ spec }: ExpertPool, uri: string): { readonly name: string; readonly key: string } | undefined {
  const name = uri.startsWith('s3:') ? spec.storage?.credential : uri.startsWith('hf:') ? spec.modelCache?.hub?.credential : undefined;
  return name === undefined ? undefined : spec.credentials?.find((known) => known.name === name)?.secretRef;
}

/** The container that reads weights, without what only the one that fetches them has. */
export function readingContainer(image: string, item: WeightsItem, digest: string | undefined): V1Container {
  const { weights, place } = item;
  const env = [
    // The files that were fetched are in the volume: here nothing is fetched.
    { name: 'AGENTFLEET_WEIGHTS_URI', value: item.fetched ? 'cache://' : weights.uri },
    { name: 'AGENTFLEET_WEIGHTS_FOLDER', value: place.folder },
    ...(digest === undefined ? [] : [{ name: 'AGENTFLEET_WEIGHTS_DIGEST', value: digest }]),
  ];
  return {
    name: `weights${item.name.endsWith('/draft') ? '-draft' : ''}`,
    image,
    args: ['weights'],
    env,
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '512Mi' } },
    securityContext: containerSecurity,
    volumeMounts: [{ name: place.volume.name, mountPath: place.mountPath, readOnly: true }],
  };
}

const hereabouts = (item: WeightsItem) => ({ name: item.place.volume.name, mountPath: item.place.mountPath });

/** The container of the job. */
function fetchingContainer(pool: ExpertPool, image: string, item: WeightsItem): V1Container {
  const reading: Pick<V1Container, keyof V1Container> = readingContainer(image, item, undefined);
  const secret = credentialOf(pool, item.weights.uri);
  return {
    ...reading,
    name: 'weights',
    env: [...environment(pool, item)],
    ports: [{ name: 'http', containerPort: expertPort, protocol: 'TCP' }],
    volumeMounts: [
      { ...hereabouts(item), ...(item.fetched ? {} : { readOnly: true }) },
      ...(secret === undefined ? [] : [{ name: 'credential', mountPath: credentialDir, readOnly: true }]),
    ],
  };
}

function volumesOf(pool: ExpertPool, { place, weights }: WeightsItem): V1Volume[] {
  const secret = credentialOf(pool, weights.uri);
  if (secret === undefined) return [place.volume];
  return [place.volume, { name: 'credential', secret: { secretName: secret.name, items: [{ key: secret.key, path: 'value' }] } }];
}

/** A job that ended is removed after so long, s: one whose weights are still lacking is made anew. */
const againSeconds = 600;

/**
 * The job that fetches weights where they have to be, and reads them: its termination message describes them. Pods of a job
 * cannot be changed, so its name and its label follow all that they are made of, and the room that they have: a change of
 * any of it is another job. Pure.
 */
function weightsJob(pool: ExpertPool, image: string, item: WeightsItem, settings: OperandSettings): Manifest {
  const own = poolLabels(pool, 'weights');
  const template = {
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: podSecurity,
      containers: [fetchingContainer(pool, image, item)],
      volumes: volumesOf(pool, item),
    },
  };
  const written = objectWith({ kind: 'Job', metadata: { name: '', labels: own }, spec: { template } }, settings);
  const hash = shortHash([written.spec, item.fetched ? pool.spec.modelCache?.size : undefined], 16);
  const labelled = { ...own, [weightsLabel]: hash };
  const spec: Omit<V1JobSpec, 'selector'> = {
    backoffLimit: 3,
    ttlSecondsAfterFinished: againSeconds,
    template: { metadata: { labels: labelled }, ...template },
  };
  return ownedBy(pool, resources.jobs, { name: weightsJobName(pool.metadata.name, item.name, hash), labels: labelled }, { spec });
}

/** The volume that weights are fetched into; it outlives the pool, as they are large. Pure. */
export function modelsVolume(pool: ExpertPool, items: readonly WeightsItem[]): readonly Manifest[] {
  const { modelCache } = pool.spec;
  if (modelCache === undefined || !items.some(({ fetched }) => fetched)) return [];
  const { size, storageClassName, accessMode } = modelCache;
  const spec = {
    accessModes: [accessMode],
    resources: { requests: { storage: size } },
    ...(storageClassName === undefined ? {} : { storageClassName }),
  };
  return [kept(pool, resources.persistentVolumeClaims, { name: modelsClaim(pool.metadata.name), component: 'weights' }, { spec })];
}

/** Jobs that read weights call out, and report to the operator how far they are. Pure. */
export function weightsWall(pool: ExpertPool, operatorNamespace: string): Manifest {
  const own = poolLabels(pool, 'weights');
  const spec = {
    podSelector: { matchLabels: own },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from: [operatorPeer(operatorNamespace)], ports: tcp(expertPort) }],
    egress: [{}],
  };
  return owned(pool, resources.networkPolicies, { name: modelsClaim(pool.metadata.name), component: 'weights' }, { spec });
}
