/** The story in an event log, for people and as JSON. May import `base`, `evidence` and protocol. */
export { timelineLines } from './notes.ts';
export { timelineOf, conversationLines } from './tell.ts';
