import type {
  V1Container,
  V1EnvVar,
  V1ObjectMeta,
  V1Pod,
  V1PodSpec,
  V1ResourceRequirements,
  V1Volume,
  V1VolumeMount,
  V1NetworkPolicy,
  V1NetworkPolicyIngressRule,
  V1NetworkPolicySpec,
  V1PodSecurityContext,
} from '@kubernetes/client-node';
import type { OwnerReference } from '@agentfleet/kube';
import type { SandboxTemplate } from '@agentfleet/protocol/api';
import { homeDir, keeperPort, workspaceDir } from '@agentfleet/protocol/keeper';
import { labels, sandboxFinalizer } from '@agentfleet/protocol/pool';
import { containerSecurity, podSecurity } from '../../../runtime/pod.ts';
import { podWith, type OperandSettings } from '../../../runtime/settings.ts';
import type { NodeChoice } from './capabilities.ts';

/** Secret with the key by which keeper and runner recognise each other, in every namespace with sandboxes. */
export const linkSecret = { name: 'agentfleet-link', key: 'key' } as const;

/** ConfigMap with the cluster's token signing keys, in every namespace with sandboxes. */
export const jwksConfigMap = 'agentfleet-jwks';

/** Folder of the runner and its link inside the user's container. */
const hiddenDir = '/.agentfleet';

/** Path at which the keeper sees /tmp of the user's container, to measure it. */
const scratchDir = '/mnt/tmp';
const storeDir = '/var/lib/agentfleet';

/** Inputs that decide a sandbox pod. Sizes are in bytes. */
export interface SandboxPodInput {
  readonly name: string;
  readonly namespace: string;
  /** Absent: it waits for one. */
  readonly task?: string;
  readonly pool?: string;
  /** The task; the garbage collector then deletes the pod after it, and our finalizer waits for its containers. */
  readonly owner?: OwnerReference;
  /** Image of keeper and runner. */
  readonly sandboxImage: string;
  /** The user's image; nothing needs to be installed in it. */
  readonly toolsImage: string;
  /** `sub` of the token that may drive this sandbox, e.g. `system:serviceaccount:pool:worker`. */
  readonly clients: readonly string[];
  /** `iss` of the cluster's tokens. */
  readonly issuer: string;
  readonly allowUnenforcedNetwork?: boolean;
  /** DNS servers that it must not reach. */
  readonly resolvers?: readonly string[];
  /** A Service of another namespace, by address and port, that it must not reach. */
  readonly sentinel?: string;
  readonly hostUsers?: boolean;
  readonly runtimeClassName?: string;
  /** Brings the runner by a volume of its image instead of an init container that copies it. */
  readonly runnerVolume?: boolean;
  readonly nodeSelector?: SandboxTemplate['nodeSelector'];
  readonly tolerations?: SandboxTemplate['tolerations'];
  /** Nodes that can do what it needs; absent: every one. */
  readonly nodes?: NodeChoice;
  readonly priorityClassName?: string;
  readonly podMetadata?: SandboxTemplate['podMetadata'];
  readonly toolsResources?: V1ResourceRequirements | SandboxTemplate['resources'];
  /** Bytes that workspace, home and /tmp may hold together; the keeper ends a command that goes over it. Default 2 GiB. */
  readonly workspaceBytes?: number;
  /** Bytes that snapshots, journals and the event log may hold. Default 4 GiB. */
  readonly storeBytes?: number;
  /** The PersistentVolumeClaim that holds workspace, home and store; absent: the disk of the node. */
  readonly claim?: string;
  /** Puts workspace or store on memory (a real size wall), for tests of a full disk. */
  readonly memoryBacked?: readonly ('workspace' | 'store')[];
  readonly keeperEnv?: Readonly<Record<string, string>>;
  /** The roots are layers that are switched: the pod then has users of its own, and needs more than *restricted* allows. */
  readonly layered?: boolean;
  /** Settings of the administrator for all pods; default: none. */
  readonly settings?: OperandSettings;
}

const gib = 1024 ** 3;

/**
 * On a disk a volume's limit is no wall: the kubelet evicts the pod, with its store and its log. The keeper's own limits,
 * which it checks every few seconds, must be reached before that.
 */
const slack = 2;

/**
 * The pod of one sandbox: an init container that brings the runner into the user's container,
 * the keeper, and the user's container itself. It satisfies the Pod Security level *restricted*.
 * Pure: equal inputs give equal pods.
 */
