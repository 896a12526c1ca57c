/** Chat models: their wire (the OpenAI chat API), stored conversations, and tools. Imports nothing. */
export * from './conversation.ts';
export * from './definitions.ts';
export * from './recording.ts';
export * from './wire.ts';
