// Runs a contract test's operator as the chart's account: with its rules and no others.
import { readFile } from 'node:fs/promises';
import { createTransport, kubeconfigConfig, type Transport } from '@agentfleet/kube';
import type { V1PolicyRule } from '@kubernetes/client-node';
import { load } from 'js-yaml';
import { kubeconfigPath } from '../../hack/cluster/index.ts';
import { operatorAccount } from '../../hack/rbac/index.ts';
import type { Server } from './api/server.ts';

const rulesFile = new URL('../../charts/agentfleet/files/operator-rules.yaml', import.meta.url);
const rbac = '/apis/rbac.authorization.k8s.io/v1';
/** Longer than any file of tests. */
const tokenSeconds = 7200;

type Part = 'cluster' | 'namespaces' | 'namespaced' | 'kueueCluster' | 'kueueNamespaced' | 'endpoints';
type Rules = Readonly<Record<Part, readonly V1PolicyRule[]>>;

interface AccountOptions {
  /** Name of the ClusterRole that workers are bound to, where it is not the chart's. */
  readonly workerClusterRole?: string;
  /** Like kueue.enabled. */
  readonly kueue?: boolean;
  /** As with watch.namespaces: its rights hold in these and in its own alone. */
  readonly watched?: readonly string[];
  /** Changes the chart's rules, to see what is missed then. */
  readonly rules?: (rules: Rules) => Rules;
}

/** Credentials of a separate account, and a function that removes its rights. */
interface Account {
  readonly server: string;
  readonly ca: string | undefined;
  readonly token: string;
  close(): Promise<void>;
}

/** Makes an account in the namespace with the operator's rules of the chart. Its bindings are removed when it is closed. */
async function operatorAccountIn(server: Server, namespace: string, options: AccountOptions): Promise<Account> {
  const made: string[] = [];
  const make = async (path: string, name: string, body: object): Promise<void> => {
    const { status, body: answer } = await server.ask('POST', path, { body: { metadata: { name }, ...body } });
    if (status !== 201 && status !== 409) throw new Error(`${path}/${name}: ${answer.message}`);
    if (path.startsWith(rbac)) made.push(`${path}/${name}`);
  };
  const worker = options.workerClusterRole;
  const text = await readFile(rulesFile, 'utf8');
  const chart = load(
    worker === undefined ? text : text.replaceAll('resourceNames: [agentfleet-worker]', `resourceNames: [${worker}]`),
  ) as Rules;
  const rules = options.rules?.(chart) ?? chart;
  const subjects = [{ kind: 'ServiceAccount', name: operatorAccount, namespace }];
  const grant = async (kind: 'Role' | 'ClusterRole', name: string, granted: readonly V1PolicyRule[], where = ''): Promise<void> => {
    await make(`${rbac}${where}/${kind.toLowerCase()}s`, name, { rules: granted });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name };
    await make(`${rbac}${where}/${kind.toLowerCase()}bindings`, name, { roleRef, subjects });
  };
  await make(`/api/v1/namespaces/${namespace}/serviceaccounts`, operatorAccount, {});
  const name = `${operatorAccount}-${namespace}`;
  const kueue = options.kueue === true;
  const narrow = kueue ? [...rules.namespaced, ...rules.kueueNamespaced] : rules.namespaced;
  const wide = kueue ? [...rules.cluster, ...rules.kueueCluster] : rules.cluster;
  const watched = options.watched === undefined ? undefined : [...options.watched, namespace];
  if (watched === undefined) await grant('ClusterRole', name, [...wide, ...rules.namespaces, ...narrow]);
  else
    await grant('ClusterRole', name, [
      ...wide,
      ...rules.namespaces.map(({ apiGroups = [], resources = [], verbs }) => ({ apiGroups, resources, verbs, resourceNames: watched })),
    ]);
  for (const one of watched ?? []) await grant('Role', name, narrow, `/namespaces/${one}`);
  await grant('Role', name, rules.endpoints, '/namespaces/default');
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${operatorAccount}/token`;
  const { body } = await server.ask('POST', path, { body: { spec: { expirationSeconds: tokenSeconds } } });
  const administrator = await kubeconfigConfig({ file: await kubeconfigPath() });
  const { ca } = (await administrator.credentials(false)).tls;
  return {
    server: administrator.server,
    ca: ca === undefined ? undefined : String(ca),
    token: (body.status as { token: string }).token,
    close: async () => {
      for (const one of made) await server.ask('DELETE', one);
    },
  };
}

/** Returns a transport in the name of such an account. */
export async function operatorTransport(server: Server, namespace: string, options: AccountOptions = {}): Promise<Transport> {
  const account = await operatorAccountIn(server, namespace, options);
  const { ca } = account;
  const credentials = { tls: ca === undefined ? {} : { ca }, authorization: `Bearer ${account.token}` };
  const transport = createTransport(
    { server: account.server, credentials: () => Promise.resolve(credentials) },
    { userAgent: 'agentfleet-operator/test' },
  );
  return {
    host: transport.host,
    request: (request) => transport.request(request),
    stream: (request) => transport.stream(request),
    close: async () => {
      await transport.close();
      await account.close();
    },
  };
}

/** Returns a kubeconfig in the name of such an account, for the process of an operator. */
export async function operatorKubeconfig(server: Server, namespace: string): Promise<{ readonly text: string; close(): Promise<void> }> {
  const account = await operatorAccountIn(server, namespace, {});
  const { server: address, ca, token } = account;
  const authority = ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'operator',
    contexts: [{ name: 'operator', context: { cluster: 'c', user: 'operator', namespace } }],
    clusters: [{ name: 'c', cluster: { server: address, ...authority } }],
    users: [{ name: 'operator', user: { token } }],
  };
  return { text: JSON.stringify(config), close: () => account.close() };
}
