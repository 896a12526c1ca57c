/** Events about objects. Imports api, client, runtime, transport. */
export { events, type KubeEvent, type NewEvent, type ObjectReference, referenceTo } from './event.ts';
export * from './recorder.ts';
