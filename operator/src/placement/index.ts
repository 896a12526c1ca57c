// Places of engines on GPUs: `memory/` the memory that each needs, `inventory/` the GPUs that there are and their names, `solver/` which
// engine goes where, `modes/` the ways in which pods get at them. Pure: controllers bring what they saw and write down what is decided.
// May import protocol (its readers of weight files), and nothing else of the project.
export * from './inventory/index.ts';
export { itemOf } from './item.ts';
export * from './memory/index.ts';
export * from './modes/index.ts';
export * from './solver/index.ts';
