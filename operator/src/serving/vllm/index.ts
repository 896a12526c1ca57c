// Engines of vLLM: how they are started and what they are asked while they run.
export { servedNames, VllmArgumentError, vllmArguments, vllmEnvironment, vllmPort, type VllmDemand } from './command.ts';
export { VllmControl, VllmError, type Adapter, type SleepLevel, type VllmControlOptions } from './control.ts';
