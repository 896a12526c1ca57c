import type { V1Container, V1DeploymentSpec, V1EnvVar, V1PodSpec } from '@kubernetes/client-node';
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
import { disruptionBudget, owned, poolLabels, type Manifest } from '../../../operands/manifest.ts';
import { containerSecurity, podSecurity, probes, resourcesOf, type Mounted } from '../../../serving/index.ts';
import { credentialFiles, mounted } from './access.ts';

/** Seconds in which a worker ends its step, checkpoints and hands its tasks over. */
const graceSeconds = 60;

/** Clones and what is on its way to storage, for each task that runs at once. The kubelet evicts a pod that holds more. */
const scratchGiBPerTask = 1;

const defaultResources = { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '1Gi' } };

function scratch(pool: ExpertPool): Mounted {
  const gib = Math.max(2, pool.spec.workers.concurrency * scratchGiBPerTask);
  return mounted({ name: 'tmp', emptyDir: { sizeLimit: `${gib}Gi` } }, '/tmp', {});
}

const authorities = mounted({ name: 'authorities', configMap: { name: authoritiesConfigMap, optional: true } }, dirname(authoritiesFile));

function artifacts(pool: ExpertPool): readonly Mounted[] {
  if (pool.spec.storage !== undefined) return [];
  const claimName = artifactsClaim(pool.metadata.name);
  return [mounted({ name: 'artifacts', persistentVolumeClaim: { claimName } }, artifactsDir, {})];
}

function environment(pool: ExpertPool): V1EnvVar[] {
  const field = (name: string, fieldPath: string): V1EnvVar => ({ name, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } });
  return [
    field(workerEnvironment.podName, 'metadata.name'),
    field(workerEnvironment.podNamespace, 'metadata.namespace'),
    field(workerEnvironment.podUid, 'metadata.uid'),
    field(workerEnvironment.serviceAccount, 'spec.serviceAccountName'),
    { name: workerEnvironment.brief, value: briefName(pool.metadata.name) },
    { name: workerEnvironment.poolUid, value: pool.metadata.uid ?? '' },
    { name: workerEnvironment.concurrency, value: String(pool.spec.workers.concurrency) },
  ];
}

function worker(pool: ExpertPool, image: string, parts: readonly Mounted[]): V1Container {
  return {
    name: 'worker',
    image,
    ports: [{ name: 'http', containerPort: workerPort, protocol: 'TCP' }],
    env: environment(pool),
    ...probes('http'),
    resources: resourcesOf(pool.spec.workers.resources, defaultResources),
    securityContext: containerSecurity,
    volumeMounts: parts.map(({ mount }) => mount),
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
export function workersDeployment(pool: ExpertPool, image: string, withheld: ReadonlySet<string>): Manifest {
  const own = poolLabels(pool, 'worker');
  const credentials = credentialFiles(pool, (name) => !withheld.has(name), credentialsDir);
  const parts = [scratch(pool), ...credentials, authorities, ...artifacts(pool)];
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
        containers: [worker(pool, image, parts)],
        volumes: parts.map(({ volume }) => volume),
      },
    },
  };
  return owned(pool, resources.deployments, { name: workersName(pool.metadata.name), component: 'worker' }, { spec });
}

/** The PodDisruptionBudget of the workers. Pure. */
export function workersBudget(pool: ExpertPool): readonly Manifest[] {
  return disruptionBudget(pool, { name: workersName(pool.metadata.name), component: 'worker' }, pool.spec.workers.replicas);
}
