import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defineResource, kubeconfigConfig, ResourceClient, type KubeObject } from '@agentfleet/kube';
import type { Place } from './subject.ts';

type Free = KubeObject & Readonly<Record<string, unknown>>;

const accounts = defineResource<Free>({ group: '', version: 'v1', plural: 'serviceaccounts', kind: 'ServiceAccount', namespaced: true });
const bindings = defineResource<Free>({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural: 'clusterrolebindings',
  kind: 'ClusterRoleBinding',
  namespaced: false,
});
const flows = defineResource<Free>({
  group: 'flowcontrol.apiserver.k8s.io',
  version: 'v1',
  plural: 'flowschemas',
  kind: 'FlowSchema',
  namespaced: false,
});

const lifeSeconds = 86_400;
const by = { fieldManager: 'bench' };

/** Everything, and no turn to wait for: what the certificate of a kubeconfig may, which the peer has. */
async function grant({ transport, system: namespace }: Place, name: string): Promise<void> {
  const account = { name, namespace };
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
  const binding = { metadata: { name: `bench-${namespace}` }, roleRef, subjects: [{ kind: 'ServiceAccount', ...account }] };
  await new ResourceClient(transport, bindings).apply(binding, by);
  const every = ['*'];
  const rule = {
    subjects: [{ kind: 'ServiceAccount', serviceAccount: account }],
    resourceRules: [{ verbs: every, apiGroups: every, resources: every, namespaces: every, clusterScope: true }],
    nonResourceRules: [{ verbs: every, nonResourceURLs: every }],
  };
  const spec = { priorityLevelConfiguration: { name: 'exempt' }, matchingPrecedence: 2, rules: [rule] };
  await new ResourceClient(transport, flows).apply({ metadata: { name: `bench-${namespace}` }, spec }, by);
}

/**
 * Gives our operator a ServiceAccount as in a pod, and a folder like the one that a kubelet mounts: the library that reads
 * kubeconfigs is not in its image. Returns what its environment needs; `withdraw` takes the rights away.
 */
export async function mountAccount(place: Place): Promise<{ readonly env: Record<string, string>; withdraw(): Promise<void> }> {
  const { transport, system: namespace } = place;
  const name = 'agentfleet-operator';
  await new ResourceClient(transport, accounts).apply({ metadata: { name, namespace } }, by);
  await grant(place, name);
  const wish = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: lifeSeconds } };
  const given = await new ResourceClient(transport, accounts).createSubresource<{ readonly status: { readonly token: string } }>(
    { name, namespace },
    'token',
    wish,
  );
  const { tls } = await (await kubeconfigConfig({ file: place.kubeconfig })).credentials(false);
  const folder = join(place.logs, `${namespace}-account`);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'token'), given.status.token, { mode: 0o600 });
  await writeFile(join(folder, 'ca.crt'), tls.ca ?? '');
  const { hostname, port } = new URL(`https://${transport.host}`);
  return {
    env: { AGENTFLEET_SERVICE_ACCOUNT: folder, KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
    withdraw: async () => {
      const own = { name: `bench-${namespace}` };
      for (const resource of [bindings, flows]) await new ResourceClient(transport, resource).delete(own);
    },
  };
}
