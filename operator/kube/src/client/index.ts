/** The verbs of the API on one resource. Imports api and transport. */
export {
  type ApplyOptions,
  type CallOptions,
  type DeleteOptions,
  type ListOptions,
  type ListPage,
  type PatchOptions,
  ResourceClient,
  type WriteOptions,
  TokenSource,
  type TokenSourceOptions,
} from './client.ts';
