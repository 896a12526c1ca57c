/** Room: the story that an event log tells, for people and as JSON. Imports protocol and the readers of `evidence`. */
export type { ItemKind, StoryItem } from './item.ts';
export { storyLines } from './lines.ts';
export { tellStory } from './tell.ts';
