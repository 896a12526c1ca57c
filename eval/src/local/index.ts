/**
 * A pool without a cluster: sandboxes and inference servers as processes of this machine, made from a checkout, with the engine of a
 * worker in this process. May import all of eval, the worker's parts, the keeper's client, kube and protocol.
 */
export { judgeHidden, prepare, briefOf, brokenNodesOf } from './attempt.ts';
export { answersAgain, goalOf, type AnswerServer } from './again.ts';
export { openFirstGate, type FirstGate, type FirstWord, calibrated, LocalGates, type Labelled, type ThresholdSource } from './judge.ts';
export { LocalPool, type LocalPoolOptions } from './pool.ts';
export { buildPrograms, type Programs } from './programs.ts';
export { ProcessSandbox, digestOfFolders, poolSources } from './sandbox.ts';
export { PartServers } from './servers.ts';
