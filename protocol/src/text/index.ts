/** Text for people and terminals, parts of long text, JSON in its one spelling, and members of what was read. Imports nothing. */
export { canonicalJson } from './canonical.ts';
export { type Fields, fieldsOf, listOf, textOf } from './fields.ts';
export { printable, printableLines } from './printable.ts';
export { windowsOf } from './windows.ts';
