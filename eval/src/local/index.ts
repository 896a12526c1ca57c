/**
 * A pool without a cluster: sandboxes and inference servers as processes of this machine, made from a checkout, with the engine of a
 * worker in this process. Imports the worker's parts, the keeper's client, `format`, `run` and `verify`.
 */
export { judgeHidden, prepare } from './attempt.ts';
export { answersAgain, goalOf, type AnswerServer } from './again.ts';
export { briefOf } from './brief.ts';
export { brokenNodesOf } from './broken.ts';
export { openFirstGate, type FirstGate, type FirstWord } from './firstGate.ts';
export { calibrated, LocalGates, type Labelled, type ThresholdSource } from './judge.ts';
export { LocalPool, type LocalPoolOptions } from './pool.ts';
export { buildPrograms, type Programs } from './programs.ts';
export { ProcessSandbox } from './sandbox.ts';
export { PartServers } from './servers.ts';
export { digestOfFolders, poolSources } from './sources.ts';
