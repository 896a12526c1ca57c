/** Room: the story that an event log tells, for people and as JSON. Imports protocol and the readers of `evidence`. */
export type { ItemKind, StoryItem } from './notes.ts';
export { storyLines } from './notes.ts';
export { tellStory } from './tell.ts';
