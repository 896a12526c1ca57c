/** Commands: their plan, their run through the link, their journals. Knows the log and the link, nothing of HTTP. */
export { JournalArchive } from './archive.ts';
export type { EndFacts } from './command.ts';
export { Executor, type ExecutorOptions } from './executor.ts';
export { follow, type FollowSource } from './follow.ts';
export type { ExecDefaults } from './plan.ts';
export { OutputRoom } from './outputRoom.ts';
export { Quota } from './quota.ts';
export { endOrphan, UnfinishedExecs } from './recover.ts';
export { Sessions } from './sessions.ts';
export { waitForEnd } from './wait.ts';
export { SpillStore } from './spill.ts';
export { StoreReserve } from './reserve.ts';
export { StoreUsage } from './store-usage.ts';