export function sandboxPod(input: SandboxPodInput): V1Pod {
  const spec = podWith(podSpec(input), input.settings ?? {});
  return { apiVersion: 'v1', kind: 'Pod', metadata: metadata(input), spec: input.layered === true ? withLayers(spec, input) : spec };
}

/** Bytes of the tree and of the store. */
function sizesOf({ workspaceBytes = 2 * gib, storeBytes = 4 * gib }: SandboxPodInput) {
  return { workspaceBytes, storeBytes };
}

function podSpec(input: SandboxPodInput): V1PodSpec {
  return {
    restartPolicy: 'Always', // a fresh tools container is one exit of the runner away
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    dnsPolicy: 'None',
    dnsConfig: { nameservers: ['127.0.0.1'] }, // the API demands one; nothing listens there
    terminationGracePeriodSeconds: 10,
    ...placement(input),
    // One owner for all files of both containers, so that the keeper reads a 0600 file too.
    securityContext: podSecurity,
    ...(input.runnerVolume === true ? {} : { initContainers: [installRunner(input)] }),
    containers: [keeper(input), tools(input)],
    volumes: volumes(input),
  };
}

function metadata({ name, namespace, task, pool, owner, podMetadata }: SandboxPodInput): V1ObjectMeta {
  return {
    name,
    namespace,
    // Ours come last: no template may take a sandbox out of its NetworkPolicy.
    labels: {
      ...podMetadata?.labels,
      [labels.component]: 'sandbox',
      ...(task === undefined ? {} : { [labels.task]: task }),
      ...(pool === undefined ? {} : { [labels.pool]: pool }),
    },
    ...(podMetadata?.annotations === undefined ? {} : { annotations: podMetadata.annotations }),
    ...(owner === undefined ? {} : { ownerReferences: [owner], finalizers: [sandboxFinalizer] }),
  };
}

/** Returns the fields that decide where and how the pod may run; a field that is not set keeps the cluster's default. */
function placement(input: SandboxPodInput): Partial<V1PodSpec> {
  const { hostUsers, runtimeClassName, nodeSelector, tolerations, priorityClassName } = input;
  const said = { hostUsers, runtimeClassName, nodeSelector, tolerations, priorityClassName };
  return { ...Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)), ...affinity(input) };
}

function affinity({ nodes }: SandboxPodInput): Pick<V1PodSpec, 'affinity'> {
  if (nodes === undefined) return {};
  const matchExpressions = [{ key: 'kubernetes.io/hostname', operator: nodes.operator, values: [...nodes.values] }];
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } } } };
}

function installRunner(input: SandboxPodInput): V1Container {
  return {
    name: 'install-runner',
    image: input.sandboxImage,
    command: ['/opt/agentfleet/runner', 'install', `${hiddenDir}/bin`],
    securityContext: containerSecurity,
    resources: { requests: { cpu: '10m', memory: '16Mi' }, limits: { memory: '64Mi' } },
    volumeMounts: [{ name: 'bin', mountPath: `${hiddenDir}/bin` }],
  };
}

function keeper(input: SandboxPodInput): V1Container {
  return {
    name: 'keeper',
    image: input.sandboxImage,
    securityContext: containerSecurity,
    ports: [{ name: 'http', containerPort: keeperPort }],
    env: keeperEnv(input),
    // A restore holds two trees of the largest size that the keeper lets in (`defaultEntries`).
    resources: { requests: { cpu: '50m', memory: '96Mi' }, limits: { memory: '768Mi' } },
    // The kubelet asks at once, and a process that does not listen yet would be reported as Unhealthy at every start.
    readinessProbe: { httpGet: { path: '/readyz', port: 'http' }, initialDelaySeconds: 1, periodSeconds: 1, failureThreshold: 3 },
    livenessProbe: { httpGet: { path: '/healthz', port: 'http' }, initialDelaySeconds: 5, periodSeconds: 10, timeoutSeconds: 5 },
    volumeMounts: [
      { name: 'link', mountPath: `${hiddenDir}/link` },
      kept(input, 'workspace', workspaceDir),
      kept(input, 'home', homeDir),
      kept(input, 'store', storeDir),
      // To be measured, not to be used.
      { name: 'tmp', mountPath: scratchDir, readOnly: true },
      { name: 'jwks', mountPath: '/etc/agentfleet/jwks', readOnly: true },
    ],
  };
}

