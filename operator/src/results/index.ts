/**
 * The results server: an aggregated API by which people read log, conversation and artifacts of tasks under their own rights; where an
 * API server has no aggregation layer it copies small artifacts into ConfigMaps instead. It holds no key of any storage: the workers of a
 * task's pool read for it. A process of its own; the operator does not import it.
 */

export { startCopying, startResults, type RunningResults } from './start.ts';
