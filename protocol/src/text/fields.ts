// protocol, text: safe access to members of parsed data of unknown form. Imports nothing of other folders.

/** Members of something that was read: any of them may be missing, or be something else. */
export type Fields = Readonly<Record<string, unknown>>;

/** The members of an object; none of anything else. */
export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

/** The elements of a list; none of anything else. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** A text; empty for anything else. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
