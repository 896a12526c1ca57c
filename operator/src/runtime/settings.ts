import type { Read } from '@agentfleet/protocol/environment';
import type { V1Container, V1EnvVar, V1PodSpec, V1Toleration, V1Volume, V1VolumeMount } from '@kubernetes/client-node';
import { isRecord, type KubeObject, type ResourceClient } from '@agentfleet/kube';
import { authoritiesConfigMap, authoritiesFile, labels } from '@agentfleet/protocol/pool';
import { tracingEnvironment } from '@agentfleet/protocol/tracing';
import { dirname } from 'node:path';
import type { PersistentVolumeClaim } from './resources.ts';

/** Members of a type that the client declares as a class. */
export type Plain<T> = Pick<T, keyof T>;

/** The HTTP proxy between the cluster and everybody else. */
interface ProxySettings {
  /** `http://host:port`, perhaps with a name and a password. */
  readonly url: string;
  /** Hosts that are reached without it, as NO_PROXY has them: names, and `.name` with all that is below. */
  readonly except: readonly string[];
}

/** Settings of the administrator for what the operator makes, beside those of pools and tasks. */
export interface OperandSettings {
  readonly imagePullPolicy?: string;
  /** Names of Secrets, in the namespace of each pod. */
  readonly imagePullSecrets?: readonly string[];
  /** Fixed: the user of our images. Cluster: whom the cluster assigns, as OpenShift does for each namespace. */
  readonly users?: 'Fixed' | 'Cluster';
  /** For pods of pools and verifiers that sit on no GPU; sandboxes have their template. */
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly V1Toleration[];
  readonly priorityClassName?: string;
  /** Of the accounts that workers run as. */
  readonly serviceAccountAnnotations?: Readonly<Record<string, string>>;
  readonly proxy?: ProxySettings;
  /** Whether all programs of ours trust the ConfigMap `agentfleet-ca` of their namespace. */
  readonly privateAuthorities?: boolean;
  /** Target for the spans of tasks of workers and gateways; other pods reach no such address, and the operator records for them. */
  readonly tracing?: { readonly endpoint: string; readonly sampleRatio: number };
  /** The volume of a pool without object storage. */
  readonly artifacts?: { readonly size?: string; readonly storageClassName?: string };
}

const known: Readonly<Record<keyof OperandSettings, (value: unknown) => boolean>> = {
  imagePullPolicy: (value) => typeof value === 'string',
  imagePullSecrets: isTexts,
  users: (value) => value === 'Fixed' || value === 'Cluster',
  nodeSelector: isTextMap,
  tolerations: (value) => Array.isArray(value) && value.every(isRecord),
  priorityClassName: (value) => typeof value === 'string',
  serviceAccountAnnotations: isTextMap,
  proxy: (value) => isRecord(value) && typeof value['url'] === 'string' && isHttp(value['url']) && isTexts(value['except']),
  privateAuthorities: (value) => typeof value === 'boolean',
  tracing: (value) =>
    isRecord(value) && typeof value['endpoint'] === 'string' && isReceiver(value['endpoint']) && isShare(value['sampleRatio']),
  artifacts: isTextMap,
};

