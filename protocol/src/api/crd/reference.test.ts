import { describe, expect, it } from 'vitest';
import { agentTask } from '../agenttask/index.ts';
import { kinds } from '../validators.ts';
import { fieldRows, kindReference, ruleMessages } from './reference.ts';
import type { Node } from './definition.ts';

const rows = new Map(fieldRows(agentTask.spec as Node, 'spec').map((row) => [row.path, row]));

describe('reference page', () => {
  it('shows type, bounds, default and mutability of a field', () => {
    expect(rows.get('spec.deadlineSeconds')).toMatchObject({
      type: 'integer',
      required: false,
      default: '3600',
      constraints: '10…604800',
      mutability: 'Upward',
    });
    expect(rows.get('spec.goal')).toMatchObject({
      type: 'string',
      required: true,
      default: '',
      constraints: '1…4096 characters',
      mutability: 'Immutable',
    });
    expect(rows.get('spec.priority')).toMatchObject({ constraints: '-1000…1000', mutability: 'Mutable' });
  });

  it('lets fields inside an immutable one be immutable', () => {
    expect(rows.get('spec.checks[].timeoutSeconds')?.mutability).toBe('Immutable');
    expect(rows.get('spec.sandbox.resources.limits')).toMatchObject({ type: 'map', mutability: 'Immutable' });
  });

  it('shows of every top-level field of a task whether it may change', () => {
    const marks = Object.values((agentTask.spec as unknown as { properties: Record<string, Node> }).properties);
    expect(marks.filter((field) => !('x-agentfleet-mutability' in field)).map((field) => field['description'])).toEqual([
      'Bounds of the whole task. A bound that is left out is the one of the pool.', // marked inside
    ]);
  });

  it.for(kinds.map((kind) => [kind.kind, kind] as const))('holds every field and every rule of %s', ([, kind]) => {
    const page = kindReference(kind).join('\n');
    for (const { path } of [...fieldRows(kind.spec as Node, 'spec'), ...fieldRows((kind.status ?? {}) as Node, 'status')])
      expect(page).toContain(`| \`${path}\` |`);
    for (const message of ruleMessages(kind.spec as Node)) expect(page).toContain(`- ${message}`);
  });
});
