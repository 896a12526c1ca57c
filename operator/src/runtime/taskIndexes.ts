import type { AgentTask } from '@agentfleet/protocol/api';

/** Index of tasks that have not ended by `namespace/name` of the worker that has them. */
export const workerIndex = 'worker';

/** Index of tasks that have not ended by what may wake them besides a free slot, see `wakeReasons`. */
export const wakeIndex = 'wake';

/** Values of the index for tasks that nobody has looked at, and for those whose changes are being undone. */
export const wakeValues = { unseen: 'Unseen', rollingBack: 'RollingBack' } as const;

/** Index of tasks that have not begun by `namespace/name` of what they depend on. */
export const dependencyIndex = 'dependency';

/** Index of tasks that have not ended by the revisions that they work with, and as `rollout <id>` by the one that counts them, as `shadow <id>` by the one that gets copies. */
export const revisionIndex = 'revision';

/** Revisions of an assignment, and its rollout. */
export function revisionsOf({ status }: AgentTask): readonly string[] {
  const { revision, verifierRevision, rollout, shadow } = status?.assignment ?? {};
  const counted = [rollout === undefined ? undefined : `rollout ${rollout}`, shadow === undefined ? undefined : `shadow ${shadow}`];
  const all = [revision, verifierRevision, ...counted];
  return status?.finished === 'true' ? [] : all.filter((key) => key !== undefined);
}

/** Keys that the task waits for; none once it has begun, as it never waits again. */
export function dependenciesOf({ metadata, spec, status }: AgentTask): readonly string[] {
  if (status?.assignment !== undefined || status?.finished === 'true') return [];
  return (spec.dependsOn ?? []).map(({ name }) => `${metadata.namespace ?? ''}/${name}`);
}

/** Worker of an assignment. */
export function workerOf({ status }: AgentTask): readonly string[] {
  const { worker, workerNamespace } = status?.assignment ?? {};
  return status?.finished === 'true' || worker === undefined || workerNamespace === undefined ? [] : [`${workerNamespace}/${worker}`];
}

/**
 * Reasons for which a task is neither accepted nor in a queue: few tasks have one at a time, so that whoever ends the
 * reason finds them without looking at all. Also as `<reason> <namespace>`.
 */
export function wakeReasons({ status, metadata }: AgentTask): readonly string[] {
  if (status?.finished === 'true') return [];
  const reasons: string[] = status?.phase === 'RollingBack' ? [wakeValues.rollingBack] : [];
  if (status?.conditions === undefined) reasons.push(wakeValues.unseen);
  for (const { type, status: said, reason } of status?.conditions ?? []) {
    if (said === 'True') continue;
    if (type === 'Accepted' || (type === 'Scheduled' && lasting.has(reason))) reasons.push(reason);
  }
  const { namespace = '' } = metadata;
  return reasons.flatMap((reason) => [reason, `${reason} ${namespace}`]);
}

/** Reasons of the condition Scheduled that a slot does not end. */
const lasting: ReadonlySet<string> = new Set([
  'NotAccepted',
  'NamespaceNotPrepared',
  'SandboxRefused',
  'DependencyPending',
  'SpendingCapReached',
]);