function keeperEnv(input: SandboxPodInput): V1EnvVar[] {
  const { workspaceBytes, storeBytes } = sizesOf(input);
  const fixed: Record<string, string> = {
    AGENTFLEET_LISTEN: `0.0.0.0:${keeperPort}`,
    AGENTFLEET_LINK: `${hiddenDir}/link/keeper.sock`,
    AGENTFLEET_STORE: storeDir,
    AGENTFLEET_ROOTS: `workspace=${workspaceDir},home=${homeDir}`,
    AGENTFLEET_JWKS: '/etc/agentfleet/jwks/jwks.json',
    AGENTFLEET_ISSUER: input.issuer,
    AGENTFLEET_CLIENT: input.clients.join(','),
    AGENTFLEET_RUNNER: '/opt/agentfleet/runner',
    AGENTFLEET_WORKSPACE_LIMIT_BYTES: String(workspaceBytes),
    AGENTFLEET_SCRATCH: scratchDir,
    AGENTFLEET_STORE_LIMIT_BYTES: String(storeBytes),
    ...(input.allowUnenforcedNetwork === true ? { AGENTFLEET_ALLOW_UNENFORCED_NETWORK: 'true' } : {}),
    ...((input.resolvers ?? []).length === 0 ? {} : { AGENTFLEET_PROBE_DNS: (input.resolvers ?? []).join(',') }),
    ...(input.sentinel === undefined ? {} : { AGENTFLEET_PROBE_SENTINEL: `sentinel=${input.sentinel}` }),
    ...(input.runtimeClassName === undefined ? {} : { AGENTFLEET_RUNTIME_CLASS: input.runtimeClassName }),
    ...input.keeperEnv,
  };
  return [
    fromField('POD_NAME', 'metadata.name'),
    fromField('POD_NAMESPACE', 'metadata.namespace'),
    fromField('POD_UID', 'metadata.uid'),
    fromField('HOST_IP', 'status.hostIP'),
    linkKey,
    ...Object.entries(fixed).map(([name, value]) => ({ name, value })),
  ];
}

function tools(input: SandboxPodInput): V1Container {
  return {
    name: 'tools',
    image: input.toolsImage,
    command: [`${hiddenDir}/bin/runner`, 'serve'],
    securityContext: containerSecurity,
    env: [{ name: 'AGENTFLEET_LINK', value: `${hiddenDir}/link/keeper.sock` }, linkKey],
    // A quantity may be a number too; the type of client-node does not know it.
    resources: (input.toolsResources as V1ResourceRequirements | undefined) ?? {
      requests: { cpu: '100m', memory: '128Mi' },
      limits: { memory: '1Gi' },
    },
    volumeMounts: [
      { name: 'bin', mountPath: `${hiddenDir}/bin`, readOnly: true, ...(input.runnerVolume === true ? { subPath: 'opt/agentfleet' } : {}) },
      // Read-only, so that nothing in this container can replace the keeper's socket.
      { name: 'link', mountPath: `${hiddenDir}/link`, readOnly: true },
      kept(input, 'workspace', workspaceDir),
      kept(input, 'home', homeDir),
      { name: 'tmp', mountPath: '/tmp' },
    ],
  };
}

/** Name of the volume of a sandbox with storage. */
const claimVolume = 'data';

/** A mount of what outlives the pod where there is a claim. */
function kept({ claim }: SandboxPodInput, name: string, mountPath: string): V1VolumeMount {
  return claim === undefined ? { name, mountPath } : { name: claimVolume, mountPath, subPath: name };
}

function volumes(input: SandboxPodInput): V1Volume[] {
  const { workspaceBytes, storeBytes } = sizesOf(input);
  const scratch = (name: 'workspace' | 'home' | 'tmp' | 'store', bytes: number): V1Volume => {
    const memory = input.memoryBacked?.some((backed) => backed === name) === true;
    return { name, emptyDir: { ...(memory ? { medium: 'Memory' } : {}), sizeLimit: String(memory ? bytes : slack * bytes) } };
  };
  return [
    input.runnerVolume === true
      ? { name: 'bin', image: { reference: input.sandboxImage, pullPolicy: input.settings?.imagePullPolicy ?? 'IfNotPresent' } }
      : { name: 'bin', emptyDir: { sizeLimit: '64Mi' } },
    { name: 'link', emptyDir: { sizeLimit: '1Mi' } },
    scratch('tmp', workspaceBytes),
    ...(input.claim === undefined
      ? [scratch('workspace', workspaceBytes), scratch('home', workspaceBytes), scratch('store', storeBytes)]
      : [{ name: claimVolume, persistentVolumeClaim: { claimName: input.claim } }]),
    { name: 'jwks', configMap: { name: jwksConfigMap } },
  ];
}

