// The operator of a contract test is who the chart's operator is: an account with the rules of the chart and no others.
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

type Rules = Readonly<Record<'cluster' | 'endpoints', readonly V1PolicyRule[]>>;

export interface AccountOptions {
  /** Name of the ClusterRole that workers are bound to, where it is not the chart's. */
  readonly workerClusterRole?: string;
  /** Changes the chart's rules, to see what is missed then. */
  readonly rules?: (rules: Rules) => Rules;
}

/**
 * A transport in the name of an account of its own in the namespace, which may do what the chart lets the operator do. Its bindings
 * go when it is closed, its account with the namespace.
 */
export async function operatorTransport(server: Server, namespace: string, options: AccountOptions = {}): Promise<Transport> {
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
  await grant('ClusterRole', name, rules.cluster);
  await grant('Role', name, rules.endpoints, '/namespaces/default');
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${operatorAccount}/token`;
  const { body } = await server.ask('POST', path, { body: { spec: { expirationSeconds: tokenSeconds } } });
  const authorization = `Bearer ${(body.status as { token: string }).token}`;
  const administrator = await kubeconfigConfig({ file: await kubeconfigPath() });
  const { ca } = (await administrator.credentials(false)).tls;
  const credentials = { tls: ca === undefined ? {} : { ca }, authorization };
  const transport = createTransport(
    { server: administrator.server, credentials: () => Promise.resolve(credentials) },
    { userAgent: 'agentfleet-operator/test' },
  );
  return {
    host: transport.host,
    request: (request) => transport.request(request),
    stream: (request) => transport.stream(request),
    close: async () => {
      await transport.close();
      for (const one of made) await server.ask('DELETE', one);
    },
  };
}
