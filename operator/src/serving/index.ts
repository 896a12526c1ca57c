/** Pods that answer as an expert or a verifier: what a pool and an EnergyModel have in common. May import `runtime` and `placement`. */
export * from './access.ts';
export { boundedText } from './boundedText.ts';
export {
  calibrationOf,
  type AskInfo,
  type BearerFor,
  InfoReader,
  type ReaderOptions,
  type ServerInfo,
  askByHttp,
  infoOf,
  infoRetryMs,
  originOf,
} from './info.ts';
export { isPodless, NoteReader, notePollMs, podlessBecause } from './notes.ts';
export * from '../runtime/pod.ts';
export { firstTrouble, isPreparing, isReady, lastWords, podTrouble } from './podTrouble.ts';
export * from './rollout.ts';
export * from './seat.ts';
export * from './server.ts';
