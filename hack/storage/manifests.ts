// hack, storage: Kubernetes objects of an S3 server in the cluster. May import any package.

/** Address of the S3 server of a cluster without a cloud. */
export const place = { namespace: 'agentfleet-storage', name: 's3', bucket: 'agents', port: 7070 } as const;

const { namespace, name, bucket, port } = place;
const labels = { 'app.kubernetes.io/name': name, 'app.kubernetes.io/part-of': 'agentfleet-storage' };
/** The user of our images. */
const uid = 10001;

export const storageNamespace: object = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name: namespace,
    labels: { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/enforce-version': 'latest' },
  },
};

/** The root credential of the server. */
export function credentialSecret(accessKey: string, secretKey: string): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace, labels }, stringData: { accessKey, secretKey } };
}

/** The server and its address. Its data lives as long as its pod. */
export function serverObjects(image: string): readonly object[] {
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
