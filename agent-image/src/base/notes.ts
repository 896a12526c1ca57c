import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { fieldsOf, textOf, type Fields } from '@agentfleet/protocol/text';

/** Kind and data of the note in a record of an event log, whatever its worker wrote; both empty for any other record. */
export function noteIn({ type, body: { kind, data } }: AuditRecord): { readonly kind: string; readonly data: Fields } {
  return type === 'Noted' ? { kind: textOf(kind), data: fieldsOf(data) } : { kind: '', data: {} };
}
