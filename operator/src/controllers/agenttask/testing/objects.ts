import { agentTask, ajvOptions, expertPool, validators } from '@agentfleet/protocol/api';
import type { AgentTask, ExpertPool } from '@agentfleet/protocol/api';
import { defineResource, type KubeObject } from '@agentfleet/kube';
import { Ajv } from 'ajv';

const ajv = new Ajv(ajvOptions);
const { AgentTask: validTask, ExpertPool: validPool } = validators(ajv);

/** Faults of an object against the schema of its kind, `` when there are none. Fills defaults in. */
export function schemaFaults(task: AgentTask): string {
  return validTask(task) ? '' : ajv.errorsText(validTask.errors);
}

function checked<T>(object: unknown, valid: typeof validTask): T {
  if (!valid(object)) throw new Error(ajv.errorsText(valid.errors));
  return object as T;
}

type Partial2 = { readonly [key: string]: unknown };

/** A minimal task with the defaults of the API server. */
export function newTask(name: string, spec: Partial2 = {}, metadata: Partial2 = {}): AgentTask {
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
  );
}

const defineTask = defineResource<KubeObject>({
  group: 'agentfleet.dev',
  version: 'v1alpha1',
  plural: agentTask.plural,
  kind: agentTask.kind,
  namespaced: true,
});

/** The pool of the tests: platform/coding, open to all namespaces. */
export function newPool(spec: Partial2 = {}, name = 'coding'): ExpertPool {
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
  );
}
