/** AgentTask: work that must become true, or be undone. May import the rest of `api` and the layers below it. */
import { ageColumn, conditionColumn, nameFitsLabel, type Kind } from '../crd/definition.ts';
import type { Resource } from '../base/meta.ts';
import { AgentTaskSpec } from './spec.ts';
import { AgentTaskStatus } from './status.ts';

export * from './phases.ts';
export * from './limits.ts';
export * from './workspace.ts';
export * from './run.ts';
export * from './sandbox.ts';
export * from './spec.ts';
export * from './status.ts';
export * from './steps.ts';

/** An AgentTask as the API server returns it: defaults are filled in. */
export type AgentTask = Resource<'AgentTask', AgentTaskSpec, AgentTaskStatus>;

export const agentTask: Kind = {
  kind: 'AgentTask',
  plural: 'agenttasks',
  shortName: 'aft',
  description: 'Work that must become true, proved by checks, or be undone.',
  spec: AgentTaskSpec,
  status: AgentTaskStatus,
  rulesInPolicy: true,
  rules: [nameFitsLabel],
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Summary of the state.' },
    { name: 'Pool', type: 'string', jsonPath: '.spec.poolRef.name', description: 'The pool that does the work.' },
    conditionColumn('Reason', 'Ready', 'reason'),
    { name: 'Attempt', type: 'integer', jsonPath: '.status.assignment.attempt', description: 'Number of the attempt.' },
    { name: 'Progress', type: 'string', jsonPath: '.status.run.progress.message', description: 'Latest progress of the attempt.' },
    ageColumn,
    { name: 'Priority', type: 'integer', jsonPath: '.spec.priority', description: 'Place in the queue.', priority: 1 },
    { name: 'Worker', type: 'string', jsonPath: '.status.assignment.worker', description: 'Pod that runs it.', priority: 1 },
    conditionColumn('Message', 'Ready', 'message', 1),
  ],
  selectable: ['.status.assignment.worker', '.status.finished', '.spec.poolRef.name'],
};
