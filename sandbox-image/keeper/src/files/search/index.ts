/** Search below a folder: patterns in linear time, bounded walks. */
export { searchFiles, type SearchOptions } from './search.ts';
