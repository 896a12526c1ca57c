// Several servers in one container, each with its own GPUs, port and environment: for nodes where a GPU of the device
// plugin belongs to one container only. It starts them again when they end, and tells how they are.
export { readSupervisor } from './plan.ts';
export { supervise, superviseWord, type Supervision } from './supervise.ts';
