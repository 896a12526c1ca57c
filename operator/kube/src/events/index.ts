/** Events about objects. Imports api, client, runtime, transport. */
export {
  events,
  type KubeEvent,
  type NewEvent,
  type ObjectReference,
  referenceTo,
  EventRecorder,
  type RecorderOptions,
} from './recorder.ts';
