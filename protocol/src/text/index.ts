/** Text for people and terminals, and JSON in its one spelling. Imports nothing. */
export { canonicalJson } from './canonical.ts';
export { printable, printableLines } from './printable.ts';
