import type { V1NetworkPolicy, V1NetworkPolicyIngressRule, V1NetworkPolicySpec } from '@kubernetes/client-node';
import { keeperPort, labels } from './names.ts';

/** A NetworkPolicy as it goes over the wire: client-node's type spells the member `from` as `_from`. */
export type NetworkPolicyManifest = Omit<V1NetworkPolicy, 'spec'> & {
  spec: Omit<V1NetworkPolicySpec, 'ingress'> & {
    ingress: (Omit<V1NetworkPolicyIngressRule, '_from'> & { from: NonNullable<V1NetworkPolicyIngressRule['_from']> })[];
  };
};

/**
 * The wall of all sandboxes in a namespace: nothing goes out, and only workers of the given
 * namespaces reach the keeper's port. Pure.
 */
export function sandboxNetworkPolicy(namespace: string, workerNamespaces: readonly string[]): NetworkPolicyManifest {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'agentfleet-sandbox', namespace },
    spec: {
      podSelector: { matchLabels: { [labels.component]: 'sandbox' } },
      policyTypes: ['Ingress', 'Egress'],
      egress: [],
      ingress: [
        {
          from: workerNamespaces.map((name) => ({
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
            podSelector: { matchLabels: { [labels.component]: 'worker' } },
          })),
          ports: [{ protocol: 'TCP', port: keeperPort }],
        },
      ],
    },
  };
}
