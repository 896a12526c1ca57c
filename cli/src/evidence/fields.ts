import type { AuditRecord } from '@agentfleet/protocol/keeper';

/** Members of something that was read: any of them may be missing, or be something else. */
export type Fields = Readonly<Record<string, unknown>>;

/** The members of an object; none of anything else. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** What the worker noted of one kind, oldest first. */
export function notesOf(records: readonly AuditRecord[], kind: string): readonly Fields[] {
  return records.filter(({ type, body }) => type === 'Noted' && body['kind'] === kind).map(({ body }) => fieldsOf(body['data']));
}
