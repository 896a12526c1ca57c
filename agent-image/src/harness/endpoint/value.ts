/** A foreign JSON object, whose members are checked one by one. */
export type Members = Readonly<Record<string, unknown>>;

export function members(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};
}

export function list(value: unknown): readonly Members[] {
  return Array.isArray(value) ? value.map(members) : [];
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A count of tokens. */
export function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.ceil(value) : 0;
}
