/**
 * AgentTask: binds tasks to workers and sandboxes. `observe` reads caches into a snapshot; `decide` is pure, and so are its parts
 * `acceptance`, `placing`, `verdict`, `approvals` and `conditions`; `execute` writes; `controller` puts them together, `requeues` calls
 * it when time or other objects change a decision, `telemetry` counts what was written. Below them `storage` (volumes), `facts` (what
 * is read and what is decided, as types), `queue` (turns, caps, Kueue) and `sandbox`. May import runtime, pools and revisions; no other
 * controller.
 */
export { createAgentTaskController } from './controller.ts';
