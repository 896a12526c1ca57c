export { printable, printableLines } from '@agentfleet/protocol/text';
