/** Client of the keeper's API, for the worker, the command line and tests. Imports protocol only. */
export { KeeperClient, newExecId } from './client.ts';
export { type ExecResult, KeeperRefusal } from './transport.ts';
