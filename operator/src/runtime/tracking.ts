import type { AgentTask } from '@agentfleet/protocol/api';

/** Labels and annotations of tools that make a task again when it is deleted: Git would run it once more. */
const tracks = {
  labels: ['kustomize.toolkit.fluxcd.io/name', 'helm.toolkit.fluxcd.io/name', 'argocd.argoproj.io/instance'],
  annotations: ['argocd.argoproj.io/tracking-id'],
} as const;

/**
 * The label by which Argo CD tracks what it owns, unless an administrator chose another one or an annotation. People set it
 * too: a task with it is rather kept too long than run twice.
 */
export const usualTrackingLabels: readonly string[] = ['app.kubernetes.io/instance'];

/** Whether Git owns the task. `more`: labels that say so besides those that belong to one tool alone. Pure. */
export function isTracked({ metadata }: Pick<AgentTask, 'metadata'>, more: readonly string[]): boolean {
  return (
    [...tracks.labels, ...more].some((key) => metadata.labels?.[key] !== undefined) ||
    tracks.annotations.some((key) => metadata.annotations?.[key] !== undefined)
  );
}