/** Key of the link, which readers of pods cannot read: neither viewers of the namespace nor workers may read Secrets. */
const linkKey: V1EnvVar = { name: 'AGENTFLEET_LINK_KEY', valueFrom: { secretKeyRef: linkSecret } };

function fromField(name: string, fieldPath: string): V1EnvVar {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}

/** A NetworkPolicy as it goes over the wire: client-node's type spells the member `from` as `_from`. */
type NetworkPolicyManifest = Omit<V1NetworkPolicy, 'spec'> & {
  spec: Omit<V1NetworkPolicySpec, 'ingress'> & {
    ingress: (Omit<V1NetworkPolicyIngressRule, '_from'> & { from: NonNullable<V1NetworkPolicyIngressRule['_from']> })[];
  };
};

/**
 * The wall of all sandboxes in a namespace: nothing goes out, and only workers of the given
 * namespaces reach the keeper's port. Pure.
 */
export function sandboxNetworkPolicy(namespace: string, workerNamespaces: readonly string[]): NetworkPolicyManifest {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'agentfleet-sandbox', namespace },
    spec: {
      podSelector: { matchLabels: { [labels.component]: 'sandbox' } },
      policyTypes: ['Ingress', 'Egress'],
      egress: [],
      ingress: [
        {
          from: workerNamespaces.map((name) => ({
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
            podSelector: { matchLabels: { [labels.component]: 'worker' } },
          })),
          ports: [{ protocol: 'TCP', port: keeperPort }],
        },
      ],
    },
  };
}

/** Folder of the layers, in the keeper's container only. */
const layersDir = '/var/lib/agentfleet-layers';

/** The image's entry point: `runner mount` starts it, and keeps the right to mount to itself. */
const keeperProgram = [
  '/usr/local/bin/node',
  '--disable-sigusr1',
  '--liftoff-only',
  '--disable-warning=ExperimentalWarning',
  '--max-semi-space-size=1',
  '/opt/agentfleet/keeper.js',
];

/**
 * The pod with roots that are layers. Both containers are uid 0 of a user namespace of the pod, an unprivileged user of the node:
 * the kernel gives capabilities to no other uid. The keeper's may mount layers and read what their owner closed; the user's
 * may put mounts that it is handed in place. What either starts has no capability. No Pod Security level but *privileged*
 * lets such a pod in. Pure.
 */
function withLayers(spec: V1PodSpec, input: SandboxPodInput): V1PodSpec {
  const mount = kept(input, 'layers', layersDir);
  const { workspaceBytes, storeBytes } = sizesOf(input);
  const own = input.claim === undefined ? [{ name: 'layers', emptyDir: { sizeLimit: String(slack * (workspaceBytes + storeBytes)) } }] : [];
  const containers = spec.containers.map((container) =>
    container.name === 'keeper' ? layeredKeeper(container, mount) : layeredTools(container),
  );
  const securityContext = Object.assign({}, spec.securityContext, rootOfPod);
  return Object.assign({}, spec, { hostUsers: false, securityContext, containers, volumes: [...(spec.volumes ?? []), ...own] });
}

const rootOfPod: V1PodSecurityContext = { runAsNonRoot: false, runAsUser: 0, runAsGroup: 0, fsGroup: 0 };

function layeredKeeper(container: V1Container, layers: V1VolumeMount): V1Container {
  const env = [
    ...(container.env ?? []),
    mounts,
    { name: 'AGENTFLEET_SNAPSHOT_ENGINE', value: 'Overlay' },
    { name: 'AGENTFLEET_LAYERS', value: layersDir },
  ];
  const command = ['/opt/agentfleet/runner', 'mount', ...keeperProgram];
  const volumeMounts = [...(container.volumeMounts ?? []), layers];
  return Object.assign({}, container, { command, env, volumeMounts, ...capabilities(container, ['SYS_ADMIN', 'DAC_OVERRIDE']) });
}

function layeredTools(container: V1Container): V1Container {
  return Object.assign({}, container, { env: [...(container.env ?? []), mounts], ...capabilities(container, ['SYS_ADMIN']) });
}

/** Socket at which `runner mount` hands mounts to the runner. */
const mounts: V1EnvVar = { name: 'AGENTFLEET_MOUNTS', value: `${hiddenDir}/link/mounts.sock` };

function capabilities({ securityContext }: V1Container, add: readonly string[]): Pick<V1Container, 'securityContext'> {
  return { securityContext: Object.assign({}, securityContext, { capabilities: { drop: ['ALL'], add: [...add] } }) };
}