function isTextMap(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((one) => typeof one === 'string');
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function isHttp(text: string): boolean {
  return URL.canParse(text) && new URL(text).protocol === 'http:';
}

function isReceiver(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function isShare(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= 1;
}

/** Settings as the chart writes them, JSON. @throws Error that names the member and its cure */
export function parseSettings(text: string): OperandSettings {
  const value = JSON.parse(text) as unknown;
  if (!isRecord(value)) throw new Error('it is not an object');
  for (const [name, content] of Object.entries(value)) {
    if (!Object.hasOwn(known, name)) throw new Error(`${name} is not known; there are ${Object.keys(known).join(', ')}`);
    if (!known[name as keyof OperandSettings](content))
      throw new Error(`${name} is ${JSON.stringify(content)}; correct operands of the values of the chart`);
  }
  return value;
}

/** The proxy to a host; undefined: it is reached without one. A name without dots is one of the cluster. Pure. */
export function proxyFor({ proxy }: OperandSettings, host: string): string | undefined {
  if (proxy === undefined || !/[.:]/.test(host)) return undefined;
  const names = proxy.except.map((name) => name.replace(/^\*?\./, ''));
  return names.some((name) => name !== '' && (host === name || host.endsWith(`.${name}`))) ? undefined : proxy.url;
}

/**
 * A pod with what holds for all that the operator makes: where images come from, and as whom it runs. The pod's own fields
 * stay. Without settings the pod is as before, so that an upgrade replaces none. Pure.
 */
export function podWith<T extends Plain<V1PodSpec>>(pod: T, settings: OperandSettings): T {
  const { imagePullPolicy = 'IfNotPresent', imagePullSecrets = [] } = settings;
  const policy = (container: Plain<V1Container>): V1Container => ({ ...container, imagePullPolicy });
  const { initContainers, containers, securityContext } = pod;
  return {
    ...pod,
    ...(imagePullSecrets.length === 0 ? {} : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(policy) }),
    containers: containers.map(policy),
    ...(settings.users === 'Cluster' && securityContext !== undefined && { securityContext: assigned(securityContext) }),
  };
}

/** The cluster names users and groups. */
function assigned(security: NonNullable<V1PodSpec['securityContext']>): NonNullable<V1PodSpec['securityContext']> {
  const { runAsUser: _, runAsGroup: _group, fsGroup: _files, ...kept }: Plain<typeof security> = security;
  return kept;
}

/** Sets the placement of pods of pools that sit on no GPU; the plan places the others. */
function scheduledWith<T extends Plain<V1PodSpec>>(pod: T, settings: OperandSettings): T {
  const { nodeSelector = {}, tolerations = [], priorityClassName } = settings;
  const isPlaced = pod.nodeSelector !== undefined || pod.resourceClaims !== undefined || pod.runtimeClassName !== undefined;
  return {
    ...pod,
    ...(priorityClassName === undefined ? {} : { priorityClassName }),
    ...(isPlaced || Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector: { ...nodeSelector } }),
    ...(isPlaced || tolerations.length === 0 ? {} : { tolerations: [...(pod.tolerations ?? []), ...tolerations] }),
  };
}

const authorities = {
  volume: { name: 'authorities', configMap: { name: authoritiesConfigMap, optional: true } },
  mount: { name: 'authorities', mountPath: dirname(authoritiesFile), readOnly: true },
} as const satisfies { readonly volume: V1Volume; readonly mount: V1VolumeMount };

/** Programs of ours that call hosts outside of the cluster by their environment; the gateway has its proxies in its models. */
const callers: ReadonlySet<string> = new Set(['worker', 'weights']);

function proxyEnvironment({ proxy }: OperandSettings): readonly V1EnvVar[] {
  if (proxy === undefined) return [];
  const except = proxy.except.join(',');
  return [
    { name: 'HTTPS_PROXY', value: proxy.url },
    { name: 'HTTP_PROXY', value: proxy.url },
    { name: 'NO_PROXY', value: except },
  ];
}

function tracingVariables({ tracing }: OperandSettings): readonly V1EnvVar[] {
  if (tracing === undefined) return [];
  const { endpoint, sampleRatio } = tracing;
  return [
    { name: tracingEnvironment.endpoint, value: endpoint },
    { name: tracingEnvironment.sampleRatio, value: String(sampleRatio) },
  ];
}

/** The environment of programs that call out: proxies for some, authorities for those and for gateways. */
function outsideWith<T extends Plain<V1PodSpec>>(pod: T, component: string, settings: OperandSettings): T {
  const isCaller = callers.has(component);
  if (!isCaller && component !== 'gateway') return pod;
  const env = [
    ...(isCaller ? proxyEnvironment(settings) : []),
    ...(component === 'weights' ? [] : tracingVariables(settings)),
    // Jobs fetch by Node's own client.
    ...(component === 'weights' && settings.proxy !== undefined ? [{ name: 'NODE_USE_ENV_PROXY', value: '1' }] : []),
    ...(settings.privateAuthorities === true ? [{ name: 'NODE_EXTRA_CA_CERTS', value: authoritiesFile }] : []),
  ];
  const { volumes = [], containers } = pod;
  // Workers and gateways may have volumes of this name of their own: the gateway's are those of its models.
  const mounts = settings.privateAuthorities === true && component !== 'worker';
  const name = component === 'gateway' ? 'private-authorities' : authorities.volume.name;
  const more = { volume: { ...authorities.volume, name }, mount: { ...authorities.mount, name } };
  return {
    ...pod,
    containers: containers.map((container: Plain<V1Container>) => ({
      ...container,
      ...(env.length === 0 ? {} : { env: [...(container.env ?? []), ...env] }),
      ...(mounts ? { volumeMounts: [...(container.volumeMounts ?? []), more.mount] } : {}),
    })),
    ...(mounts ? { volumes: [...volumes, more.volume] } : {}),
  };
}

