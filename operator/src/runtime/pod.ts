import type { V1PodSecurityContext, V1Probe, V1ResourceRequirements, V1SecurityContext } from '@kubernetes/client-node';
import type { ExpertPool } from '@agentfleet/protocol/api';

/** Uid and gid of all our images. */
export const podUid = 10_001;

/** Settings that Pod Security *restricted* demands of a pod, and a group that may read projected files. */
export const podSecurity: V1PodSecurityContext = {
  runAsNonRoot: true,
  runAsUser: podUid,
  runAsGroup: podUid,
  fsGroup: podUid,
  fsGroupChangePolicy: 'OnRootMismatch',
  seccompProfile: { type: 'RuntimeDefault' },
};

/** Settings that it demands of a container, and a read-only root file system. */
export const containerSecurity: V1SecurityContext = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

/** Probes of a server of ours: /readyz often, /healthz with retries, because only a restart follows it. */
export function probes(port: string): { readonly readinessProbe: V1Probe; readonly livenessProbe: V1Probe } {
  return {
    readinessProbe: { httpGet: { path: '/readyz', port }, periodSeconds: 2, timeoutSeconds: 3, failureThreshold: 3 },
    livenessProbe: { httpGet: { path: '/healthz', port }, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
  };
}

type Resources = ExpertPool['spec']['workers']['resources'];

/** Requests and limits of the spec over those that we think fit; quantities as strings, as the server writes them. */
export function resourcesOf(wanted: Resources, fallback: V1ResourceRequirements): V1ResourceRequirements {
  if (wanted === undefined) return fallback;
  return Object.fromEntries(
    Object.entries(wanted).map(([kind, amounts]) => [
      kind,
      Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, String(amount)])),
    ]),
  );
}
