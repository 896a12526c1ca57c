import { agentTask, ajvOptions, expertPool, validators } from '@agentfleet/protocol/api';
import type { AgentTask, ExpertPool } from '@agentfleet/protocol/api';
import { defineResource } from '@agentfleet/kube';
import { Ajv } from 'ajv';

const ajv = new Ajv(ajvOptions);
const { AgentTask: validTask, ExpertPool: validPool } = validators(ajv);

/** Faults of an object against the schema of its kind, `` when there are none. Fills defaults in. */
export function schemaFaults(task: AgentTask): string {
  return validTask(task) ? '' : ajv.errorsText(validTask.errors);
}

function checked(object: unknown, valid: typeof validTask): unknown {
  if (!valid(object)) throw new Error(ajv.errorsText(valid.errors));
  return object;
}

type Fields = Readonly<Record<string, unknown>>;

/** A minimal task with the defaults of the API server. */
export function newTask(name: string, spec: Fields = {}, metadata: Fields = {}): AgentTask {
  const { apiVersion, kind } = defineTask;
  return checked(
    {
      apiVersion,
      kind,
      metadata: { name, namespace: 'team', ...metadata },
      spec: {
        poolRef: { name: 'coding', namespace: 'platform' },
        goal: 'Make the failing tests pass.',
        workspace: { type: 'Git', git: { url: 'https://example.com/acme/parser', ref: 'main' } },
        checks: [{ name: 'unit', command: ['npm', 'test'] }],
        ...spec,
      },
    },
    validTask,
  ) as AgentTask;
}

const defineTask = defineResource('agentfleet.dev/v1alpha1', agentTask.kind, agentTask.plural);

/** The pool of the tests: platform/coding, open to all namespaces. */
export function newPool(spec: Fields = {}, name = 'coding'): ExpertPool {
  return checked(
    {
      apiVersion: defineTask.apiVersion,
      kind: expertPool.kind,
      metadata: { name, namespace: 'platform' },
      spec: {
        allowedNamespaces: { from: 'All' },
        experts: [{ name: 'gen', role: 'Generalist', engine: { type: 'Synth' } }],
        workers: { replicas: 1, concurrency: 2 },
        ...spec,
      },
    },
    validPool,
  ) as ExpertPool;
}
