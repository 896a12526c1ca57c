import { fileURLToPath } from 'node:url';
import { maxInlineCharacters, ajvOptions, validators } from '@agentfleet/protocol/api';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { loadPack, toAgentTask } from '@agentfleet/eval/format';

const target = { namespace: 'eval', pool: { name: 'coding', namespace: 'agentfleet-pools' } };
const { tasks } = await loadPack(fileURLToPath(new URL('./repair', import.meta.url)));

describe('toAgentTask', () => {
  it('makes an object that fits the schema of every task', () => {
    const validate = validators(new Ajv({ ...ajvOptions })).AgentTask;
    for (const task of tasks) {
      const manifest = structuredClone(toAgentTask(task, { ...target, suffix: 's1' }));
      expect(validate(manifest), `${task.id}: ${JSON.stringify(validate.errors)}`).toBe(true);
      expect(manifest.metadata.name).toMatch(/^[a-z0-9-]{1,63}$/);
      expect(JSON.stringify(manifest.spec.workspace).length).toBeLessThan(maxInlineCharacters);
    }
  });

  it('keeps hidden checks back and protects the visible ones', () => {
    for (const task of tasks) {
      const written = JSON.stringify(toAgentTask(task, target));
      for (const [path, content] of Object.entries(task.hidden.files)) {
        expect(written).not.toContain(path);
        expect(written).not.toContain(JSON.stringify(content));
      }
      expect(toAgentTask(task, target).spec.protect.paths).toEqual(Object.keys(task.visible.files));
    }
  });

  it('gives every task a unique name', () => {
    expect(new Set(tasks.map((task) => toAgentTask(task, target).metadata.name)).size).toBe(tasks.length);
  });
});
