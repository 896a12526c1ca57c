// Search for the GPU of each engine: exact, over named slots, with reasons. Pure; imports nothing.
export {
  ranks,
  type Assignment,
  type Item,
  type LatencyClass,
  type Link,
  type LinkType,
  type NvlinkRule,
  type Obstacle,
  type Placement,
  type Problem,
  type Rank,
  type Rejection,
  type Score,
  type Slot,
  type Solution,
  type Traffic,
} from './problem.ts';
export { headroom, weights } from './cost.ts';
export { defaultMaxSteps, solve, type SolveOptions } from './solve.ts';
