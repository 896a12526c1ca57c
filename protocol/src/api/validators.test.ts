import { Ajv, type ValidateFunction } from 'ajv';
import { describe, expect, it } from 'vitest';
import type { AgentTask } from './agenttask/index.ts';
import { ajvOptions, validators } from './validators.ts';

const validate = validators<ValidateFunction>(new Ajv(ajvOptions));

const manifest = (spec: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  apiVersion: 'agentfleet.dev/v1alpha1',
  kind: 'AgentTask',
  metadata: { name: 'a' },
  spec: {
    goal: 'Make the failing tests pass.',
    workspace: { type: 'ConfigMap', configMap: { name: 'files' } },
    checks: [{ name: 'unit', command: ['true'] }],
    ...spec,
  },
});

describe('validators', () => {
  it('fill in defaults, so that the static type holds', () => {
    const task = manifest();
    expect(validate.AgentTask(task)).toBe(true);
    const { spec } = task as unknown as AgentTask;
    expect(spec.attempts.backoff.seconds).toBe(10);
    expect(spec.checks[0]?.expect).toBe('Auto');
    expect(spec.workspace.type === 'ConfigMap' && spec.workspace.configMap.name).toBe('files');
  });

  it.for([
    ['an unknown field', { tool: {} }],
    ['a number out of bounds', { priority: 1001 }],
    ['an unknown value', { cancel: 'Maybe' }],
    ['an empty list of checks', { checks: [] }],
    ['a name with capitals', { poolRef: { name: 'Coding' } }],
  ] as const)('refuse %s', ([, spec]) => {
    expect(validate.AgentTask(manifest(spec))).toBe(false);
  });

  it('refuse an object of another kind or version', () => {
    expect(validate.ExpertPool(manifest())).toBe(false);
    expect(validate.AgentTask({ ...manifest(), apiVersion: 'agentfleet.dev/v1' })).toBe(false);
  });
});
