/** Text for people and terminals. Imports nothing. */
export { printable, printableLines } from './printable.ts';
