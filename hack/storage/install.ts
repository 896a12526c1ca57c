import { randomBytes } from 'node:crypto';
import type { InstallEnvironment } from '../install/index.ts';
import { Kubectl } from '../sandbox/index.ts';

/** Address of the S3 server of a cluster without a cloud. */
export const place = { namespace: 'agentfleet-storage', name: 's3', bucket: 'agents', port: 7070 } as const;

const { namespace, name, bucket, port } = place;
const labels = { 'app.kubernetes.io/name': name, 'app.kubernetes.io/part-of': 'agentfleet-storage' };
/** The user of our images. */
const uid = 10001;

const storageNamespace: object = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name: namespace,
    labels: { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/enforce-version': 'latest' },
  },
};

/** The root credential of the server. */
function credentialSecret(accessKey: string, secretKey: string): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace, labels }, stringData: { accessKey, secretKey } };
}

/** The server and its address. Its data lives as long as its pod. */
function serverObjects(image: string): readonly object[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace, labels },
      spec: { selector: labels, ports: [{ name: 's3', port, targetPort: 's3' }] },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace, labels },
      spec: {
        replicas: 1,
        strategy: { type: 'Recreate' },
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: podSpec(image) },
      },
    },
  ];
}

function podSpec(image: string): object {
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 1,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: uid,
      runAsGroup: uid,
      fsGroup: uid,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [container(image)],
    volumes: [{ name: 'data', emptyDir: { sizeLimit: '4Gi' } }],
  };
}

function container(image: string): object {
  const fromSecret = (key: string): object => ({ secretKeyRef: { name, key } });
  return {
    name,
    image,
    imagePullPolicy: 'IfNotPresent',
    env: [
      { name: 'ROOT_ACCESS_KEY', valueFrom: fromSecret('accessKey') },
      { name: 'ROOT_SECRET_KEY', valueFrom: fromSecret('secretKey') },
    ],
    ports: [{ name: 's3', containerPort: port }],
    readinessProbe: { httpGet: { path: '/healthz', port: 's3' }, periodSeconds: 1 },
    livenessProbe: { httpGet: { path: '/healthz', port: 's3' }, periodSeconds: 10, failureThreshold: 6 },
    resources: { requests: { cpu: '50m', memory: '64Mi' }, limits: { memory: '512Mi' } },
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
    volumeMounts: [
      { name: 'data', mountPath: '/data' },
      // For the server each folder below /data is a bucket: mounting creates the bucket, also in a new pod.
      { name: 'data', mountPath: `/data/${bucket}`, subPath: bucket },
    ],
  };
}

/** Access to the storage for an ExpertPool; `forcePathStyle` must be true. */
export interface StorageAccess {
  /** Address of the S3 API for pods. */
  readonly endpoint: string;
  /** The bucket. */
  readonly uri: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

interface SecretList {
  readonly items: readonly { readonly data?: Readonly<Record<string, string>> }[];
}

const readySeconds = 120;

/**
 * Installs an S3 server with one bucket and waits until it is ready. Idempotent: the credential of an earlier call
 * stays. Its data is lost with its pod. Rejects with kubectl's own message.
 */
export async function installStorage(environment: InstallEnvironment): Promise<StorageAccess> {
  const kubectl = new Kubectl(environment.cluster);
  await kubectl.apply(storageNamespace);
  const credential = (await readCredential(kubectl)) ?? (await makeCredential(kubectl));
  await kubectl.apply(...serverObjects(environment.image('s3')));
  await kubectl.text(['-n', namespace, 'rollout', 'status', `deployment/${name}`, `--timeout=${readySeconds}s`]);
  return { endpoint: `http://${name}.${namespace}.svc:${port}`, uri: `s3://${bucket}`, ...credential };
}

type Credential = Pick<StorageAccess, 'accessKey' | 'secretKey'>;

async function readCredential(kubectl: Kubectl): Promise<Credential | undefined> {
  const { items } = await kubectl.json<SecretList>(['-n', namespace, 'get', 'secrets', `--field-selector=metadata.name=${name}`]);
  const value = (key: string): string => Buffer.from(items[0]?.data?.[key] ?? '', 'base64').toString('utf8');
  const [accessKey, secretKey] = [value('accessKey'), value('secretKey')];
  return accessKey === '' || secretKey === '' ? undefined : { accessKey, secretKey };
}

async function makeCredential(kubectl: Kubectl): Promise<Credential> {
  const credential = { accessKey: randomBytes(10).toString('hex'), secretKey: randomBytes(20).toString('hex') };
  await kubectl.apply(credentialSecret(credential.accessKey, credential.secretKey));
  return credential;
}
