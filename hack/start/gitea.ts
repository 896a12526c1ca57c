// hack, start: build, settings and API calls of Gitea. May import any package.
import { chmod, cp, mkdir, mkdtemp, rename, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';

const module = 'code.gitea.io/gitea';
const version = 'v1.25.2';

export interface BuiltGitea {
  /** Holds both. */
  readonly folder: string;
  readonly program: string;
  /** Templates and options, which the program reads from its sources. */
  readonly sources: string;
}

/** Builds Gitea from its Go module, in a copy: it has replace lines, so that `go install` refuses it. Minutes, then a cache. */
export async function buildGitea(): Promise<BuiltGitea> {
  const cache = process.env['AGENTFLEET_CACHE'] ?? join(homedir(), '.cache', 'agentfleet');
  const folder = join(cache, `gitea-${version}`);
  const built = { folder, program: join(folder, 'gitea'), sources: join(folder, 'sources') };
  if ((await stat(built.program).catch(() => undefined)) !== undefined) return built;
  await mkdir(cache, { recursive: true });
  const scratch = await mkdtemp(join(cache, 'gitea-building-'));
  const { stdout } = await execa('go', ['mod', 'download', '-json', `${module}@${version}`]);
  const { Dir } = JSON.parse(stdout) as { readonly Dir: string };
  await cp(Dir, join(scratch, 'sources'), { recursive: true });
  await execa('chmod', ['-R', 'u+w', join(scratch, 'sources')]);
  const tags = 'sqlite sqlite_unlock_notify';
  await execa('go', ['build', '-tags', tags, '-o', join(scratch, 'gitea'), '.'], {
    cwd: join(scratch, 'sources'),
    env: { CGO_ENABLED: '1' },
  });
  await chmod(join(scratch, 'gitea'), 0o755);
  await chmod(scratch, 0o755);
  await rename(scratch, folder);
  return built;
}

interface GiteaPlace {
  /** Address that it is reached at, by which it also calls itself. */
  readonly host: string;
  readonly port: number;
  /** Folder of its data. */
  readonly data: string;
  readonly certificate: string;
  readonly key: string;
  readonly sources: string;
  /** User of its process. */
  readonly user: string;
}

/** Its settings: sqlite, TLS, no mail and no SSH. Pure. */
export function giteaSettings({ host, port, data, certificate, key, sources, user }: GiteaPlace): string {
  const sections: Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>> = {
    '': { APP_NAME: 'A local forge', RUN_USER: user, I_AM_BEING_UNSAFE_RUNNING_AS_ROOT: true, WORK_PATH: data },
    server: {
      PROTOCOL: 'https',
      HTTP_ADDR: host,
      HTTP_PORT: port,
      ROOT_URL: `https://${host}:${port}/`,
      CERT_FILE: certificate,
      KEY_FILE: key,
      STATIC_ROOT_PATH: sources,
      OFFLINE_MODE: true,
      DISABLE_SSH: true,
    },
    database: { DB_TYPE: 'sqlite3', PATH: join(data, 'gitea.db') },
    security: { INSTALL_LOCK: true, SECRET_KEY: 'of-a-local-forge-alone' },
    repository: { ROOT: join(data, 'repositories') },
    log: { MODE: 'console', LEVEL: 'Error' },
    actions: { ENABLED: false },
  };
  const lines = Object.entries(sections).flatMap(([name, values]) => [
    ...(name === '' ? [] : [`[${name}]`]),
    ...Object.entries(values).map(([key_, value]) => `${key_} = ${value}`),
  ]);
  return `${lines.join('\n')}\n`;
}

/** Rights of the token: to push and to open pull requests, and to make the repository. */
export const giteaScopes = 'write:repository,write:issue,write:user';

/** Base64 of files, as its API takes them for the first commit of a repository. Pure. */
export function filesOfCommit(files: Readonly<Record<string, string>>): readonly object[] {
  return Object.entries(files).map(([path, text]) => ({ operation: 'create', path, content: Buffer.from(text).toString('base64') }));
}

/** A request to the API, which is trusted by its own certificate. Rejects with curl's words. */
export async function askGitea<T = unknown>(
  at: { readonly origin: string; readonly authorities: string; readonly token: string },
  method: string,
  path: string,
  body?: object,
): Promise<T> {
  const args = ['--silent', '--show-error', '--fail-with-body', '--cacert', at.authorities, '-X', method];
  const data = body === undefined ? [] : ['-H', 'Content-Type: application/json', '-d', JSON.stringify(body)];
  const { stdout } = await execa('curl', [...args, '-H', `Authorization: token ${at.token}`, ...data, `${at.origin}/api/v1${path}`]);
  return (stdout === '' ? undefined : JSON.parse(stdout)) as T;
}

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
