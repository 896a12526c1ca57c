// Objects of all kinds with every field, and with as few as may be.
export * from './modelExamples.ts';
export * from './poolExamples.ts';
export * from './taskExamples.ts';
