import { defineResource, ResourceClient, type KubeObject, type Transport } from '@agentfleet/kube';

interface Stage extends KubeObject {
  readonly spec: object;
}

const stages = defineResource<Stage>({ group: 'kwok.x-k8s.io', version: 'v1alpha1', plural: 'stages', kind: 'Stage', namespaced: false });

const terminated = `
{{ $now := Now }}
{{ $root := . }}
containerStatuses:
{{ range $index, $item := .spec.containers }}
- image: {{ $item.image | Quote }}
  name: {{ $item.name | Quote }}
  ready: false
  restartCount: 0
  state:
    terminated:
      exitCode: 0
      finishedAt: {{ $now | Quote }}
      reason: Completed
      startedAt: {{ $now | Quote }}
{{ end }}
phase: Succeeded
`;

const goes = { key: '.metadata.deletionTimestamp', operator: 'Exists' };
const resourceRef = { apiGroup: 'v1', kind: 'Pod' };

/**
 * A kubelet tells that containers have ended before it lets a pod go, and our operator waits for that word; kwok's own
 * stages only delete. For both subjects alike.
 */
export async function endLikeAKubelet(transport: Transport): Promise<void> {
  const client = new ResourceClient(transport, stages);
  const running = { key: '.status.phase', operator: 'In', values: ['Running'] };
  const end = {
    resourceRef,
    selector: { matchExpressions: [goes, running] },
    next: { statusTemplate: terminated, statusSubresource: 'status' },
  };
  const notRunning = { ...running, operator: 'NotIn' };
  const gone = { resourceRef, selector: { matchExpressions: [goes, notRunning] }, next: { delete: true } };
  await client.apply({ metadata: { name: 'pod-terminate' }, spec: end }, { fieldManager: 'bench' });
  await client.apply({ metadata: { name: 'pod-delete' }, spec: gone }, { fieldManager: 'bench' });
}
