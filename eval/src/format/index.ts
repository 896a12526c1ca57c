/** Packs of tasks: what they are, how they are read, and how a task becomes an AgentTask. Imports the protocol only. */
export { scriptSeconds, toAgentTask, type AgentTaskManifest, type Target } from './agentTask.ts';
export { buildTasks, type Place } from './build.ts';
export { changed, changesBetween, readChange, scriptOf } from './changes.ts';
export { applyEdits } from './edits.ts';
export { PackError } from './failure.ts';
export { patchChanges } from './instances.ts';
export { loadPack } from './load.ts';
export { packageFiles, systemPackages, type PackageFetch, type PackageSource } from './packages.ts';
export { instanceSchema, manifestSchema, taskFileSchema } from './schema.ts';
export * from './types.ts';
