import type { WeightsItem } from '../../../operands/index.ts';
import type { V1Container, V1EnvVar, V1JobSpec, V1Volume } from '@kubernetes/client-node';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { expertPort } from '@agentfleet/protocol/pool';
import { modelsClaim, weightsJobName } from '../../../pools/names.ts';
import { resources } from '../../../runtime/resources.ts';
import { containerSecurity, operatorLabels, podSecurity } from '../../../serving/index.ts';
import { kept, owned, ownedBy, poolLabels, type Manifest } from '../../../operands/manifest.ts';

/** Label of a job and its pod: which weights it reads. */
export const weightsLabel = 'agentfleet.dev/weights';

const credentialDir = '/etc/agentfleet/credential';

function environment(pool: ExpertPool, { weights, place }: WeightsItem): readonly V1EnvVar[] {
  const { storage, modelCache } = pool.spec;
  const { uri, digest, tokenizerHash } = weights;
  const variables: Readonly<Record<string, string | undefined>> = {
    AGENTFLEET_WEIGHTS_URI: uri,
    AGENTFLEET_WEIGHTS_FOLDER: place.folder,
    AGENTFLEET_WEIGHTS_DIGEST: digest,
    AGENTFLEET_TOKENIZER_HASH: tokenizerHash,
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
  const { tokenizerHash } = weights;
  const env = [
    // What was fetched is in the volume: here nothing is fetched.
    { name: 'AGENTFLEET_WEIGHTS_URI', value: item.fetched ? 'cache://' : weights.uri },
    { name: 'AGENTFLEET_WEIGHTS_FOLDER', value: place.folder },
    ...(digest === undefined ? [] : [{ name: 'AGENTFLEET_WEIGHTS_DIGEST', value: digest }]),
    ...(tokenizerHash === undefined ? [] : [{ name: 'AGENTFLEET_TOKENIZER_HASH', value: tokenizerHash }]),
  ];
  return {
    name: `weights${item.name.endsWith('/draft') ? '-draft' : ''}`,
    image,
    imagePullPolicy: 'IfNotPresent',
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

/**
 * The job that fetches weights where they have to be, and reads them: its termination message tells what they are. Its
 * name follows what is asked for, as the pods of a job cannot be changed. Pure.
 */
export function weightsJob(pool: ExpertPool, image: string, item: WeightsItem): Manifest {
  const own = { ...poolLabels(pool, 'weights'), [weightsLabel]: item.hash };
  const spec: Omit<V1JobSpec, 'selector'> = {
    backoffLimit: 3,
    template: {
      metadata: { labels: own },
      spec: {
        restartPolicy: 'Never',
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: podSecurity,
        containers: [fetchingContainer(pool, image, item)],
        volumes: volumesOf(pool, item),
      },
    },
  };
  return ownedBy(pool, resources.jobs, { name: weightsJobName(pool.metadata.name, item.name, item.hash), labels: own }, { spec });
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

/** Jobs that read weights call out, and tell the operator how far they are. Pure. */
export function weightsWall(pool: ExpertPool, operatorNamespace: string): Manifest {
  const own = poolLabels(pool, 'weights');
  const from = [
    {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': operatorNamespace } },
      podSelector: { matchLabels: { ...operatorLabels } },
    },
  ];
  const spec = {
    podSelector: { matchLabels: own },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from, ports: [{ protocol: 'TCP', port: expertPort }] }],
    egress: [{}],
  };
  return owned(pool, resources.networkPolicies, { name: modelsClaim(pool.metadata.name), component: 'weights' }, { spec });
}
