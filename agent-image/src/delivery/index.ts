/**
 * Delivery of a good result into its repository: a commit on a branch that the task owns, and a pull request. `deliver`
 * observes, calls the pure `decide`, and acts; `journal` puts each intent into the event log before the act and its end
 * after it; `commit` writes the change; `forges` has one file for each API. May import `workspace`, `durable`,
 * `egress`, `base`, `protocol`, `kube` and the keeper's client.
 */
export { changedFiles } from './changes.ts';
export { deliver, type DeliveryOrder, type DeliveryPorts } from './deliver.ts';
export { DeliveryReader, importedNote } from './journal.ts';
