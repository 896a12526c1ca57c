import { randomBytes } from 'node:crypto';
import { jwksConfigMap, linkSecret, sandboxNetworkPolicy } from '@agentfleet/operator/sandbox';
import type { Kubectl } from './kubectl.ts';

export const workerServiceAccount = 'agentfleet-worker';

/**
 * Makes a namespace as the operator will keep it for sandboxes: Pod Security (*restricted*), the
 * network wall, the token signing keys, the link key, and a worker's ServiceAccount. Returns the issuer of the
 * cluster's tokens.
 */
export async function prepareNamespace(
  kubectl: Kubectl,
  namespace: string,
  level: 'restricted' | 'baseline' | 'privileged' = 'restricted',
): Promise<string> {
  const [jwks, discovery] = await Promise.all([
    kubectl.text(['get', '--raw', '/openid/v1/jwks']),
    kubectl.text(['get', '--raw', '/.well-known/openid-configuration']),
  ]);
  const enforced = { 'pod-security.kubernetes.io/enforce': level, 'pod-security.kubernetes.io/enforce-version': 'latest' };
  await kubectl.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: enforced } });
  await kubectl.apply(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: workerServiceAccount, namespace } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: jwksConfigMap, namespace }, data: { 'jwks.json': jwks } },
    sandboxNetworkPolicy(namespace, [namespace]),
  );
  // An existing one stays: keepers and runners use it.
  const there = await kubectl.text(['-n', namespace, 'get', 'secret', linkSecret.name, '--ignore-not-found', '-o', 'name']);
  const stringData = { [linkSecret.key]: randomBytes(32).toString('base64url') };
  if (there === '')
    await kubectl.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: linkSecret.name, namespace }, immutable: true, stringData });
  await kubectl.text(['-n', namespace, 'wait', '--for=create', 'serviceaccount/default', '--timeout=30s']);
  return (JSON.parse(discovery) as { issuer: string }).issuer;
}

/** Deletes a namespace and waits until all of it is gone. */
export async function deleteNamespace(kubectl: Kubectl, namespace: string): Promise<void> {
  await kubectl.text(['delete', 'namespace', namespace, '--ignore-not-found', '--timeout=300s']);
}
