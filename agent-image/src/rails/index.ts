/**
 * Gate 1: what a proposed act may not do, judged by its text alone. Pure apart from loading the
 * grammars; may import `base`, `@agentfleet/protocol`, the tree-sitter packages and nothing else of the project.
 */
export { placeless } from './content.ts';
export { createRails, type Rails, decisionTable } from './rails.ts';
export { installedGrammars, loadGrammars, type GrammarFiles, type Grammars } from './syntax/node.ts';
export { kubectlWords, type KubectlWords } from './rail/clusterObjects.ts';
export { rails } from './rail/index.ts';
export { isHook, steersGit } from './rail/persistence.ts';
export { isTest } from './rail/testTampering.ts';
export * from './verdict/types.ts';
