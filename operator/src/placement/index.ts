// Where engines sit on GPUs: `memory/` what each needs, `inventory/` which GPUs there are and their names, `solver/` who goes
// where, `modes/` how pods get at them. Pure: controllers bring what they saw and write down what is decided.
// May import the readers of weight files, @agentfleet/protocol/weights, and nothing else of the project.
export * from './inventory/index.ts';
export { itemOf } from './item.ts';
export * from './memory/index.ts';
export * from './modes/index.ts';
export * from './solver/index.ts';
