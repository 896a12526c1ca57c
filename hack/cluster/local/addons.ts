import { dump } from 'js-yaml';
import { network } from '../base/network.ts';

const labels = { 'app.kubernetes.io/part-of': 'agentfleet-cluster' };

function corefile(hasUpstream: boolean): string {
  const lines = [
    'errors',
    'health :8080',
    'ready :8181',
    'kubernetes cluster.local in-addr.arpa ip6.arpa {',
    '  pods insecure',
    '  fallthrough in-addr.arpa ip6.arpa',
    '}',
  ];
  // The forward plugin refuses to start when the file names no server.
  if (hasUpstream) lines.push('forward . /etc/resolv.conf');
  return `.:53 {\n${[...lines, 'cache 30'].map((line) => `  ${line}`).join('\n')}\n}\n`;
}

function clusterRole(name: string, subject: object, rules: readonly object[]): object[] {
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const metadata = { name: `agentfleet:${name}`, labels };
  return [
    { apiVersion, kind: 'ClusterRole', metadata, rules },
    {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name },
      subjects: [subject],
    },
  ];
}

const read = ['get', 'list', 'watch'];

function corednsDeployment(image: string): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'coredns', namespace: 'kube-system', labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: { 'k8s-app': 'kube-dns' } },
      template: {
        metadata: { labels: { 'k8s-app': 'kube-dns' } },
        spec: {
          serviceAccountName: 'coredns',
          priorityClassName: 'system-cluster-critical',
          dnsPolicy: 'Default',
          terminationGracePeriodSeconds: 1,
          containers: [corednsContainer(image)],
          volumes: [{ name: 'config', configMap: { name: 'coredns' } }],
        },
      },
    },
  };
}

function corednsContainer(image: string): object {
  return {
    name: 'coredns',
    image,
    imagePullPolicy: 'Never',
    args: ['-conf', '/etc/coredns/Corefile'],
    volumeMounts: [{ name: 'config', mountPath: '/etc/coredns', readOnly: true }],
    readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 1 },
    livenessProbe: { httpGet: { path: '/health', port: 8080 }, periodSeconds: 10 },
    resources: { requests: { cpu: '20m', memory: '64Mi' }, limits: { memory: '256Mi' } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
      seccompProfile: { type: 'RuntimeDefault' },
    },
  };
}

/** DNS for pods, from an image that was imported before, and the rights of kube-router; as YAML documents. */
export function addonManifests(corednsImage: string, hasUpstream: boolean): string {
  const inSystem = (name: string): object => ({ name, namespace: 'kube-system', labels });
  const services = { apiGroups: [''], resources: ['endpoints', 'namespaces', 'pods', 'services'], verbs: read };
  const slices = { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: read };
  const objects = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: inSystem('coredns') },
    ...clusterRole('coredns', { kind: 'ServiceAccount', name: 'coredns', namespace: 'kube-system' }, [services, slices]),
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: inSystem('coredns'), data: { Corefile: corefile(hasUpstream) } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: inSystem('kube-dns'),
      spec: {
        clusterIP: network.dnsServiceIp,
        selector: { 'k8s-app': 'kube-dns' },
        ports: [
          { name: 'dns', port: 53, protocol: 'UDP' },
          { name: 'dns-tcp', port: 53, protocol: 'TCP' },
        ],
      },
    },
    corednsDeployment(corednsImage),
    ...clusterRole('kube-router', { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'agentfleet:kube-router' }, [
      services,
      slices,
      { apiGroups: [''], resources: ['nodes'], verbs: read },
      { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: read },
    ]),
  ];
  return objects.map((object) => dump(object, { noRefs: true })).join('---\n');
}
