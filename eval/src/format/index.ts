/** Packs of tasks: their format, loading, and conversion of a task to an AgentTask. Imports the protocol only. */
export { scriptSeconds, toAgentTask, type AgentTaskManifest, type Target } from './agentTask.ts';
export { buildTasks, type Place, changed, changesBetween, readChange, scriptOf, applyEdits } from './build.ts';
export {
  PackError,
  instanceSchema,
  manifestSchema,
  taskFileSchema,
  type Change,
  type ChangeFile,
  type Changes,
  type CheckFile,
  type Decoy,
  type DecoyFile,
  type Edit,
  type Facts,
  type Half,
  type Instance,
  type Kind,
  type Language,
  type Pack,
  type PackCheck,
  type PackManifest,
  type PackTask,
  type PackageEntry,
  type Range,
  type RepositoryEntry,
  type TaskEntry,
  type TaskFile,
  type Tree,
  halves,
  kinds,
  languages,
} from './types.ts';
export { patchChanges, loadPack } from './load.ts';
export { packageFiles, systemPackages, type PackageFetch, type PackageSource } from './packages.ts';
