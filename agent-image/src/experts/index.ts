/** The experts of a pool behind `/v1/generate`. Imports attempt's ports and protocol. */
export { chooseExpert } from './choose.ts';
export { ExpertsClient, type ExpertsOptions } from './client.ts';
