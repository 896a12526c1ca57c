/**
 * Commands: their plan, their run through the link, their journals. No HTTP. May import `auth`, `link`, `log`,
 * `snapshot`, `base` and `protocol`; not `files`.
 */
export { JournalArchive } from './archive.ts';
export { type EndFacts, endOrphan, UnfinishedExecs } from './command.ts';
export { Executor } from './executor.ts';
export { follow, type FollowSource } from './journal.ts';
export { OutputRoom, StoreReserve, StoreUsage } from './outputRoom.ts';
export { Quota } from './quota.ts';
export { Sessions } from './sessions.ts';
export { waitForEnd } from './output.ts';
export { SpillStore } from './spill.ts';
