/** Client of the keeper's API, for the worker, the command line and tests. Imports protocol only. */
export { newExecId, KeeperClient } from './client.ts';
export { KeeperRefusal } from './errors.ts';
export { type ExecResult } from './transport.ts';
