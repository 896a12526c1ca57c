import type { ExpertPool } from '@agentfleet/protocol/api';
import { labels, turnstilePort } from '@agentfleet/protocol/pool';
import { turnsName, turnstileName } from '../../../pools/names.ts';
import { resources } from '../../../runtime/resources.ts';
import { containerSecurity, operatorLabels, podSecurity } from '../../../serving/index.ts';
import { vllmPort } from '../../../serving/vllm/index.ts';
import { homeOf, owned, poolLabels, type Manifest } from './manifest.ts';

/** On the pods of a turnstile: its name. */
export const turnstileLabel = 'agentfleet.dev/turnstile';

/** What says which of the engines of a pool on a slot has its turn. */
export interface Turnstile {
  readonly slot: string;
  /** Names of the experts whose engines take turns there, sorted. */
  readonly experts: readonly string[];
  /** Time that one may keep the GPU to itself while others wait. */
  readonly turnSeconds: number;
  /** Time until one has to have loaded. */
  readonly loadSeconds: number;
}

/** Labels of its pods. Pure. */
export function turnstileLabels(pool: ExpertPool, slot: string): Record<string, string> {
  return { ...poolLabels(pool, 'turnstile'), [turnstileLabel]: turnstileName(pool.metadata.name, slot) };
}

/** Where its members ask. Pure. */
export function turnstileUrl(pool: ExpertPool, slot: string): string {
  return `http://${turnstileName(pool.metadata.name, slot)}.${homeOf(pool)}.svc:${turnstilePort}`;
}

function container(image: string, { turnSeconds, loadSeconds }: Turnstile): object {
  const health = { httpGet: { path: '/healthz', port: 'http' } };
  return {
    name: 'turnstile',
    image,
    imagePullPolicy: 'IfNotPresent',
    args: ['turnstile'],
    ports: [{ name: 'http', containerPort: turnstilePort, protocol: 'TCP' }],
    env: [
      { name: 'AGENTFLEET_TURN_SECONDS', value: String(turnSeconds) },
      { name: 'AGENTFLEET_LOAD_SECONDS', value: String(loadSeconds) },
    ],
    readinessProbe: { ...health, periodSeconds: 2, timeoutSeconds: 3, failureThreshold: 3 },
    livenessProbe: { ...health, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
    resources: { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '256Mi' } },
    securityContext: containerSecurity,
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
}

/** One pod, and never two of them: it keeps nothing, and what it did not see it asks the engines. Nothing of the operator is in it. */
function deployment(pool: ExpertPool, image: string, turnstile: Turnstile): object {
  const own = turnstileLabels(pool, turnstile.slot);
  return {
    replicas: 1,
    revisionHistoryLimit: 2,
    strategy: { type: 'Recreate' },
    selector: { matchLabels: own },
    template: {
      metadata: { labels: own },
      spec: {
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        terminationGracePeriodSeconds: 10,
        securityContext: podSecurity,
        containers: [container(image, turnstile)],
      },
    },
  };
}

const port = (number: number): object => ({ protocol: 'TCP', port: number });

/** The pods of its members, also of those that are leaving. */
function members(pool: ExpertPool, { experts }: Turnstile): object {
  return { matchLabels: poolLabels(pool, 'expert'), matchExpressions: [{ key: labels.expert, operator: 'In', values: [...experts] }] };
}

/** It hears its members, and the operator and Prometheus as other servers do; it speaks to the engines of its members. */
function wall({ pool, operatorNamespace, prometheusNamespace }: Site, turnstile: Turnstile): object {
  const inNamespace = (name: string): object => ({ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } });
  const operator = { ...inNamespace(operatorNamespace), podSelector: { matchLabels: { ...operatorLabels } } };
  const asking = [operator, ...(prometheusNamespace === undefined ? [] : [inNamespace(prometheusNamespace)])];
  return {
    podSelector: { matchLabels: turnstileLabels(pool, turnstile.slot) },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from: [{ podSelector: members(pool, turnstile) }, ...asking], ports: [port(turnstilePort)] }],
    egress: [{ to: [{ podSelector: members(pool, turnstile) }], ports: [port(vllmPort)] }],
  };
}

/** Beside what experts hear: the turnstile at their engines; and they speak to it, by its name. */
function membersWall(pool: ExpertPool, turnstile: Turnstile): object {
  const it = [{ podSelector: { matchLabels: turnstileLabels(pool, turnstile.slot) } }];
  const dns = {
    to: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } }],
    ports: [{ protocol: 'UDP', port: 53 }, port(53)],
  };
  return {
    podSelector: members(pool, turnstile),
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from: it, ports: [port(vllmPort)] }],
    egress: [{ to: it, ports: [port(turnstilePort)] }, dns],
  };
}

/** Where turnstiles are made. */
export interface Site {
  readonly pool: ExpertPool;
  /** Of our servers. */
  readonly image: string;
  readonly operatorNamespace: string;
  readonly prometheusNamespace?: string | undefined;
}

/** The objects of a turnstile. Pure. */
export function turnstileManifests(site: Site, turnstile: Turnstile): readonly Manifest[] {
  const { pool, image } = site;
  const { slot } = turnstile;
  const it = { name: turnstileName(pool.metadata.name, slot), component: 'turnstile' } as const;
  const ports = [{ name: 'http', ...port(turnstilePort), targetPort: 'http' }];
  const service = { type: 'ClusterIP', selector: turnstileLabels(pool, slot), ports };
  return [
    owned(pool, resources.networkPolicies, it, { spec: wall(site, turnstile) }),
    owned(pool, resources.networkPolicies, { ...it, name: turnsName(pool.metadata.name, slot) }, { spec: membersWall(pool, turnstile) }),
    owned(pool, resources.services, it, { spec: service }),
    owned(pool, resources.deployments, it, { spec: deployment(pool, image, turnstile) }),
  ];
}
