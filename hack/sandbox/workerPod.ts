import { labels, sandboxUid } from '@agentfleet/operator/sandbox';
import { workerServiceAccount } from './namespace.ts';

/**
 * A pod in the worker's place: labelled so that the network policy admits it, with a token of the worker's
 * ServiceAccount whose audience is the sandbox pod's uid (the kubelet requests it by TokenRequest and renews it). It
 * waits for a program on standard input.
 */
export function workerPod(input: {
  readonly name: string;
  readonly namespace: string;
  readonly image: string;
  readonly audience: string;
}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: input.name, namespace: input.namespace, labels: { [labels.component]: 'worker' } },
    spec: {
      serviceAccountName: workerServiceAccount,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 1,
      securityContext: { runAsNonRoot: true, runAsUser: sandboxUid, runAsGroup: sandboxUid, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'worker',
          image: input.image,
          imagePullPolicy: 'IfNotPresent',
          command: ['node', '-e', 'process.on("SIGTERM", () => process.exit(0)); setInterval(() => {}, 1 << 30)'],
          resources: { requests: { cpu: '50m', memory: '64Mi' }, limits: { memory: '256Mi' } },
          securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
          volumeMounts: [{ name: 'token', mountPath: '/var/run/agentfleet', readOnly: true }],
        },
      ],
      volumes: [
        {
          name: 'token',
          projected: { sources: [{ serviceAccountToken: { audience: input.audience, expirationSeconds: 600, path: 'token' } }] },
        },
      ],
    },
  };
}
