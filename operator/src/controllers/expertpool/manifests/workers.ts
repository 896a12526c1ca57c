import type { V1Container, V1DeploymentSpec, V1EnvVar, V1PodSpec, V1Volume, V1VolumeMount } from '@kubernetes/client-node';
import type { ExpertPool } from '@agentfleet/protocol/api';
import {
  artifactsDir,
  authoritiesConfigMap,
  authoritiesFile,
  credentialsDir,
  workerEnvironment,
  workerPort,
} from '@agentfleet/protocol/pool';
import { dirname } from 'node:path';
import { artifactsClaim, briefName, workerServiceAccount, workersName } from '../../../pools/names.ts';
import { resources } from '../../../runtime/resources.ts';
import { owned, poolLabels, type Manifest } from '../../../operands/manifest.ts';
import { containerSecurity, podSecurity, probes, resourcesOf } from '../../../serving/index.ts';

/** Seconds in which a worker ends its step, checkpoints and hands its tasks over. */
const graceSeconds = 60;

/** Clones and what is on its way to storage, for each task that runs at once. The kubelet evicts a pod that holds more. */
const scratchGiBPerTask = 1;

const defaultResources = { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '1Gi' } };

interface Mounted {
  readonly volume: V1Volume;
  readonly mount: V1VolumeMount;
}

function scratch(pool: ExpertPool): Mounted {
  const gib = Math.max(2, pool.spec.workers.concurrency * scratchGiBPerTask);
  return { volume: { name: 'tmp', emptyDir: { sizeLimit: `${gib}Gi` } }, mount: { name: 'tmp', mountPath: '/tmp' } };
}

/**
 * One file for each credential, named like it, but for those that are withheld. A Secret that is missing keeps the pods from
 * starting, and they say so.
 */
function credentials(pool: ExpertPool, withheld: ReadonlySet<string>): readonly Mounted[] {
  const all = (pool.spec.credentials ?? []).filter(({ name }) => !withheld.has(name));
  if (all.length === 0) return [];
  const sources = all.map(({ name, secretRef }) => ({ secret: { name: secretRef.name, items: [{ key: secretRef.key, path: name }] } }));
  return [
    {
      volume: { name: 'credentials', projected: { defaultMode: 0o440, sources } },
      mount: { name: 'credentials', mountPath: credentialsDir, readOnly: true },
    },
  ];
}

const authorities: Mounted = {
  volume: { name: 'authorities', configMap: { name: authoritiesConfigMap, optional: true } },
  mount: { name: 'authorities', mountPath: dirname(authoritiesFile), readOnly: true },
};

function artifacts(pool: ExpertPool): readonly Mounted[] {
  if (pool.spec.storage !== undefined) return [];
  const claimName = artifactsClaim(pool.metadata.name);
  return [
    {
      volume: { name: 'artifacts', persistentVolumeClaim: { claimName } },
      mount: { name: 'artifacts', mountPath: artifactsDir },
    },
  ];
}

function environment(pool: ExpertPool): V1EnvVar[] {
  const field = (name: string, fieldPath: string): V1EnvVar => ({ name, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } });
  return [
    field(workerEnvironment.podName, 'metadata.name'),
    field(workerEnvironment.podNamespace, 'metadata.namespace'),
    field(workerEnvironment.podUid, 'metadata.uid'),
    field(workerEnvironment.serviceAccount, 'spec.serviceAccountName'),
    { name: workerEnvironment.brief, value: briefName(pool.metadata.name) },
    { name: workerEnvironment.concurrency, value: String(pool.spec.workers.concurrency) },
  ];
}

function worker(pool: ExpertPool, image: string, mounted: readonly Mounted[]): V1Container {
  return {
    name: 'worker',
    image,
    ports: [{ name: 'http', containerPort: workerPort, protocol: 'TCP' }],
    env: environment(pool),
    ...probes('http'),
    resources: resourcesOf(pool.spec.workers.resources, defaultResources),
    securityContext: containerSecurity,
    volumeMounts: mounted.map(({ mount }) => mount),
  };
}

/**
 * Workers that share a volume of mode ReadWriteOnce must be on one node; without such a volume they are spread, so that
 * a node takes few of them along.
 */
function scheduling(pool: ExpertPool): Pick<V1PodSpec, 'affinity' | 'topologySpreadConstraints'> {
  const labelSelector = { matchLabels: poolLabels(pool, 'worker') };
  const topologyKey = 'kubernetes.io/hostname';
  if (pool.spec.storage === undefined) {
    return { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector, topologyKey }] } } };
  }
  return { topologySpreadConstraints: [{ maxSkew: 1, topologyKey, whenUnsatisfiable: 'ScheduleAnyway', labelSelector }] };
}

/**
 * The pods that run the tasks of a pool; `withheld` are credentials that they do not get. Nothing of the brief is in here: they
 * watch it, so a change replaces no pod. Pure.
 */
export function workersDeployment(pool: ExpertPool, image: string, withheld: ReadonlySet<string> = new Set()): Manifest {
  const own = poolLabels(pool, 'worker');
  const mounted = [scratch(pool), ...credentials(pool, withheld), authorities, ...artifacts(pool)];
  const spec: V1DeploymentSpec = {
    replicas: pool.spec.workers.replicas,
    revisionHistoryLimit: 2,
    selector: { matchLabels: own },
    template: {
      metadata: { labels: own },
      spec: {
        serviceAccountName: workerServiceAccount(pool.metadata.name),
        automountServiceAccountToken: true,
        enableServiceLinks: false,
        terminationGracePeriodSeconds: graceSeconds,
        ...scheduling(pool),
        securityContext: podSecurity,
        containers: [worker(pool, image, mounted)],
        volumes: mounted.map(({ volume }) => volume),
      },
    },
  };
  return owned(pool, resources.deployments, { name: workersName(pool.metadata.name), component: 'worker' }, { spec });
}

/** Keeps a drain of nodes from ending all workers at once; a single one would only block the drain. Pure. */
export function workersBudget(pool: ExpertPool): readonly Manifest[] {
  if (pool.spec.workers.replicas < 2) return [];
  const spec = {
    maxUnavailable: 1,
    unhealthyPodEvictionPolicy: 'AlwaysAllow',
    selector: { matchLabels: poolLabels(pool, 'worker') },
  };
  return [owned(pool, resources.podDisruptionBudgets, { name: workersName(pool.metadata.name), component: 'worker' }, { spec })];
}
