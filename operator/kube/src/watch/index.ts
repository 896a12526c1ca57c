/** One watch from its request to its end. Imports api, runtime, transport. */
export { LineSplitter, type WatchEnd, type WatchEvent, type WatchOptions, watch } from './watch.ts';
