// hack, start: Kubernetes objects of the forge and model endpoint of docs/start.md. May import any package.
import type { BuiltGitea } from './gitea.ts';

/** Names of the parts of a first task besides the fleet, on a local cluster. */
export const place = { namespace: 'start', forge: 'forge', model: 'model', modelPort: 8080, user: 'robot', repository: 'cart' } as const;

const { namespace, forge, model, modelPort } = place;
const privileged = { 'pod-security.kubernetes.io/enforce': 'privileged' };

/** It holds a pod that serves at an address of the node. */
export const startNamespace: object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: privileged } };

/** Paths in its pod. */
export const inForge = { program: '/gitea/gitea', sources: '/gitea/sources', data: '/data', settings: '/data/app.ini' } as const;

/** Gitea at an address of the node, so that people and pods use one name. Its data lives as long as its pod. */
export function forgeObjects(image: string, built: BuiltGitea, files: Readonly<Record<string, string>>): readonly object[] {
  const begin = `cp /settings/* ${inForge.data}/ && ${inForge.program} migrate --config ${inForge.settings} && exec ${inForge.program} web --config ${inForge.settings}`;
  const container = {
    name: 'gitea',
    image,
    imagePullPolicy: 'IfNotPresent',
    command: ['sh', '-c', begin],
    env: [
      { name: 'HOME', value: inForge.data },
      { name: 'USER', value: 'root' },
    ],
    securityContext: { runAsUser: 0, allowPrivilegeEscalation: false },
    resources: { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '1Gi' } },
    volumeMounts: [
      { name: 'program', mountPath: '/gitea', readOnly: true },
      { name: 'settings', mountPath: '/settings', readOnly: true },
      { name: 'data', mountPath: inForge.data },
    ],
  };
  return [
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: forge, namespace }, stringData: files },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: forge, namespace },
      spec: {
        hostNetwork: true,
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        terminationGracePeriodSeconds: 1,
        containers: [container],
        volumes: [
          { name: 'program', hostPath: { path: built.folder, type: 'Directory' } },
          { name: 'settings', secret: { secretName: forge } },
          { name: 'data', emptyDir: {} },
        ],
      },
    },
  ];
}

function configMap(name: string, data: Readonly<Record<string, string>>): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data };
}

function modelContainer(image: string, key: string): object {
  return {
    name: model,
    image,
    imagePullPolicy: 'IfNotPresent',
    command: ['/usr/local/bin/node', '/program/answers.cjs', '/recordings', key, String(modelPort)],
    resources: { requests: { cpu: '10m', memory: '32Mi' }, limits: { memory: '256Mi' } },
    readinessProbe: { tcpSocket: { port: modelPort }, periodSeconds: 1 },
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
    volumeMounts: [
      { name: 'program', mountPath: '/program' },
      { name: 'recordings', mountPath: '/recordings' },
    ],
  };
}

/** A server of the chat API with recorded answers for callers that have the key. */
export function modelObjects(image: string, files: Readonly<Record<string, string>>, key: string): readonly object[] {
  const labels = { app: model };
  const { 'answers.cjs': program = '', ...recordings } = files;
  return [
    configMap(`${model}-program`, { 'answers.cjs': program }),
    configMap(`${model}-recordings`, recordings),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: model, namespace },
      spec: { selector: labels, ports: [{ port: modelPort, targetPort: modelPort }] },
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: model, namespace, labels },
      spec: {
        automountServiceAccountToken: false,
        terminationGracePeriodSeconds: 1,
        securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
        containers: [modelContainer(image, key)],
        volumes: [
          { name: 'program', configMap: { name: `${model}-program` } },
          { name: 'recordings', configMap: { name: `${model}-recordings` } },
        ],
      },
    },
  ];
}
