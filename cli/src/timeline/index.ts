/** The story in an event log, for people and as JSON. Imports protocol and the readers of `evidence`. */
export { timelineLines } from './notes.ts';
export { timelineOf } from './tell.ts';
export { conversationLines } from './conversation.ts';
