import type { V1Container, V1DeploymentSpec, V1EnvVar, V1ResourceRequirements, V1Volume } from '@kubernetes/client-node';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { expertPort } from '@agentfleet/protocol/pool';
import { containerSecurity, podSecurity, probes, resourcesOf } from '../runtime/pod.ts';

/** Labels of the operator's pods, which the chart gives them. */
export const operatorLabels = { 'app.kubernetes.io/name': 'agentfleet', 'app.kubernetes.io/component': 'operator' } as const;

/** Labels of the pods of the results server, which the chart gives them. */
export const resultsLabels = { 'app.kubernetes.io/name': 'agentfleet', 'app.kubernetes.io/component': 'results' } as const;

/** Pods of one inference server; `labels` are theirs and what finds them. */
export interface ServerPods {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly image: string;
  /** Words of its command line; default: none. */
  readonly args?: readonly string[];
  /** Port on which it listens; default: as experts do. */
  readonly port?: number;
  readonly replicas: number;
  /** Time from SIGTERM until they are killed; default: 20 s, as a server drains for 10. */
  readonly graceSeconds?: number;
  /** Whether they are spread over nodes, so that one node takes few of them along. */
  readonly isSpread?: boolean;
  readonly environment: Readonly<Record<string, string>>;
  /** The value of the spec; where it sets none, `fallback`. */
  readonly resources: ExpertPool['spec']['workers']['resources'];
  readonly fallback: V1ResourceRequirements;
  readonly mounted?: { readonly volume: V1Volume; readonly path: string };
}

function container({ image, args, port = expertPort, environment, resources, fallback, mounted }: ServerPods): V1Container {
  const env: V1EnvVar[] = Object.entries(environment).map(([name, value]) => ({ name, value }));
  return {
    name: 'inference',
    image,
    ...(args === undefined ? {} : { args: [...args] }),
    ports: [{ name: 'http', containerPort: port, protocol: 'TCP' }],
    env,
    ...probes('http'),
    resources: resourcesOf(resources, fallback),
    securityContext: containerSecurity,
    // A server that refuses its environment logs the reason in its last lines; the status quotes them.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    ...(mounted === undefined ? {} : { volumeMounts: [{ name: mounted.volume.name, mountPath: mounted.path, readOnly: true }] }),
  };
}

/** The Deployment of a server. Lists that would be empty are left out: the API server drops them, which would look like a change. Pure. */
export function serverDeployment(pods: ServerPods): V1DeploymentSpec {
  const { labels, annotations, replicas, graceSeconds = 20, isSpread = false, mounted } = pods;
  const labelSelector = { matchLabels: { ...labels } };
  const spread = { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway', labelSelector };
  return {
    replicas,
    revisionHistoryLimit: 2,
    selector: { matchLabels: { ...labels } },
    template: {
      metadata: { labels: { ...labels }, ...(annotations === undefined ? {} : { annotations: { ...annotations } }) },
      spec: {
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        terminationGracePeriodSeconds: graceSeconds,
        ...(isSpread && { topologySpreadConstraints: [spread] }),
        securityContext: podSecurity,
        containers: [container(pods)],
        ...(mounted === undefined ? {} : { volumes: [mounted.volume] }),
      },
    },
  };
}

/** The Service in front of a server; `engine` is the port of an engine beside it that others ask too. Pure. */
export function serverService(selector: Readonly<Record<string, string>>, engine?: number): object {
  const ports = [{ name: 'http', port: expertPort, protocol: 'TCP', targetPort: 'http' }];
  const more = engine === undefined ? [] : [{ name: 'engine', port: engine, protocol: 'TCP', targetPort: engine }];
  return { type: 'ClusterIP', selector: { ...selector }, ports: [...ports, ...more] };
}

/** Address of a server inside the cluster. */
export function serverUrl(service: string, namespace: string): string {
  return `http://${service}.${namespace}.svc:${expertPort}`;
}

/** The spec of a NetworkPolicy. */
export interface ServerWall {
  readonly podSelector: object;
  readonly policyTypes: readonly string[];
  readonly ingress: readonly object[];
}

/** TCP ports of a rule of a NetworkPolicy. */
export const tcp = (...ports: readonly number[]): readonly object[] => ports.map((port) => ({ protocol: 'TCP', port }));

/** A peer of such a rule: pods of the policy's namespace, of another one, or all of that. */
export function peer({ pods, namespace }: { readonly pods?: Readonly<Record<string, string>>; readonly namespace?: string }): object {
  return {
    ...(namespace !== undefined && { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } }),
    ...(pods !== undefined && { podSelector: { matchLabels: { ...pods } } }),
  };
}

/** The operator as a peer. */
export const operatorPeer = (namespace: string): object => peer({ namespace, pods: operatorLabels });

/** A wall that lets one more peer in, at these ports. Pure. */
export function heardBy(wall: ServerWall, from: object, ...ports: readonly number[]): ServerWall {
  return { ...wall, ingress: [...wall.ingress, { from: [from], ports: tcp(...ports) }] };
}

/**
 * Returns the rules of a server, which accepts these workers of its namespace, and the operator, which asks what code and weights
 * answer. It connects to none: no rule allows egress. Pure.
 */
export function serverWall(
  pods: Readonly<Record<string, string>>,
  workers: Readonly<Record<string, string>>,
  operatorNamespace: string,
): ServerWall {
  return {
    podSelector: { matchLabels: { ...pods } },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from: [peer({ pods: workers }), operatorPeer(operatorNamespace)], ports: tcp(expertPort) }],
  };
}

/** The NetworkPolicy of pods that do nothing: no ingress, no egress. Empty lists would be dropped by the API server. Pure. */
export function closedWall(pods: Readonly<Record<string, string>>): Omit<ServerWall, 'ingress'> {
  return { podSelector: { matchLabels: { ...pods } }, policyTypes: ['Ingress', 'Egress'] };
}

/**
 * A wall whose pods are heard by a Prometheus too, at their own port and at those of engines beside them. Metrics have no port
 * of their own: it reaches all that they serve. Pure.
 */
export function heardByPrometheus(wall: ServerWall, namespace: string | undefined, engines: readonly number[] = []): ServerWall {
  return namespace === undefined ? wall : heardBy(wall, peer({ namespace }), expertPort, ...engines);
}
