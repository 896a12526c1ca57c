/**
 * Search below a folder: patterns in linear time, bounded walks.
 * Part of `files`: may import `auth`, `egress`, `link`, `log`, `network`, `base`, `client`, `snapshot` and protocol.
 */
export { searchFiles } from './search.ts';