interface Template {
  readonly spec?: V1PodSpec;
}

function templateWith(object: Written, settings: OperandSettings): Written {
  const spec = object['spec'] as { readonly template?: Template };
  const pod = spec.template?.spec;
  if (pod === undefined) return object;
  const component = object.metadata.labels?.[labels.component] ?? '';
  const changed = podWith(scheduledWith(outsideWith(pod, component, settings), settings), settings);
  return { ...object, spec: { ...spec, template: { ...spec.template, spec: changed } } };
}

function accountWith(object: Written, { serviceAccountAnnotations: more }: OperandSettings): Written {
  if (more === undefined || object.metadata.labels?.[labels.component] !== 'worker') return object;
  const { annotations } = object.metadata;
  return { ...object, metadata: { ...object.metadata, annotations: { ...annotations, ...more } } };
}

/** A claim that is there keeps its size and its class: neither can be changed back. */
function claimWith(object: Written, { artifacts }: OperandSettings, present: PersistentVolumeClaim | undefined): Written {
  if (object.metadata.labels?.[labels.component] !== 'worker') return object;
  const { resources, storageClassName } = present?.spec ?? {};
  const kept = {
    ...(resources !== undefined && { resources }),
    ...(storageClassName !== undefined && { storageClassName }),
  };
  const wanted = {
    ...(artifacts?.size !== undefined && { resources: { requests: { storage: artifacts.size } } }),
    ...(artifacts?.storageClassName !== undefined && { storageClassName: artifacts.storageClassName }),
  };
  return { ...object, spec: { ...(object['spec'] as object), ...(present === undefined ? wanted : kept) } };
}

/** An object as it is applied. */
export interface Written {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** An object of a pool or a verifier with the settings of the administrator; `present`: what is there of it now. Pure. */
export function objectWith<T extends Written>(object: T, settings: OperandSettings, present?: KubeObject): T {
  const made: Readonly<Record<string, () => Written>> = {
    Deployment: () => templateWith(object, settings),
    Job: () => templateWith(object, settings),
    ServiceAccount: () => accountWith(object, settings),
    PersistentVolumeClaim: () => claimWith(object, settings, present),
  };
  return (made[object.kind]?.() ?? object) as T;
}

/** Environment variable with the namespaces that a process of the operator's image follows; empty: the whole cluster. */
const watchVariable = 'AGENTFLEET_WATCH_NAMESPACES';

/** Names between commas, each once. @throws with the name that is no namespace */
export function parseNamespaces(value: string): readonly string[] {
  const names = value.split(',').filter((name) => name !== '');
  const bad = names.find((name) => !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name));
  if (bad !== undefined) throw new Error(`"${bad}" is not a namespace; write names such as agentfleet-pools, separated by commas`);
  return [...new Set(names)];
}

/** The namespaces that are followed, that of the process among them; undefined: the whole cluster. */
export function readWatched(read: Read, own: string): readonly string[] | undefined {
  const named = read<readonly string[]>(watchVariable, parseNamespaces, []);
  return named.length === 0 ? undefined : [...new Set([...named, own])];
}

/** One list for each namespace that is followed, or the one of the whole cluster. Pure. */
export function scopesOf(namespaces: readonly string[] | undefined): readonly { readonly namespace?: string }[] {
  return namespaces?.map((namespace) => ({ namespace })) ?? [{}];
}

/** The objects of all namespaces that are followed, as the server has them now. */
export async function listFollowed<T extends KubeObject>(
  client: ResourceClient<T>,
  namespaces: readonly string[] | undefined,
  options: { readonly labelSelector?: string; readonly signal?: AbortSignal },
): Promise<readonly T[]> {
  return (await Promise.all(scopesOf(namespaces).map((scope) => client.list({ ...options, ...scope })))).flat();
}
